"""Formants of vowel-like frames: resonances of each frame's linear prediction, as in Praat's Burg formants."""

import numpy as np

from vbdesk.voice.band import emphasised_band
from vbdesk.voice.fourier import irfft, next_fast_len, rfft
from vbdesk.voice.recording import Samples
from vbdesk.voice.short_term import Floats, Track, cut_frames, frame_times, map_blocks

CEILING = 5250  # Hz, half-way between Praat's for men (5000) and for women (5500); see docs/decisions/0037
_ORDER = 10  # two poles for each of five formants
_WINDOW_S = 0.05  # Gaussian, effectively 25 ms
_EDGE_HZ = 50.0  # resonances closer to 0 or the ceiling are not formants
_PLAUSIBLE = ((200.0, 1100.0), (600.0, 3000.0), (1400.0, 4000.0))  # Hz, of F1, F2, F3
_BLOCK = 256


def measure_formants(samples: Samples, at: Floats, ceiling: int = CEILING) -> Track:
    """Measure formants of mono `samples`, shape (n,), at times `at` in seconds, interpolated from 10 ms frames.

    The ceiling, in Hz, is the same for every voice: one that depends on F0 would move the formants with the pitch.

    Returns:
        F1, F2, F3 and the bandwidth of F1 in Hz, shape (m, 4), at the times with three plausible formants.
    """
    times = frame_times(samples.size, _WINDOW_S)
    if times.size < 2 or at.size == 0:
        return Track(np.zeros(0), np.zeros((0, 4)))
    position = np.clip((at - times[0]) / (times[1] - times[0]), 0, times.size - 1)
    before = np.minimum(position.astype(np.int64), times.size - 2)
    share = (position - before)[:, None]
    needed = np.unique(np.concatenate([before, before + 1]))
    rows = _frame_formants(samples, times[needed], ceiling)
    left = rows[np.searchsorted(needed, before)]
    right = rows[np.searchsorted(needed, before + 1)]
    near, far = np.where(share < 0.5, left, right), np.where(share < 0.5, right, left)
    values = np.where(np.isnan(far), near, left * (1 - share) + right * share)
    low, high = np.transpose(_PLAUSIBLE)
    plausible = np.all((values[:, :3] > low) & (values[:, :3] < high), axis=1)
    return Track(at[plausible], values[plausible])


def _frame_formants(samples: Samples, times: Floats, ceiling: int) -> Floats:
    """F1, F2, F3 and the bandwidth of F1 of frames around `times`: shape (times, 4), NaN without a formant."""
    rate = 2 * ceiling
    half = int(_WINDOW_S * rate) // 2
    band = emphasised_band(samples, rate)
    begin = np.floor(times * rate - 0.5).astype(np.int64) + 1 - half
    window = _gaussian(2 * half)

    def analyse(part: slice) -> Floats:
        return _resonances(_predict(cut_frames(band, begin[part], 2 * half) * window), rate)

    return np.concatenate(map_blocks(analyse, times.size, _BLOCK))


def _gaussian(length: int) -> Samples:
    phase = (np.arange(length) - (length - 1) / 2) / (length + 1)
    window: Samples = ((np.exp(-48 * phase**2) - np.exp(-12)) / (1 - np.exp(-12))).astype(np.float32)
    return window


def _predict(frames: Samples) -> Floats:
    """Linear prediction polynomials, shape (frames, order + 1), first coefficient 1, by the autocorrelation method.

    Burg's method gives the same result for frames that fade to 0 at both ends, as these do, and is far slower.
    """
    size = next_fast_len(frames.shape[1] + _ORDER + 1)
    spectrum = rfft(frames.astype(np.float64), size, axis=1)
    correlation = irfft(spectrum.real**2 + spectrum.imag**2, size, axis=1)[:, : _ORDER + 1]
    polynomial = np.zeros((frames.shape[0], _ORDER + 1))
    polynomial[:, 0] = 1
    tiny = np.finfo(np.float32).tiny
    error = correlation[:, 0] + tiny
    for order in range(1, _ORDER + 1):  # Levinson-Durbin
        reflection = -np.sum(polynomial[:, :order] * correlation[:, order:0:-1], axis=1) / error
        reflection = np.clip(reflection, -1, 1)  # a pure tone exceeds 1 by rounding
        polynomial[:, 1 : order + 1] += reflection[:, None] * polynomial[:, order - 1 :: -1][:, :order]
        error = error * (1 - reflection**2) + tiny
    return polynomial


def _resonances(polynomial: Floats, rate: float) -> Floats:
    """Lowest three resonances and the bandwidth of the lowest in Hz: shape (rows, 4), NaN if there are fewer."""
    companion = np.zeros((polynomial.shape[0], _ORDER, _ORDER))
    companion[:, 0] = -polynomial[:, 1:]
    companion[:, np.arange(1, _ORDER), np.arange(_ORDER - 1)] = 1
    root = np.linalg.eigvals(companion).astype(np.complex128)
    frequency = np.angle(root) * rate / (2 * np.pi)
    radius = np.maximum(np.abs(root), 1e-9)
    bandwidth = np.abs(np.log(radius)) * rate / np.pi  # poles outside the circle are reflected into it
    frequency = np.where((frequency > _EDGE_HZ) & (frequency < rate / 2 - _EDGE_HZ), frequency, np.nan)
    order = np.argsort(frequency, axis=1)[:, :3]  # NaN last
    formants = np.take_along_axis(frequency, order, axis=1)
    first = np.take_along_axis(bandwidth, order[:, :1], axis=1)
    return np.concatenate([formants, np.where(np.isnan(formants[:, :1]), np.nan, first)], axis=1)
