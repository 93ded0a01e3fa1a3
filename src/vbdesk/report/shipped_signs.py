"""Signs of the shipped calibration: score cut points of levels, evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

EVIDENCE_TEXTS = {
    "A": "Confirmed prospectively",
    "B": "Fair research support, not clinically validated",
    "C": "Limited research support",
    "D": "Weak research support: a prompt to ask, not a finding",
}


@dataclass(frozen=True, slots=True)
class ShippedSign:
    """One sign of the shipped calibration.

    Attributes:
        version: of the calibration; other versions have other cut points.
        score_cuts: lowest score of each level above none, up to the highest level of the sign.
        placeholder: no feature of the sign has a confirmed direction.
        known: what research says.
        confounders: everyday causes that can sound the same.
        needs_baseline: whether it means little without the person's own earlier recordings.
        features: the features that it weighs.
    """

    version: str
    evidence_grade: str
    placeholder: bool
    score_cuts: Mapping[Level, float]
    known: str
    confounders: tuple[str, ...]
    needs_baseline: bool
    features: frozenset[str]

    def evidence_text(self, grade: str | None = None) -> str:
        """Text of a reading's evidence grade, by default the calibration's."""
        if self.placeholder:
            return "No confirmed voice marker, shown for completeness"
        return EVIDENCE_TEXTS.get(grade or self.evidence_grade, EVIDENCE_TEXTS[self.evidence_grade])


@cache
def shipped_signs() -> Mapping[str, ShippedSign]:
    """Signs of the shipped calibration by name; the first call reads a file."""
    data = read_toml(resource("signs", "signs.toml"))
    version = data["meta"]["version"]
    no_cause = frozenset(read_toml(resource("narrative", "narrative.toml"))["cause"]["without_baseline"])
    return {name: _shipped_sign(version, entry, no_cause) for name, entry in data["sign"].items()}


@cache
def healthy_flagged_share() -> Mapping[str, float]:
    """Share of healthy native speakers flagged by a model, by model name."""
    data = read_toml(resource("signs", "signs.toml"))
    return {name: entry["healthy_native_sex_unknown"]["any_flagged"] for name, entry in data["model"].items()}


def _shipped_sign(version: str, entry: Mapping[str, Any], no_cause: frozenset[str]) -> ShippedSign:
    highest = LEVEL_ORDER.index(Level(entry["max_level"]))
    return ShippedSign(
        version=version,
        evidence_grade=entry["evidence_grade"],
        placeholder=entry["placeholder"],
        score_cuts={level: entry[f"score_cut_{level.value}"] for level in LEVEL_ORDER[1 : highest + 1]},
        known=entry["known"],
        confounders=tuple(cause for cause in entry["confounders"] if cause not in no_cause),
        needs_baseline=not no_cause.isdisjoint(entry["confounders"]),
        features=frozenset(row["feature"] for row in entry["evidence"]),
    )
