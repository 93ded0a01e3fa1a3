"""Intensity contour: the level over time, from which speech, pauses and syllables are measured."""

from dataclasses import dataclass

import numpy as np
from scipy.special import i0

from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import HOP_S, Floats, cut_frames, frame_times, map_blocks, nearest_sample

LOWEST_F0 = 100.0  # Hz; the window is 6.4 periods long, so that the contour does not follow single periods
SILENCE_DBFS = -100.0  # the limit of 16 bits; the level of digital silence is set to it
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class IntensityContour:
    """Level at times `HOP_S` apart.

    Attributes:
        times: shape (n,), seconds.
        level_dbfs: shape (n,), mean square in dB re full scale (0 = a constant of 1), at least `SILENCE_DBFS`.
    """

    times: Floats
    level_dbfs: Floats

    def at(self, times: Floats) -> Floats:
        """Level at other times, interpolated, constant beyond the ends."""
        return np.interp(times, self.times, self.level_dbfs)


def measure_intensity(samples: Samples) -> IntensityContour:
    """Measure the level of mono `samples`, shape (n,), every 10 ms in a 64 ms Kaiser window, its mean removed.

    Praat's definition of the intensity contour. Empty when the recording is shorter than the window.
    """
    window_s = 6.4 / LOWEST_F0
    times = frame_times(samples.size, window_s, HOP_S)
    half = int(window_s / 2 * ANALYSIS_RATE)
    window = _kaiser(half, window_s)
    starts = nearest_sample(times) - half

    def mean_square(part: slice) -> Samples:
        frames = cut_frames(samples, starts[part], 2 * half + 1)
        frames = frames - frames.mean(axis=1, keepdims=True)
        power: Samples = np.einsum("ns,s->n", np.square(frames), window)
        return power

    power = np.concatenate([np.zeros(0), *map_blocks(mean_square, times.size, _BLOCK)])
    floor = 10 ** (SILENCE_DBFS / 10)
    return IntensityContour(times, 10 * np.log10(np.maximum(power, floor)))


def _kaiser(half: int, window_s: float) -> Samples:
    position = np.arange(-half, half + 1) / (window_s / 2 * ANALYSIS_RATE)
    root = np.sqrt(np.maximum(1 - position**2, 0))
    window = np.where(root > 0, i0((2 * np.pi**2 + 0.5) * root), 0.0)
    weights: Samples = (window / window.sum()).astype(np.float32)
    return weights
