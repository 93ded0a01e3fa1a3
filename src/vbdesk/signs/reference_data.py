"""The data of an analysis: norms, calibration, metrics and narrative texts, loaded once and checked."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vbdesk.data_files import read_data
from vbdesk.resource_files import resource
from vbdesk.signs.bibliography import read_bibliography
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.narrative_texts import DEFAULT_LANGUAGE, Narrative, NarrativeRules, NarrativeTexts, find_language
from vbdesk.signs.norms import Norms
from vbdesk.signs.site_norms import calibrate_for_norms, read_site_norms, version_with_norms


@dataclass(frozen=True, slots=True)
class ReferenceData:
    """The data of an analysis, with the texts of one language.

    Attributes:
        site_norms: whether the norms are site norms; every version in a result then names them.
    """

    norms: Norms
    calibration: Calibration
    metrics: MetricSet
    narrative: Narrative
    site_norms: bool = False

    def version_of(self, version: str) -> str:
        """The version to report for a plug-in sign, which was calibrated without these norms."""
        return version_with_norms(version, self.norms.meta.version) if self.site_norms else version


def load_reference_data(language: str = DEFAULT_LANGUAGE, norms_file: Path | None = None) -> ReferenceData:
    """Read and check the data files of an analysis; each file is read once per process.

    Args:
        language: BCP 47 tag of the summary's language.
        norms_file: site norms, in place of the shipped norms.

    Raises:
        DataFileError: a file is not valid.
        FileNotFoundError: the installation is incomplete.
        UnknownLanguage: there are no texts for `language`.
    """
    return _load(find_language(language), norms_file)


@cache
def shipped_norms() -> Norms:
    """Read the shipped norms. Raises DataFileError."""
    return read_data(resource("norms", "norms.toml"), Norms)


@cache
def _load(language: str, norms_file: Path | None) -> ReferenceData:
    norms, calibration, metrics, rules = _load_data(norms_file)
    texts = read_data(resource("narrative", f"{language}.toml"), NarrativeTexts, {"norms": norms, "rules": rules})
    return ReferenceData(norms, calibration, metrics, Narrative(rules, texts), norms_file is not None)


@cache
def _load_data(norms_file: Path | None) -> tuple[Norms, Calibration, MetricSet, NarrativeRules]:
    norms = shipped = shipped_norms()
    if norms_file is not None:
        norms = read_site_norms(norms_file, shipped)
    known = {
        "features": frozenset(norms.features),
        "citations": frozenset(read_bibliography(resource("signs", "bibliography.bib"))),
    }
    calibration = read_data(resource("signs", "signs.toml"), Calibration, known)
    if norms_file is not None:
        calibration = calibrate_for_norms(norms, calibration)
    metrics = read_data(resource("metrics", "metrics.toml"), MetricSet, known)
    context = {"norms": norms, "calibration": calibration}
    return norms, calibration, metrics, read_data(resource("narrative", "narrative.toml"), NarrativeRules, context)
