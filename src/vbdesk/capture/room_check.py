"""Check a room before a recording: whether it is quiet enough, and what to do if it is not."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vbdesk.capture.encrypted_take import Frames
from vbdesk.capture.enhancement import frame_levels
from vbdesk.capture.meter import SILENT_PEAK
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

MAINS_HZ = (50.0, 60.0)
LOUD_PERCENTILE = 95

Level = Annotated[float, Field(lt=0)]
Positive = Annotated[float, Field(gt=0)]


class RoomRating(StrEnum):
    """Rating of a room."""

    QUIET = "quiet"
    WATCH = "watch"
    NOISY = "noisy"
    SILENT = "silent"
    DISTURBED = "disturbed"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SilentTexts(_Data):
    """Texts about a microphone that gives only zeros, by operating system."""

    linux: str
    macos: str
    windows: str


class RoomTexts(_Data):
    """Texts of each rating."""

    quiet: str
    watch: str
    noisy: str
    hum: str
    disturbed: str
    silent: SilentTexts


class RoomRules(_Data):
    """The content of resources/capture/room.toml."""

    seconds: Positive
    noise_limit_dbfs: Level
    watch_dbfs: Level
    floor_percentile: Annotated[float, Field(gt=0, lt=100)]
    disturbed_db: Positive
    min_hum_share: Annotated[float, Field(gt=0, le=1)]
    hum_width_hz: Positive
    hum_harmonics: Annotated[int, Field(ge=1)]
    texts: RoomTexts


@dataclass(frozen=True, slots=True)
class RoomFinding:
    """Result of a room check.

    Attributes:
        floor_dbfs: level of the noise; None for digital silence.
        sentence: what it means and what to do.
    """

    rating: RoomRating
    floor_dbfs: float | None
    sentence: str


@cache
def room_rules() -> RoomRules:
    """The shipped rules."""
    return RoomRules.model_validate(read_toml(resource("capture", "room.toml")))


def silence_advice(platform: str = sys.platform) -> str:
    """What to do about a microphone that gives only zeros, by operating system: mute switch or permission."""
    texts = room_rules().texts.silent
    return {"win32": texts.windows, "darwin": texts.macos}.get(platform, texts.linux)


def rate_room(samples: Frames, sample_rate: int) -> RoomFinding:
    """Rate some seconds of a room without speech, shape (n,)."""
    rules, texts = room_rules(), room_rules().texts
    levels = frame_levels(samples, sample_rate)
    if len(levels) == 0 or np.abs(samples.astype(np.int32)).max() <= SILENT_PEAK:
        return RoomFinding(RoomRating.SILENT, None, silence_advice())
    floor = float(np.percentile(levels, rules.floor_percentile))
    if floor > rules.noise_limit_dbfs:
        return RoomFinding(RoomRating.NOISY, floor, texts.hum if _hums(samples, sample_rate, rules) else texts.noisy)
    if np.percentile(levels, LOUD_PERCENTILE) - floor > rules.disturbed_db:
        return RoomFinding(RoomRating.DISTURBED, floor, texts.disturbed)
    if floor > rules.watch_dbfs:
        return RoomFinding(RoomRating.WATCH, floor, texts.hum if _hums(samples, sample_rate, rules) else texts.watch)
    return RoomFinding(RoomRating.QUIET, floor, texts.quiet)


def _hums(samples: Frames, sample_rate: int, rules: RoomRules) -> bool:
    """Whether most of the power is in the first harmonics of 50 or 60 Hz."""
    sound = samples - np.mean(samples, dtype=np.float64)
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound)))) ** 2
    frequencies = np.fft.rfftfreq(len(sound), 1 / sample_rate)
    for mains_hz in MAINS_HZ:
        harmonics = mains_hz * np.arange(1, rules.hum_harmonics + 1)
        near = (np.abs(frequencies[:, None] - harmonics) <= rules.hum_width_hz).any(axis=1)
        if power[near].sum() >= rules.min_hum_share * power.sum():
            return True
    return False
