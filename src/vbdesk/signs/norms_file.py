"""Norms of a site's own, in place of those that ship."""

from pathlib import Path

from vbdesk.data_files import DataFileError, read_data
from vbdesk.signs.calibration import Calibration, Meta
from vbdesk.signs.norms import Norms


def read_norms(path: Path, shipped: Norms) -> Norms:
    """Read the norms in `path`, which must hold every feature of those that ship, under a version of their own.

    Raises:
        DataFileError: they do not; the message says where.
    """
    norms = read_data(path, Norms)
    missing = [name for name in shipped.features if name not in norms.features]
    if missing:
        raise DataFileError(f"{path.name}: feature: there is no {missing[0]}, which signs need.")
    if norms != shipped and norms.meta.version == shipped.meta.version:
        raise DataFileError(
            f"{path.name}: meta.version: {norms.meta.version} is that of the norms that ship, but the numbers are "
            "others. Give it a version of its own: every result names it."
        )
    return norms


def calibrated_for(norms: Norms, calibration: Calibration) -> Calibration:
    """The calibration on these norms: its version names them, and what they say of signs takes the place of its own."""
    signs = {
        name: sign.model_copy(update={"reference_mean": found.mean, "reference_sd": found.sd})
        for name, sign in calibration.signs.items()
        if (found := norms.sign_reference.get(name)) is not None
    }
    version = version_on(calibration.meta.version, norms.meta.version)
    return calibration.model_copy(update={"meta": Meta(version=version), "signs": {**calibration.signs, **signs}})


def version_on(version: str, norms_version: str) -> str:
    """The version of a sign as read on norms of a site's own, in the form of Semantic Versioning's build metadata."""
    own = norms_version.replace("+", ".")
    return f"{version}.norms.{own}" if "+" in version else f"{version}+norms.{own}"
