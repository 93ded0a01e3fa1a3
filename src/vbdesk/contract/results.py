"""The result of an analysis."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.levels import Level, RecommendedAction

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Percent = Annotated[float, Field(ge=0.0, le=100.0)]


class ValueInterpretation(StrEnum):
    """Position of a measured value in the reference."""

    LOW = "low"
    REDUCED = "reduced"
    WITHIN_RANGE = "within range"
    SLIGHTLY_ELEVATED = "slightly elevated"
    HIGH = "high"


class IssueCode(StrEnum):
    """Quality issue of a recording. Other servers can send other codes."""

    HIGH_BACKGROUND_NOISE = "high_background_noise"
    INSUFFICIENT_SPEECH = "insufficient_speech"
    CLIPPING = "clipping"
    LOW_LEVEL = "low_level"
    NARROW_BANDWIDTH = "narrow_bandwidth"
    DROPOUTS = "dropouts"
    REVERBERATION = "reverberation"
    MULTIPLE_SPEAKERS = "multiple_speakers"
    NOISE_LIMITS_VOICE_QUALITY = "noise_limits_voice_quality"


class VocalFeature(WireModel):
    """One measured feature, with its display name."""

    feature: str
    label: str
    value: float
    unit: str
    value_interpretation: ValueInterpretation


class Description(WireModel):
    """Narrative for care staff, and the features behind it."""

    summary: str
    vocal_features: list[VocalFeature]


class Summary(WireModel):
    """The result across all signals."""

    overall_level: Level
    recommended_action: RecommendedAction
    flagged_count: int
    primary_signals: list[str]
    description: Description


class Signal(WireModel):
    """The reading of one sign. `score` is for researchers; care staff see `level`.

    Attributes:
        score_interval: [low, high] of the score, by resampling speech segments.
        evidence_grade: grade of the research behind the sign (B, C or D).
        sign_version: version of the calibration.
        model_id: the sign's name, in the earlier form only.
    """

    name: str
    label: str
    score: Share
    level: Level
    flagged: bool
    evidence_grade: str | None = Field(default=None, exclude_if=is_none)
    score_interval: tuple[Share, Share] | None = Field(default=None, exclude_if=is_none)
    sign_version: str | None = Field(default=None, exclude_if=is_none)
    model_id: str | None = Field(default=None, exclude_if=is_none)


class LongitudinalSignal(Signal):
    """A reading compared with the subject's history; these fields are null on the first submission to a group."""

    latest_score: Share | None
    baseline_score: Share | None
    deviation_from_baseline: float | None
    anomaly: bool | None
    z_score: float | None
    population_z: float | None


AnySignal = Annotated[LongitudinalSignal | Signal, Field(union_mode="left_to_right")]


class AudioQuality(WireModel):
    """Quality of the recording; `issues` is empty for a good one."""

    issues: list[str]
    voice_percentage: Percent | None
    audio_clarity: Percent | None


class ExtendedMetric(WireModel):
    """A descriptive scale of the voice, between two verbal anchors."""

    metric_id: str
    label: str
    score_mean: Share
    score_std: Share
    low_anchor: str
    high_anchor: str


class SpeakerResult(WireModel):
    """One speaker of a diarized recording, with that speaker's readings."""

    speaker: str
    speech_seconds: float
    segments: list[tuple[float, float]]
    summary: Summary | None = Field(default=None, exclude_if=is_none)
    signals: list[AnySignal] | None = Field(default=None, exclude_if=is_none)
    signal: AnySignal | None = Field(default=None, exclude_if=is_none)


class ModelResult(WireModel):
    """Result of a model job; only a diarized one has `speakers`."""

    summary: Summary
    signals: list[AnySignal]
    audio_quality: AudioQuality
    extended_metrics: list[ExtendedMetric]
    speakers: list[SpeakerResult] | None = Field(default=None, exclude_if=is_none)


class SignResult(WireModel):
    """Result of a sign job; only a diarized one has `speakers`."""

    signal: AnySignal
    audio_quality: AudioQuality
    speakers: list[SpeakerResult] | None = Field(default=None, exclude_if=is_none)


Result = ModelResult | SignResult


def signals_of(result: Result) -> list[Signal]:
    """All signals of a result."""
    return list(result.signals) if isinstance(result, ModelResult) else [result.signal]
