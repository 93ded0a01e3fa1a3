"""Site norms, which replace the shipped norms."""

from pathlib import Path

from vbdesk.data_files import DataFileError, read_data
from vbdesk.language import message
from vbdesk.signs.calibration import Calibration, CalibrationMeta
from vbdesk.signs.norms import Norms


def read_site_norms(path: Path, shipped: Norms) -> Norms:
    """Read the site norms at `path`: every feature of the shipped norms, and a version of their own.

    Raises:
        DataFileError: a feature is missing, the version is that of the shipped norms, or the file is not valid.
    """
    norms = read_data(path, Norms)
    missing = [name for name in shipped.features if name not in norms.features]
    if missing:
        raise DataFileError(
            message("{file}: feature: there is no {missing}, which signs need.", file=path.name, missing=missing[0])
        )
    if norms != shipped and norms.meta.version == shipped.meta.version:
        raise DataFileError(
            message(
                "{file}: meta.version: {version} is the version of the shipped norms, but the numbers differ. Set"
                " another version: every result names it.",
                file=path.name,
                version=norms.meta.version,
            )
        )
    return norms


def calibrate_for_norms(norms: Norms, calibration: Calibration) -> Calibration:
    """Adapt the calibration to site norms: their sign references replace its own, and its version names them."""
    signs = {
        name: sign.model_copy(update={"reference_mean": found.mean, "reference_sd": found.sd})
        for name, sign in calibration.signs.items()
        if (found := norms.sign_reference.get(name)) is not None
    }
    version = version_with_norms(calibration.meta.version, norms.meta.version)
    return calibration.model_copy(
        update={"meta": CalibrationMeta(version=version), "signs": {**calibration.signs, **signs}}
    )


def version_with_norms(version: str, norms_version: str) -> str:
    """Append the version of the site norms to `version`, as build metadata of Semantic Versioning."""
    own = norms_version.replace("+", ".")
    return f"{version}.norms.{own}" if "+" in version else f"{version}+norms.{own}"
