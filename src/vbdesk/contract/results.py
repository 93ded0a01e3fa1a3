"""What an analysis says."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.levels import Level, RecommendedAction

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Percent = Annotated[float, Field(ge=0.0, le=100.0)]


class ValueInterpretation(StrEnum):
    """Where a measured value lies in the reference."""

    LOW = "low"
    REDUCED = "reduced"
    WITHIN_RANGE = "within range"
    SLIGHTLY_ELEVATED = "slightly elevated"
    HIGH = "high"


class IssueCode(StrEnum):
    """What is wrong with the sound of a recording. Other servers may send further codes."""

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
    """One measured feature, named for people."""

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
    """One sign's reading. `score` is for researchers; people read `level`.

    Attributes:
        score_interval: [low, high] of the score, by resampling speech segments.
        evidence_grade: grade of the research behind the sign (B, C or D).
        sign_version: version of the calibration that scored it.
        model_id: the sign's name under the earlier form's field, else absent.
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
    """A reading against the subject's own history; all of these null on the first submission to a group."""

    latest_score: Share | None
    baseline_score: Share | None
    deviation_from_baseline: float | None
    anomaly: bool | None
    z_score: float | None
    population_z: float | None


AnySignal = Annotated[LongitudinalSignal | Signal, Field(union_mode="left_to_right")]


class AudioQuality(WireModel):
    """How good the recording was; `issues` empty means none."""

    issues: list[str]
    voice_percentage: Percent | None
    audio_clarity: Percent | None


class ExtendedMetric(WireModel):
    """A descriptive scale of how the voice sounds, between two verbal anchors."""

    metric_id: str
    label: str
    score_mean: Share
    score_std: Share
    low_anchor: str
    high_anchor: str


class SpeakerResult(WireModel):
    """One speaker of a diarized recording, with that speaker's own reading."""

    speaker: str
    speech_seconds: float
    segments: list[tuple[float, float]]
    summary: Summary | None = Field(default=None, exclude_if=is_none)
    signals: list[AnySignal] | None = Field(default=None, exclude_if=is_none)
    signal: AnySignal | None = Field(default=None, exclude_if=is_none)


class ModelResult(WireModel):
    """Result of a model job; `speakers` only when diarized."""

    summary: Summary
    signals: list[AnySignal]
    audio_quality: AudioQuality
    extended_metrics: list[ExtendedMetric]
    speakers: list[SpeakerResult] | None = Field(default=None, exclude_if=is_none)


class SignResult(WireModel):
    """Result of a sign job; `speakers` only when diarized."""

    signal: AnySignal
    audio_quality: AudioQuality
    speakers: list[SpeakerResult] | None = Field(default=None, exclude_if=is_none)


Result = ModelResult | SignResult


def signals_of(result: Result) -> list[Signal]:
    """Every signal that a result carries."""
    return list(result.signals) if isinstance(result, ModelResult) else [result.signal]
