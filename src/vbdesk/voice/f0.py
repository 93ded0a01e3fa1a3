"""Fundamental frequency (F0): peaks of a windowed autocorrelation, and the most likely path through them.

The method is Boersma (1993), "Accurate short-term analysis of the fundamental frequency", with its usual costs. A wide
first pass finds the speaker's range; a narrow second pass measures F0 in it.
"""

from dataclasses import dataclass

import numpy as np

from vbdesk.voice.f0_path import Candidates, most_likely_path
from vbdesk.voice.fourier import irfft, next_fast_len, rfft
from vbdesk.voice.peaks import SINC_REACH, refined_peaks
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import Floats, Indices, cut_frames, frame_times, map_blocks, sample_before

FIRST_FLOOR, FIRST_CEILING = 60.0, 600.0  # Hz
LOWEST_FLOOR = 55.0  # Hz
FLOOR_OF_LOWER_QUARTILE, CEILING_OF_UPPER_QUARTILE = 0.75, 2.0  # as the norms were measured
FEWEST_VOICED_FRAMES = 30

_PERIODS_A_WINDOW = 3.0
_WEAKEST_PEAK = 0.225  # half the voicing threshold; weaker peaks are never chosen
_MOST_CANDIDATES = 14
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class F0Track:
    """F0 at times 10 ms apart.

    Attributes:
        times: shape (n,), seconds.
        frequency: shape (n,), Hz; 0 where unvoiced.
        floor, ceiling: range of the second pass in Hz.
    """

    times: Floats
    frequency: Floats
    floor: float
    ceiling: float

    def at(self, times: Floats, first: Indices, last: Indices) -> Floats:
        """F0 in Hz at `times`, interpolated in the voiced stretch of frames `first` to `last`, both included.

        Constant beyond the ends of the stretch. Every frame of the stretch must be voiced.
        """
        position = np.clip((times - self.times[0]) / (self.times[1] - self.times[0]), first, last)
        before = np.minimum(position.astype(np.int64), last)
        after = np.minimum(before + 1, last)
        share = position - before
        frequency: Floats = self.frequency[before] * (1 - share) + self.frequency[after] * share
        return frequency


def track_f0(samples: Samples) -> F0Track | None:
    """Track F0 of mono `samples`, shape (n,), in two passes; None with fewer than 30 voiced frames.

    The first pass searches 60 to 600 Hz, the second 0.75 times the lower to 2 times the upper quartile of the first.
    """
    first = _single_pass(samples, FIRST_FLOOR, FIRST_CEILING)
    voiced = first.frequency[first.frequency > 0]
    if voiced.size < FEWEST_VOICED_FRAMES:
        return None
    lower, upper = np.percentile(voiced, [25, 75])
    floor = max(LOWEST_FLOOR, FLOOR_OF_LOWER_QUARTILE * float(lower))
    ceiling = min(FIRST_CEILING, CEILING_OF_UPPER_QUARTILE * float(upper))
    second = _single_pass(samples, floor, ceiling)
    return second if np.any(second.frequency > 0) else None


def _single_pass(samples: Samples, floor: float, ceiling: float) -> F0Track:
    times = frame_times(samples.size, _PERIODS_A_WINDOW / floor)
    if times.size == 0:
        return F0Track(times, np.zeros(0), floor, ceiling)
    candidates = _find_candidates(samples, times, floor, ceiling)
    return F0Track(times, most_likely_path(candidates, ceiling), floor, ceiling)


def _find_candidates(samples: Samples, times: Floats, floor: float, ceiling: float) -> Candidates:
    """Find the peaks of each frame's autocorrelation, divided by that of the window.

    Heights are interpolated as for a band-limited signal. Otherwise a pulse train with a period between two samples
    would be measured an octave too low.
    """
    period = int(ANALYSIS_RATE / floor)
    half = int(_PERIODS_A_WINDOW / floor * ANALYSIS_RATE) // 2 - 1
    longest_lag = int(2 * half / _PERIODS_A_WINDOW) + 2
    lags = longest_lag + SINC_REACH + 1
    fft_size = next_fast_len(2 * half + lags)
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1, 2 * half + 1) / (2 * half + 1))).astype(np.float32)
    window_correlation = _autocorrelation(window[None], fft_size, lags)[0]
    shortest = int(ANALYSIS_RATE / ceiling)

    mean = float(samples.mean(dtype=np.float64))
    global_peak = max(float(samples.max()) - mean, mean - float(samples.min())) or 1.0
    centre = sample_before(times) + 1
    reach = min(period // 2 + 1, half)
    near, core = slice(half - reach, half + reach), slice(max(half - period, 0), half + period)

    frequency = np.empty((times.size, _MOST_CANDIDATES), np.float32)
    strength, level = np.empty_like(frequency), np.empty(times.size, np.float32)

    def analyse(part: slice) -> None:
        frames = cut_frames(samples, centre[part] - half, 2 * half)
        frames = (frames - frames[:, core].mean(axis=1, keepdims=True)) * window
        level[part] = np.minimum(np.abs(frames[:, near]).max(axis=1) / global_peak, 1.0)
        correlation = _autocorrelation(frames, fft_size, lags) / window_correlation
        lag, strength[part] = refined_peaks(correlation, shortest, _WEAKEST_PEAK, _MOST_CANDIDATES, band_limited=True)
        with np.errstate(divide="ignore"):
            found = np.where(lag > 0, ANALYSIS_RATE / lag, 0.0)
        frequency[part] = np.where((found < floor) | (found >= ceiling), 0.0, found)

    map_blocks(analyse, times.size, _BLOCK)
    return Candidates(frequency, strength, level)


def _autocorrelation(frames: Samples, fft_size: int, lags: int) -> Samples:
    spectrum = rfft(frames, fft_size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    correlation: Samples = irfft(power, fft_size, axis=1)[:, :lags]
    correlation /= np.maximum(correlation[:, :1], np.finfo(np.float32).tiny)
    return correlation
