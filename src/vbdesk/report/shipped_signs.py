"""Signs of the shipped calibration: score cut points of levels, evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import read_toml
from vbdesk.language import N_, _
from vbdesk.resource_files import resource

EVIDENCE_TEXTS = {
    "A": N_("Confirmed prospectively"),
    "B": N_("Fair research support, not clinically validated"),
    "C": N_("Limited research support"),
    "D": N_("Weak research support: a prompt to ask, not a finding"),
}


def evidence_text(grade: str) -> str:
    """The evidence grade in the reader's language."""
    return _(EVIDENCE_TEXTS[grade])


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
        weights: weight of each feature that it weighs; a positive one raises the sign where the feature is high.
        slow: whether a change counts only after a later recording repeated it.
        twins: signs that are nearly the same as it in healthy readers, or nearly its opposite, with the correlation.
        held_low_by: the twin with more evidence, because of which its level never passes `low`; None if there is none.
    """

    version: str
    evidence_grade: str
    placeholder: bool
    score_cuts: Mapping[Level, float]
    known: str
    confounders: tuple[str, ...]
    needs_baseline: bool
    weights: Mapping[str, float]
    slow: bool
    twins: Mapping[str, float]
    held_low_by: str | None

    @property
    def features(self) -> frozenset[str]:
        """The features that it weighs."""
        return frozenset(self.weights)

    def evidence_text(self, grade: str | None = None) -> str:
        """A reading's evidence grade, by default the calibration's, in the reader's language."""
        if self.placeholder:
            return _("No confirmed voice marker, shown for completeness")
        return evidence_text(grade if grade in EVIDENCE_TEXTS else self.evidence_grade)


@cache
def shipped_signs() -> Mapping[str, ShippedSign]:
    """Signs of the shipped calibration by name; the first call reads a file."""
    data = read_toml(resource("signs", "signs.toml"))
    version = data["meta"]["version"]
    no_cause = frozenset(read_toml(resource("narrative", "narrative.toml"))["cause"]["without_baseline"])
    return {name: _shipped_sign(name, version, data, no_cause) for name in data["sign"]}


@cache
def healthy_flagged_share() -> Mapping[str, float]:
    """Share of healthy native speakers flagged by a model, by model name."""
    data = read_toml(resource("signs", "signs.toml"))
    return {name: entry["healthy_native_sex_unknown"]["any_flagged"] for name, entry in data["model"].items()}


def _shipped_sign(name: str, version: str, data: Mapping[str, Any], no_cause: frozenset[str]) -> ShippedSign:
    entry = data["sign"][name]
    highest = LEVEL_ORDER.index(Level(entry["max_level"]))
    twins = {
        pair["b"] if pair["a"] == name else pair["a"]: pair["r"]
        for pair in data["separability"]["pair"]
        if name in (pair["a"], pair["b"]) and abs(pair["r"]) > data["separability"]["twin_from"]
    }
    better = [twin for twin in twins if Level(data["sign"][twin]["max_level"]) is not Level.LOW]
    return ShippedSign(
        version=version,
        evidence_grade=entry["evidence_grade"],
        placeholder=entry["placeholder"],
        score_cuts={level: entry[f"score_cut_{level.value}"] for level in LEVEL_ORDER[1 : highest + 1]},
        known=entry["known"],
        confounders=tuple(cause for cause in entry["confounders"] if cause not in no_cause),
        needs_baseline=not no_cause.isdisjoint(entry["confounders"]),
        weights={row["feature"]: row["weight"] for row in entry["evidence"]},
        slow=entry["timescale"] == "slow",
        twins=twins,
        held_low_by=better[0] if better and Level(entry["max_level"]) is Level.LOW else None,
    )
