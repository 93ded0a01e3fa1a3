"""From z values to the reading of one sign: index, score, level and contributions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level
from vbdesk.signs.calibration import SCORE_AT_MEAN, ScoringRules, SignCalibration
from vbdesk.signs.norms import VoicePosition, ZScores
from vbdesk.signs.score_to_level import index_to_level, index_to_score


@dataclass(frozen=True, slots=True)
class RecordingConditions:
    """The properties of a recording that limit its readings.

    Attributes:
        speech_seconds: of the speaker.
        voice_percentage: of the recording, None if unknown; `audio_clarity` likewise.
        voice: where the voice lies among the reference voices, internal.
    """

    speech_seconds: float
    voice_percentage: float | None
    audio_clarity: float | None
    voice: VoicePosition


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one sign for one speaker.

    Attributes:
        index: position in the healthy reference, in SD; None if nothing was measurable.
        contributions: weight times z of every measured feature.
        interval: 90 % interval [low, high] of the score; None if unknown.
    """

    sign: SignName
    index: float | None
    score: float
    level: Level
    contributions: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, float] | None = None


def feature_contributions(sign: SignCalibration, z: ZScores, tract_share: float) -> dict[str, float]:
    """Weight times z of every measured feature of the sign."""
    return {
        row.feature: row.weight * row.class_share(tract_share) * z[row.feature]
        for row in sign.evidence
        if row.feature in z
    }


def sign_index(sign: SignCalibration, z: ZScores, tract_share: float) -> float:
    """Compute the index in reference SD; 0 is the healthy mean. A feature that was not measured adds nothing."""
    raw = sum(feature_contributions(sign, z, tract_share).values())
    return (raw - sign.reference_mean) / sign.reference_sd


def is_conclusive(rules: ScoringRules, sign: SignCalibration, z: ZScores, conditions: RecordingConditions) -> bool:
    """Whether the recording is sufficient for a level of this sign."""
    available = measured_weight_share(sign, z, conditions.voice.tract_share)
    return sign_applies(rules, sign, conditions.voice.female_share) and is_sufficient(
        rules, conditions, noise_sensitive=rules.noise_sensitive(sign.weights), available=available
    )


def is_sufficient(
    rules: ScoringRules, conditions: RecordingConditions, *, noise_sensitive: bool, available: float
) -> bool:
    """Whether speech, clarity and `available`, the share of weight on measured features (0 to 1), suffice."""
    return (
        conditions.speech_seconds >= rules.min_speech_seconds
        and not _below(conditions.voice_percentage, rules.min_voice_percentage)
        and not (_below(conditions.audio_clarity, rules.min_audio_clarity) and noise_sensitive)
        and available >= rules.min_weight_available
    )


def sign_applies(rules: ScoringRules, sign: SignCalibration, female_share: float | None) -> bool:
    """Whether the sign is defined for this voice class."""
    return sign.applies_to == "all" or (female_share is not None and female_share >= rules.female_typical_from)


def measured_weight_share(sign: SignCalibration, z: ZScores, tract_share: float) -> float:
    """Share of the absolute weight on measured features."""
    counted = {row.feature: abs(row.weight) * row.class_share(tract_share) for row in sign.evidence}
    return sum(weight for feature, weight in counted.items() if feature in z) / sum(counted.values())


def score_sign(
    name: SignName, sign: SignCalibration, rules: ScoringRules, z: ZScores, conditions: RecordingConditions
) -> Reading:
    """Score one sign; if nothing was measured, the score is that of the healthy mean.

    A sign that does not apply to the voice has a score but no level. So a score never jumps with the voice class.
    """
    measured = feature_contributions(sign, z, conditions.voice.tract_share)
    if not measured:
        return Reading(name, None, SCORE_AT_MEAN, Level.INCONCLUSIVE)
    index = sign_index(sign, z, conditions.voice.tract_share)
    level = index_to_level(sign, index) if is_conclusive(rules, sign, z, conditions) else Level.INCONCLUSIVE
    return Reading(name, index, index_to_score(sign, index), level, measured)


def _below(value: float | None, limit: float) -> bool:
    return value is not None and value < limit
