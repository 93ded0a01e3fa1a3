"""All that is known before a recording is heard: norms, calibration, metrics and words, loaded once and checked."""

from dataclasses import dataclass
from functools import cache

from vbdesk.resource_files import resource
from vbdesk.signs.calibration import Calibration, citation_keys
from vbdesk.signs.data_file import read_data
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.norms import Norms
from vbdesk.signs.wording import DEFAULT_LANGUAGE, NarrativeRules, Wording, Words, find_language


@dataclass(frozen=True, slots=True)
class Reference:
    """The data behind every analysis, with the words of one language."""

    norms: Norms
    calibration: Calibration
    metrics: MetricSet
    wording: Wording


def load_reference(language: str = DEFAULT_LANGUAGE) -> Reference:
    """Read and check the data files that ship with the product; each is read once.

    Args:
        language: of the summary, as a BCP 47 tag.

    Raises:
        DataFileError: one of them does not hold what it must.
        FileNotFoundError: the installation is incomplete.
        UnknownLanguage: there are no words for `language`.
    """
    return _load(find_language(language))


@cache
def _load(language: str) -> Reference:
    norms, calibration, metrics, rules = _load_data()
    words = read_data(resource("narrative", f"{language}.toml"), Words, {"norms": norms, "rules": rules})
    return Reference(norms, calibration, metrics, Wording(rules, words))


@cache
def _load_data() -> tuple[Norms, Calibration, MetricSet, NarrativeRules]:
    norms = read_data(resource("norms", "norms.toml"), Norms)
    known = {
        "features": frozenset(norms.features),
        "citations": citation_keys(resource("signs", "bibliography.bib")),
    }
    calibration = read_data(resource("signs", "signs.toml"), Calibration, known)
    metrics = read_data(resource("metrics", "metrics.toml"), MetricSet, known)
    context = {"norms": norms, "calibration": calibration}
    return norms, calibration, metrics, read_data(resource("narrative", "narrative.toml"), NarrativeRules, context)
