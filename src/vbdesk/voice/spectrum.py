"""Spectral balance and cepstral peak of vowel-like frames."""

import numpy as np

from vbdesk.voice.fourier import irfft, rfft
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import Floats, Track, cut_frames, map_blocks

COLUMNS = (
    "alpha_ratio",
    "hammarberg_index",
    "spectral_slope_low",
    "spectral_slope_mid",
    "h1_h2_difference",
    "cepstral_peak",
)

_LENGTH = 640  # 40 ms
_FFT_SIZE = 1024
_BLOCK = 256
_POWER_FLOOR = 1e-14
_CEPSTRAL_RATE = 10_000  # Hz, twice the upper end of the band
_LOWEST_F0, _HIGHEST_F0 = 60.0, 400.0  # Hz, of the cepstral peak
_SHORTEST_QUEFRENCY_S = 0.001
_FREQUENCY: Floats = np.arange(_FFT_SIZE // 2 + 1, dtype=np.float64) * ANALYSIS_RATE / _FFT_SIZE


def _band(low: float, high: float) -> slice:
    """Bins above `low` (or 0) up to `high` Hz."""
    first = 0 if low == 0 else int(np.searchsorted(_FREQUENCY, low, side="right"))
    return slice(first, int(np.searchsorted(_FREQUENCY, high, side="right")))


_VOICE_BAND, _BRIGHT_BAND = _band(49.9, 1000), _band(1000, 5000)
_LOW_BAND, _HIGH_BAND = _band(0, 2000), _band(2000, 5000)
_SLOPE_LOW, _SLOPE_MID = _band(0, 500), _band(500, 1500)
_CEPSTRAL_BAND = _band(0, 5000)


def spectral_balance(samples: Samples, times: Floats, frequency: Floats) -> Track:
    """Measure the spectrum of 40 ms Hann frames of mono `samples`, shape (n,), around each of `times` in seconds.

    `frequency` is F0 in Hz at each. The values have the columns `COLUMNS`:

    - `alpha_ratio`: energy at 1 to 5 kHz over that at 50 to 1000 Hz in dB.
    - `hammarberg_index`: highest level at 0 to 2 kHz minus that at 2 to 5 kHz in dB.
    - `spectral_slope_low`, `spectral_slope_mid`: slope of the level at 0 to 500 and 500 to 1500 Hz in dB/kHz.
    - `h1_h2_difference`: peak within 15 % of F0 minus the peak as near (in Hz) to 2 F0 in dB.
    - `cepstral_peak`: peak of the cepstrum of the band to 5 kHz at 60 to 400 Hz over a straight line in dB.
    """
    begin = np.rint(times * ANALYSIS_RATE).astype(np.int64) - _LENGTH // 2
    whole = (begin >= 0) & (begin + _LENGTH <= samples.size)
    times, begin, frequency = times[whole], begin[whole], frequency[whole]
    window = np.hanning(_LENGTH).astype(np.float32)

    def analyse(part: slice) -> Floats:
        spectrum = rfft(cut_frames(samples, begin[part], _LENGTH) * window, _FFT_SIZE, axis=1)
        power = spectrum.real**2 + spectrum.imag**2 + np.float32(_POWER_FLOOR)
        level = 10 * np.log10(power)
        columns = (
            10 * np.log10(power[:, _BRIGHT_BAND].sum(axis=1) / power[:, _VOICE_BAND].sum(axis=1)),
            level[:, _LOW_BAND].max(axis=1) - level[:, _HIGH_BAND].max(axis=1),
            1000 * _slope(_FREQUENCY[_SLOPE_LOW], level[:, _SLOPE_LOW]),
            1000 * _slope(_FREQUENCY[_SLOPE_MID], level[:, _SLOPE_MID]),
            _peak_near(level, frequency[part], 1) - _peak_near(level, frequency[part], 2),
            _cepstral_peak(level[:, _CEPSTRAL_BAND]),
        )
        return np.stack(columns, axis=1).astype(np.float64)

    blocks = [np.zeros((0, len(COLUMNS))), *map_blocks(analyse, times.size, _BLOCK)]
    return Track(times, np.concatenate(blocks))


def _slope(x: Floats, rows: Samples) -> Floats:
    """Slope of the least-squares line through each row; without BLAS, whose rounding depends on its threads."""
    centred = x - x.mean()
    slope: Floats = np.einsum("rx,x->r", rows, centred / np.sum(centred**2))
    return slope


def _peak_near(level: Samples, frequency: Floats, harmonic: int) -> Samples:
    """Highest level within 0.15 F0 of a harmonic."""
    widest = int(0.3 * frequency.max(initial=0) / _FREQUENCY[1]) + 2
    bins = (((harmonic - 0.15) * frequency / _FREQUENCY[1]).astype(np.int64) + 1)[:, None] + np.arange(widest)
    inside = _FREQUENCY[1] * bins < (harmonic + 0.15) * frequency[:, None]
    peak: Samples = np.where(inside, np.take_along_axis(level, bins, axis=1), -np.inf).max(axis=1)
    return peak


def _cepstral_peak(level: Samples) -> Floats:
    cepstrum = irfft(level - level.mean(axis=1, keepdims=True), _FFT_SIZE, axis=1)
    height = 20 * np.log10(np.abs(cepstrum[:, : _FFT_SIZE // 2]) + 1e-9)
    # padding gives a finer quefrency grid than the band alone
    quefrency = np.arange(height.shape[1]) * 2 * (level.shape[1] - 1) / _FFT_SIZE / _CEPSTRAL_RATE
    fitted = (quefrency >= _SHORTEST_QUEFRENCY_S) & (quefrency <= 1 / _LOWEST_F0)
    searched = fitted & (quefrency >= 1 / _HIGHEST_F0)
    slope = _slope(quefrency[fitted], height[:, fitted])
    middle = height[:, fitted].mean(axis=1) - slope * quefrency[fitted].mean()
    peak = np.where(searched, height, -np.inf).argmax(axis=1)
    prominence: Floats = height[np.arange(peak.size), peak] - (middle + slope * quefrency[peak])
    return prominence
