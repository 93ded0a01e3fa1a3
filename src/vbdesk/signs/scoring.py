"""From z values to the reading of one sign: score, level, and what moved it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.signs.calibration import SCORE_AT_MEAN, ScoringRules, SignCalibration
from vbdesk.signs.norms import Standardised, logistic

CUT_TOLERANCE = 1e-9  # an index computed to lie on a cut reaches it


class Scale(Protocol):
    """What an index needs to become a score and a level; every calibration is one."""

    @property
    def logit_intercept(self) -> float:
        """Of the score at index 0."""
        ...

    @property
    def logit_slope(self) -> float:
        """Of the score, per unit of the index."""
        ...

    @property
    def cuts(self) -> dict[Level, float]:
        """Index from which each level holds, in ascending order."""
        ...

    @property
    def max_level(self) -> Level:
        """Highest level that the evidence allows."""
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """What limits a reading.

    Attributes:
        speech_seconds: of the voice that is read.
        voice_percentage: of the recording; None where unknown, `audio_clarity` likewise.
        female_share: voice class, internal.
    """

    speech_seconds: float
    voice_percentage: float | None
    audio_clarity: float | None
    female_share: float | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One sign of one voice.

    Attributes:
        index: position in the healthy reference, in its SD; None where nothing was measurable.
        contributions: weight times z of every measured feature.
        interval: [low, high] of the score, 90 %; None where it cannot be told.
    """

    sign: SignName
    index: float | None
    score: float
    level: Level
    contributions: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, float] | None = None


def contributions(sign: SignCalibration, z: Standardised, female_share: float | None) -> dict[str, float]:
    """Weight times z of every measured feature of the sign."""
    return {
        row.feature: row.weight * row.class_share(female_share) * z[row.feature]
        for row in sign.evidence
        if row.feature in z
    }


def index_of(sign: SignCalibration, z: Standardised, female_share: float | None) -> float:
    """The index in reference SD: 0 is the healthy mean. A feature that was not measured adds nothing."""
    raw = sum(contributions(sign, z, female_share).values())
    return (raw - sign.reference_mean) / sign.reference_sd


def score_of(sign: Scale, index: float) -> float:
    """The score, 0 to 1: 0.2 at the healthy mean, 0.5 at the cut for `consider`."""
    return logistic(sign.logit_intercept + sign.logit_slope * index)


def level_of(sign: Scale, index: float) -> Level:
    """The highest level whose cut the index reaches, lowered to what the evidence allows."""
    reached = Level.NONE
    for level, cut in sign.cuts.items():
        if index >= cut - CUT_TOLERANCE:
            reached = level
    return min(reached, sign.max_level, key=LEVEL_ORDER.index)


def conclusive(rules: ScoringRules, sign: SignCalibration, z: Standardised, conditions: Conditions) -> bool:
    """Whether the recording carries enough for a level of this sign."""
    available = weight_available(sign, z, conditions.female_share)
    return applies(rules, sign, conditions.female_share) and carries_enough(
        rules, conditions, noise_sensitive=rules.noise_sensitive(sign.weights), available=available
    )


def carries_enough(rules: ScoringRules, conditions: Conditions, *, noise_sensitive: bool, available: float) -> bool:
    """Whether there is speech enough, clear enough, with `available` (0 to 1) of what the sign weighs measured."""
    return (
        conditions.speech_seconds >= rules.min_speech_seconds
        and not _below(conditions.voice_percentage, rules.min_voice_percentage)
        and not (_below(conditions.audio_clarity, rules.min_audio_clarity) and noise_sensitive)
        and available >= rules.min_weight_available
    )


def applies(rules: ScoringRules, sign: SignCalibration, female_share: float | None) -> bool:
    """Whether the sign may be scored for this class of voices."""
    return sign.applies_to == "all" or (female_share is not None and female_share >= rules.female_typical_from)


def weight_available(sign: SignCalibration, z: Standardised, female_share: float | None) -> float:
    """Share of the absolute weight that measured features hold."""
    counted = {row.feature: abs(row.weight) * row.class_share(female_share) for row in sign.evidence}
    return sum(weight for feature, weight in counted.items() if feature in z) / sum(counted.values())


def read_sign(
    name: SignName, sign: SignCalibration, rules: ScoringRules, z: Standardised, conditions: Conditions
) -> Reading:
    """Read one sign. Where it does not apply or nothing was measured, the score says nothing: the healthy mean."""
    measured = contributions(sign, z, conditions.female_share)
    if not measured or not applies(rules, sign, conditions.female_share):
        return Reading(name, None, SCORE_AT_MEAN, Level.INCONCLUSIVE)
    index = index_of(sign, z, conditions.female_share)
    level = level_of(sign, index) if conclusive(rules, sign, z, conditions) else Level.INCONCLUSIVE
    return Reading(name, index, score_of(sign, index), level, measured)


def _below(value: float | None, limit: float) -> bool:
    return value is not None and value < limit
