"""Signs that the operating system improves the sound before it comes here, which spoils measures of a voice.

Noise suppression shows in the pauses, where noise is let through for a moment and then cut off; automatic gain shows
there too, as noise that swells until the next word. Both are judged by the level of 10 ms frames alone, so that the
meter can do it while somebody speaks. What neither leaves a trace in the pauses goes unnoticed.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from vbdesk.capture.encrypted_take import Frames
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

FRAME_S = 0.01
LOUD_PERCENTILE = 95
LOWEST_DBFS = -120.0

Levels = NDArray[np.float64]
Positive = Annotated[float, Field(gt=0)]


class Enhancement(StrEnum):
    """What seems to be on."""

    NONE = "none"
    GATE = "gate"
    GAIN = "gain"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GateRules(_Data):
    """When pauses are cut off."""

    speech_range_db: Positive
    min_pause_s: Positive
    min_step_db: Positive
    step_s: Positive
    plateau_s: Positive
    max_plateau_sd_db: Positive
    max_spread_db: Positive
    min_pauses: Annotated[int, Field(ge=2)]
    min_share: Annotated[float, Field(gt=0, le=1)]
    dead_dbfs: Annotated[float, Field(lt=0)]
    min_dead_share: Annotated[float, Field(gt=0, le=1)]


class GainRules(_Data):
    """When noise swells in the pauses."""

    speech_range_db: Positive
    smoothing_s: Positive
    min_pause_s: Positive
    skip_start_s: Positive
    skip_end_s: Positive
    min_rise_db: Positive
    min_slope_db_per_s: Positive
    min_correlation: Annotated[float, Field(gt=0, lt=1)]
    min_pauses: Annotated[int, Field(ge=2)]
    min_share: Annotated[float, Field(gt=0, le=1)]


class EnhancementTexts(_Data):
    """What is said of each."""

    gate: str
    gain: str


class EnhancementRules(_Data):
    """The whole of resources/capture/enhancement.toml."""

    min_speech_dbfs: Annotated[float, Field(lt=0)]
    gate: GateRules
    gain: GainRules
    texts: EnhancementTexts


@cache
def enhancement_rules() -> EnhancementRules:
    """The rules that ship with the product."""
    return EnhancementRules.model_validate(read_toml(resource("capture", "enhancement.toml")))


@dataclass(frozen=True, slots=True)
class EnhancementHint:
    """What seems to be on, and what to do about it; no sentence for `none`."""

    enhancement: Enhancement
    sentence: str | None


def frame_levels(samples: Frames, sample_rate: int) -> Levels:
    """Level in dBFS of each whole 10 ms of `samples`, shape (n,), its mean left out; never under -120."""
    length = round(FRAME_S * sample_rate)
    count = len(samples) // length
    frames = samples[: count * length].reshape(count, length).astype(np.float32) / np.float32(32768.0)
    power = frames.var(axis=1, dtype=np.float64)
    return np.asarray(10 * np.log10(np.maximum(power, 10 ** (LOWEST_DBFS / 10))))


def judge_enhancement(levels_dbfs: Levels, rules: EnhancementRules | None = None) -> EnhancementHint:
    """Judge by frames of 10 ms with speech and pauses in them; `none` also where there are too few pauses to tell."""
    rules = rules or enhancement_rules()
    if len(levels_dbfs) == 0:
        return EnhancementHint(Enhancement.NONE, None)
    loud = float(np.percentile(levels_dbfs, LOUD_PERCENTILE))
    if loud < rules.min_speech_dbfs:
        return EnhancementHint(Enhancement.NONE, None)
    pauses = _pauses(levels_dbfs, levels_dbfs < loud - rules.gate.speech_range_db)
    if _is_dead(pauses, rules.gate) or _is_gated(pauses, rules.gate):
        return EnhancementHint(Enhancement.GATE, rules.texts.gate)
    if _swells(_pauses(levels_dbfs, levels_dbfs < loud - rules.gain.speech_range_db), rules.gain):
        return EnhancementHint(Enhancement.GAIN, rules.texts.gain)
    return EnhancementHint(Enhancement.NONE, None)


def _pauses(levels: Levels, soft: NDArray[np.bool_]) -> list[Levels]:
    """The levels of each stretch of soft frames that stands between loud ones."""
    edges = np.flatnonzero(np.diff(soft.astype(np.int8))) + 1
    pieces = np.split(levels, edges)
    return [piece for index, piece in enumerate(pieces) if 0 < index < len(pieces) - 1 and soft[edges[index - 1]]]


def _is_dead(pauses: list[Levels], rules: GateRules) -> bool:
    long_enough = [pause for pause in pauses if len(pause) * FRAME_S >= rules.min_pause_s]
    if len(long_enough) < rules.min_pauses:
        return False
    return bool(np.mean(np.concatenate(long_enough) <= rules.dead_dbfs) >= rules.min_dead_share)


def _is_gated(pauses: list[Levels], rules: GateRules) -> bool:
    long_enough = [pause for pause in pauses if len(pause) * FRAME_S >= rules.min_pause_s]
    plateaus = np.array(
        [plateau for pause in long_enough if (plateau := _plateau_before_step(pause, rules)) is not None]
    )
    if len(plateaus) < max(rules.min_pauses, rules.min_share * len(long_enough)):
        return False
    middle_half = np.percentile(plateaus, 75) - np.percentile(plateaus, 25)
    return bool(middle_half <= rules.max_spread_db)


def _plateau_before_step(pause: Levels, rules: GateRules) -> float | None:
    """Level of the noise before it is cut off; None where it is not."""
    plateau, step = round(rules.plateau_s / FRAME_S), round(rules.step_s / FRAME_S)
    for first in range(plateau, len(pause) - step - plateau + 1):
        before, after = pause[first - plateau : first], pause[first + step : first + step + plateau]
        if (
            before.std() <= rules.max_plateau_sd_db
            and before.mean() - after.max() >= rules.min_step_db
            and after.std() <= 2 * rules.max_plateau_sd_db
        ):
            return float(before.mean())
    return None


def _swells(pauses: list[Levels], rules: GainRules) -> bool:
    first, last = round(rules.skip_start_s / FRAME_S), round(rules.skip_end_s / FRAME_S)
    long_enough = [pause[first : len(pause) - last] for pause in pauses if len(pause) * FRAME_S >= rules.min_pause_s]
    rising = sum(_rises(pause, rules) for pause in long_enough)
    return rising >= max(rules.min_pauses, rules.min_share * len(long_enough))


def _rises(pause: Levels, rules: GainRules) -> bool:
    width = round(rules.smoothing_s / FRAME_S)
    if len(pause) < 2 * width:
        return False
    pause = np.convolve(pause, np.ones(width) / width, "valid")
    times_s = np.arange(len(pause)) * FRAME_S
    slope = float(np.polyfit(times_s, pause, 1)[0])
    spread = pause.std()
    correlation = slope * times_s.std() / spread if spread > 0 else 0.0
    return bool(
        slope >= rules.min_slope_db_per_s
        and slope * times_s[-1] >= rules.min_rise_db
        and correlation >= rules.min_correlation
    )
