"""The thresholds of resources/quality.toml, validated at load."""

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Silence(_Rules):
    below_dbfs: float = Field(lt=0)


class _Speakers(_Rules):
    one_voice_cosine: float = Field(ge=0, le=1)


class ClarityRules(_Rules):
    """How clarity is measured and scaled to 0 to 100."""

    high_pass_hz: float = Field(gt=0, lt=1000)
    window_s: float = Field(ge=1, le=30)
    max_windows: int = Field(ge=1)
    min_speech_s: float = Field(gt=0)
    denoiser_offset_db: float
    pause_weight: float = Field(ge=0, le=1)
    max_difference_db: float = Field(ge=0)
    pause_peak_db: float = Field(gt=0)
    points_per_db: float = Field(gt=0)
    zero_db: float


class _ClarityBelow(_Rules):
    clarity_below: float = Field(ge=0, le=100)


class _InsufficientSpeech(_Rules):
    voice_percentage_below: float = Field(ge=0, le=100)
    speech_seconds_below: float = Field(ge=0)


class _Clipping(_Rules):
    clipped_percent_above: float = Field(ge=0, le=100)


class _LowLevel(_Rules):
    speech_dbfs_below: float = Field(le=0)


class _NarrowBandwidth(_Rules):
    bandwidth_hz_below: float = Field(gt=0, le=8000)
    floor_db: float = Field(lt=0)


class _Dropouts(_Rules):
    count_above: int = Field(ge=0)


class ReverberationRules(_Rules):
    """Thresholds on the falls of the level, absolute and relative to the rises."""

    fall_db_per_s_below: float = Field(gt=0)
    fall_to_rise_below: float = Field(gt=0, le=1)


class _MultipleSpeakers(_Rules):
    likeness_below: float = Field(ge=0, le=1)


class IssueRules(_Rules):
    """The threshold of each issue."""

    high_background_noise: _ClarityBelow
    noise_limits_voice_quality: _ClarityBelow
    insufficient_speech: _InsufficientSpeech
    clipping: _Clipping
    low_level: _LowLevel
    narrow_bandwidth: _NarrowBandwidth
    dropouts: _Dropouts
    reverberation: ReverberationRules
    multiple_speakers: _MultipleSpeakers


class QualityRules(_Rules):
    """The whole file."""

    silence: _Silence
    speakers: _Speakers
    clarity: ClarityRules
    issues: IssueRules


def read_quality_rules(path: Path) -> QualityRules:
    """Read and validate `path`.

    Raises:
        pydantic.ValidationError: a number is missing, unknown or out of range.
    """
    return QualityRules.model_validate(read_toml(path))


@cache
def quality_rules() -> QualityRules:
    """The shipped rules, read once per process."""
    return read_quality_rules(resource("quality.toml"))
