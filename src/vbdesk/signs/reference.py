"""All that is known before a recording is heard: norms, calibration, metrics and words, loaded once and checked."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vbdesk.data_files import read_data
from vbdesk.resource_files import resource
from vbdesk.signs.calibration import Calibration, citation_keys
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.norms import Norms
from vbdesk.signs.norms_file import calibrated_for, read_norms, version_on
from vbdesk.signs.wording import DEFAULT_LANGUAGE, NarrativeRules, Wording, Words, find_language


@dataclass(frozen=True, slots=True)
class Reference:
    """The data behind every analysis, with the words of one language.

    Attributes:
        own_norms: whether the norms are a site's own; every version in a result then names them.
    """

    norms: Norms
    calibration: Calibration
    metrics: MetricSet
    wording: Wording
    own_norms: bool = False

    def version_of(self, version: str) -> str:
        """What a result says of a sign that was calibrated apart from these norms, as those of a lab's own are."""
        return version_on(version, self.norms.meta.version) if self.own_norms else version


def load_reference(language: str = DEFAULT_LANGUAGE, norms_file: Path | None = None) -> Reference:
    """Read and check the data files that ship with the product; each is read once.

    Args:
        language: of the summary, as a BCP 47 tag.
        norms_file: norms of a site's own, in place of those that ship.

    Raises:
        DataFileError: one of them does not hold what it must.
        FileNotFoundError: the installation is incomplete.
        UnknownLanguage: there are no words for `language`.
    """
    return _load(find_language(language), norms_file)


@cache
def shipped_norms() -> Norms:
    """The norms that ship. Raises DataFileError."""
    return read_data(resource("norms", "norms.toml"), Norms)


@cache
def _load(language: str, norms_file: Path | None) -> Reference:
    norms, calibration, metrics, rules = _load_data(norms_file)
    words = read_data(resource("narrative", f"{language}.toml"), Words, {"norms": norms, "rules": rules})
    return Reference(norms, calibration, metrics, Wording(rules, words), norms_file is not None)


@cache
def _load_data(norms_file: Path | None) -> tuple[Norms, Calibration, MetricSet, NarrativeRules]:
    norms = shipped = shipped_norms()
    if norms_file is not None:
        norms = read_norms(norms_file, shipped)
    known = {
        "features": frozenset(norms.features),
        "citations": citation_keys(resource("signs", "bibliography.bib")),
    }
    calibration = read_data(resource("signs", "signs.toml"), Calibration, known)
    if norms_file is not None:
        calibration = calibrated_for(norms, calibration)
    metrics = read_data(resource("metrics", "metrics.toml"), MetricSet, known)
    context = {"norms": norms, "calibration": calibration}
    return norms, calibration, metrics, read_data(resource("narrative", "narrative.toml"), NarrativeRules, context)
