"""Speech, pauses and syllables, measured from the intensity contour.

The norms were measured with this definition of speech: louder than a threshold below the loud frames. All features
therefore use it, and not the trained speech detector. The numbers are in resources/rhythm.toml.
"""

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.voice.short_term import HOP_S, Floats, Indices, Mask, runs

SHORTEST_PAUSE_S = 0.25
SHORTEST_SPEECH_S = 0.10


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpeechRules(_Rules):
    """Limits of the level of speech; see resources/rhythm.toml."""

    below_loud_db: float = Field(gt=0)
    share_of_range: float = Field(gt=0, le=1)
    soft_below_loud_db: float = Field(gt=0)
    soft_above_background_db: float = Field(gt=0)
    ripple_db: float = Field(ge=0)
    background_percentile: float = Field(ge=0, le=50)


class SyllableRules(_Rules):
    """The syllable detector: its dip, and the share of syllables that it detects."""

    dip_db: float = Field(gt=0)
    detected_share: float = Field(gt=0, le=1)
    detected_share_sd: float = Field(ge=0)


class RhythmRules(_Rules):
    """The whole file."""

    speech: SpeechRules
    syllables: SyllableRules

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped rules.

        Raises:
            pydantic.ValidationError: a number is missing, unknown or out of range.
        """
        return cls.model_validate(read_toml(resource("rhythm.toml")))


@dataclass(frozen=True, slots=True)
class SpeechThresholds:
    """Levels in dB: speech begins above `onset`, and reaches outwards from there down to `soft`."""

    onset: float
    soft: float


def speech_thresholds(level: Floats, voiced: Mask) -> SpeechThresholds:
    """Find the thresholds of a recording with this `level` in dB, shape (n,), and `voiced` frames, shape (n,).

    The background is the level of the quietest unvoiced frames. A recording without unvoiced frames, such as a steady
    vowel that was cut out, has none.
    """
    rules = RhythmRules.load().speech
    loud = float(np.percentile(level, 95))
    unvoiced = np.sort(level[~voiced])
    rank = int(level.size * rules.background_percentile / 100)
    background = float(unvoiced[rank]) if rank < unvoiced.size else -np.inf
    onset = loud - min(rules.below_loud_db, rules.share_of_range * (loud - background))
    soft = max(loud - rules.soft_below_loud_db, background + rules.soft_above_background_db)
    return SpeechThresholds(onset, min(soft, onset))


def sounding_frames(level: Floats, thresholds: SpeechThresholds) -> Mask:
    """Frames of speech: above the onset or fading from there, gaps under 0.25 s filled, runs under 0.1 s removed."""
    sounding = _bridge_gaps(_with_soft_ends(level, thresholds))
    for first, end in runs(sounding):
        if (end - first) * HOP_S < SHORTEST_SPEECH_S:
            sounding[first:end] = False
    return _bridge_gaps(sounding)


def _with_soft_ends(level: Floats, thresholds: SpeechThresholds) -> Mask:
    """Frames above the onset, and the frames around them in which the level falls steadily to the soft threshold."""
    ripple = RhythmRules.load().speech.ripple_db
    sounding: Mask = level > thresholds.onset
    if not sounding.any():
        return sounding
    for first, end in runs(~sounding):
        if first > 0:
            sounding[first : first + _fade(level[first - 1 : end], thresholds.soft, ripple)] = True
        if end < level.size:
            swelling = level[first : end + 1][::-1]
            sounding[end - _fade(swelling, thresholds.soft, ripple) : end] = True
    return sounding


def _fade(level: Floats, lowest: float, ripple_db: float) -> int:
    """Number of frames after the first in which `level` stays above `lowest` and within the ripple of its minimum."""
    minimum = np.minimum.accumulate(level)
    ended = (level <= lowest) | (level > minimum + ripple_db)
    return int(ended.argmax()) - 1 if ended.any() else level.size - 1


def _bridge_gaps(sounding: Mask) -> Mask:
    bridged = sounding.copy()
    for first, end in runs(~sounding):
        if (end - first) * HOP_S < SHORTEST_PAUSE_S and first > 0 and end < sounding.size:
            bridged[first:end] = True
    return bridged


def syllable_nuclei(level: Floats, onset: float, sounding: Mask, voiced: Mask) -> Indices:
    """Frames of syllable nuclei: peaks of the smoothed level between dips of at least 2 dB, voiced within two frames.

    After de Jong & Wempe (2009), "Praat script to detect syllable nuclei and measure speech rate automatically". Of
    peaks without such a dip between them, the loudest is kept. There are fewer nuclei than syllables: see
    `syllables_of`.
    """
    dip_db = RhythmRules.load().syllables.dip_db
    smooth = np.convolve(level, np.ones(3) / 3, mode="same")
    inner = smooth[1:-1]
    is_peak = (inner > smooth[:-2]) & (inner >= smooth[2:]) & (inner > onset) & sounding[1:-1]
    peaks: list[int] = []
    for frame in (np.flatnonzero(is_peak) + 1).tolist():
        if not peaks:
            peaks.append(frame)
            continue
        dip = smooth[peaks[-1] : frame + 1].min() + dip_db
        if smooth[frame] >= dip and smooth[peaks[-1]] >= dip:
            peaks.append(frame)
        elif smooth[frame] > smooth[peaks[-1]]:
            peaks[-1] = frame
    near_voice = np.convolve(voiced, np.ones(5), mode="same") > 0
    found = np.array(peaks, dtype=np.int64)
    return found[near_voice[found]]


def syllables_of(nuclei: int) -> float:
    """Expected number of syllables behind a number of detected nuclei."""
    return nuclei / RhythmRules.load().syllables.detected_share
