"""What a report says about a sign beyond its reading: cuts, evidence, how often healthy speakers are flagged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

EVIDENCE_WORDS = {
    "A": "Confirmed prospectively",
    "B": "Fair research support, not clinically validated",
    "C": "Limited research support",
    "D": "Weak research support: a prompt to ask, not a finding",
}


@dataclass(frozen=True, slots=True)
class SignReference:
    """One sign of the calibration shipped with the product.

    Attributes:
        version: of the calibration; readings of another version have other cuts.
        score_cuts: lowest score of each level above none, up to the highest level that the sign may reach.
        placeholder: no feature of the sign has a confirmed direction.
        known: what research says, in words.
        confounders: everyday causes that can sound the same.
    """

    version: str
    evidence_grade: str
    placeholder: bool
    score_cuts: Mapping[Level, float]
    known: str
    confounders: tuple[str, ...]

    def evidence_words_for(self, grade: str | None = None) -> str:
        """The evidence grade for people: that of a reading, where it says one, else this calibration's."""
        if self.placeholder:
            return "No confirmed voice marker, shown for completeness"
        return EVIDENCE_WORDS.get(grade or self.evidence_grade, EVIDENCE_WORDS[self.evidence_grade])


@cache
def sign_references() -> Mapping[str, SignReference]:
    """Every sign of the shipped calibration by name. Reads a file once; call it first on a worker."""
    data = read_toml(resource("signs", "signs.toml"))
    version = data["meta"]["version"]
    return {name: _reference(version, entry) for name, entry in data["sign"].items()}


@cache
def healthy_flagged_share() -> Mapping[str, float]:
    """Share of healthy native speakers whose recording this model flags, by model name."""
    data = read_toml(resource("signs", "signs.toml"))
    return {name: entry["healthy_native_sex_unknown"]["any_flagged"] for name, entry in data["model"].items()}


def _reference(version: str, entry: Mapping[str, Any]) -> SignReference:
    highest = LEVEL_ORDER.index(Level(entry["max_level"]))
    return SignReference(
        version=version,
        evidence_grade=entry["evidence_grade"],
        placeholder=entry["placeholder"],
        score_cuts={level: entry[f"score_cut_{level.value}"] for level in LEVEL_ORDER[1 : highest + 1]},
        known=entry["known"],
        confounders=tuple(entry["confounders"]),
    )
