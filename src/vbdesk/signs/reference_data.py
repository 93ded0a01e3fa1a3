"""The data of an analysis: norms, calibration, metrics and narrative texts, loaded once and checked."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vbdesk.contract.narrative_texts import DEFAULT_LANGUAGE, Narrative, NarrativeRules, find_language, read_texts
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.data_files import DataFileError, read_data
from vbdesk.language import message
from vbdesk.resource_files import resource
from vbdesk.signs.bibliography import read_bibliography
from vbdesk.signs.calibration import Calibration, CalibrationMeta
from vbdesk.signs.language_widening import LanguageWidening, widened_version
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.norms import Norms
from vbdesk.voice.measurement import MISSING_CODES


@dataclass(frozen=True, slots=True)
class ReferenceData:
    """The data of an analysis, with the texts of one language.

    Attributes:
        site_norms: whether the norms are site norms; every version in a result then names them.
        widening: the widening of `norms` for this speaker; None if the recording is compared as native reading.
    """

    norms: Norms
    calibration: Calibration
    metrics: MetricSet
    narrative: Narrative
    site_norms: bool = False
    widening: LanguageWidening | None = None

    def version_of(self, version: str) -> str:
        """The version to report for a plug-in sign, which was calibrated without these norms."""
        version = widened_version(version) if self.widening is not None else version
        return version_with_norms(version, self.norms.meta.version) if self.site_norms else version


def load_reference_data(
    language: str = DEFAULT_LANGUAGE, norms_file: Path | None = None, spoken: SpokenLanguage = UNKNOWN_LANGUAGE
) -> ReferenceData:
    """Read and check the data files of an analysis; each file is read once per process.

    Args:
        language: BCP 47 tag of the summary's language.
        norms_file: site norms, in place of the shipped norms.
        spoken: what is known about the language of the recording; rate and pauses are compared more cautiously if it
            differs from that of the norms, or is a second language.

    Raises:
        DataFileError: a file is not valid.
        FileNotFoundError: the installation is incomplete.
        UnknownLanguage: there are no texts for `language`.
    """
    widened = spoken.differs_from(_norms(norms_file).meta.language)
    return _load(find_language(language), norms_file, widened=widened)


@cache
def shipped_norms() -> Norms:
    """Read the shipped norms. Raises DataFileError."""
    return read_data(resource("norms", "norms.toml"), Norms)


@cache
def _norms(norms_file: Path | None) -> Norms:
    shipped = shipped_norms()
    return shipped if norms_file is None else read_site_norms(norms_file, shipped)


@cache
def read_widening() -> LanguageWidening:
    """Read how much other languages widen the comparison. Raises DataFileError."""
    known = {"features": frozenset(shipped_norms().features)}
    return read_data(resource("norms", "second_language.toml"), LanguageWidening, known)


@cache
def _load(language: str, norms_file: Path | None, *, widened: bool) -> ReferenceData:
    norms, calibration, metrics, rules = _load_data(norms_file, widened=widened)
    texts = read_texts(language, {"features": norms.features, "rules": rules, "missing": MISSING_CODES})
    widening = read_widening() if widened else None
    return ReferenceData(norms, calibration, metrics, Narrative(rules, texts), norms_file is not None, widening)


@cache
def _load_data(norms_file: Path | None, *, widened: bool) -> tuple[Norms, Calibration, MetricSet, NarrativeRules]:
    norms = _norms(norms_file)
    known = {
        "features": frozenset(norms.features),
        "citations": frozenset(read_bibliography(resource("signs", "bibliography.bib"))),
    }
    calibration = read_data(resource("signs", "signs.toml"), Calibration, known)
    if widened:
        norms = read_widening().widen(norms)
        own = CalibrationMeta(version=widened_version(calibration.meta.version))
        calibration = calibration.model_copy(update={"meta": own})
    if norms_file is not None:
        calibration = calibrate_for_norms(norms, calibration)
    metrics = read_data(resource("metrics", "metrics.toml"), MetricSet, known)
    confounders = {name: sign.confounders for name, sign in calibration.signs.items()}
    context = {"features": norms.features, "confounders": confounders}
    return norms, calibration, metrics, read_data(resource("narrative", "narrative.toml"), NarrativeRules, context)


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
