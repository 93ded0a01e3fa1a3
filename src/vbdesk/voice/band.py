"""Frequency bands of a recording, cut from its spectrum in long overlapping blocks.

Linear prediction and the cepstrum are sensitive to the edge of their band. A filter with a gentle slope below the edge
moves formants by hundreds of hertz in single frames, so the spectrum is cut instead.
"""

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.fourier import irfft, rfft
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import Floats, cut_frames, map_blocks

PRE_EMPHASIS_FROM = 50.0  # Hz; above it the level rises by 6 dB per octave
BREATH_BAND = (1500.0, 4500.0)  # Hz, where breath noise exceeds the voice
_BREATH_EDGE = 100.0  # Hz on either side of the band's limits
_BLOCK, _MARGIN = 32_768, 4_096  # samples; divisible by 16, so that rates in whole kHz fit
_SIZE = _BLOCK + 2 * _MARGIN
_BLOCKS_AT_ONCE = 8


def emphasised_band(samples: Samples, rate: int) -> Samples:
    """Resample mono `samples`, shape (n,), to `rate` Hz (whole kHz, at most 16) and pre-emphasise from 50 Hz.

    Sample `i` of the result is at (i + 0.5) / `rate` seconds, as in every signal of this package.
    """
    bins = _SIZE * rate // ANALYSIS_RATE // 2 + 1
    delay = 0.5 / rate - 0.5 / ANALYSIS_RATE  # between the first samples at the two rates
    shift = np.exp(2j * np.pi * delay * ANALYSIS_RATE / _SIZE * np.arange(bins))
    return _reshape_spectrum(samples, rate, shift, pre_emphasis=float(np.exp(-2 * np.pi * PRE_EMPHASIS_FROM / rate)))


def breath_band(samples: Samples) -> Samples:
    """The part of mono `samples`, shape (n,), from 1.5 to 4.5 kHz, with raised-cosine edges 200 Hz wide."""
    frequency = np.arange(_SIZE // 2 + 1, dtype=np.float64) * ANALYSIS_RATE / _SIZE
    gain = _rise(frequency, BREATH_BAND[0]) * (1 - _rise(frequency, BREATH_BAND[1]))
    return _reshape_spectrum(samples, ANALYSIS_RATE, gain.astype(np.complex128))


def high_pass(samples: Samples, edge_hz: float) -> Samples:
    """High-pass mono `samples`, shape (n,), at `edge_hz`, with the gain of a second-order Butterworth filter."""
    frequency = np.arange(_SIZE // 2 + 1, dtype=np.float64) * ANALYSIS_RATE / _SIZE
    gain = frequency**2 / np.hypot(frequency**2, edge_hz**2)
    return _reshape_spectrum(samples, ANALYSIS_RATE, gain.astype(np.complex128))


def _rise(frequency: Floats, edge: float) -> Floats:
    share = np.clip((frequency - edge + _BREATH_EDGE) / (2 * _BREATH_EDGE), 0, 1)
    rise: Floats = 0.5 - 0.5 * np.cos(np.pi * share)
    return rise


def _reshape_spectrum(
    samples: Samples, rate: int, factors: NDArray[np.complex128], pre_emphasis: float = 0.0
) -> Samples:
    """Multiply the spectrum of each block by `factors`, and resample it to `rate` Hz.

    Then `pre_emphasis` times the previous sample is subtracted from each sample.
    """
    new_size, margin = _SIZE * rate // ANALYSIS_RATE, _MARGIN * rate // ANALYSIS_RATE
    weights = (factors * rate / ANALYSIS_RATE).astype(np.complex64)

    step = _BLOCK * rate // ANALYSIS_RATE
    count = -(-samples.size // _BLOCK)
    band = np.empty((count, step), dtype=np.float32)

    def convert(part: slice) -> None:
        begin = np.arange(part.start, part.stop) * _BLOCK - _MARGIN
        spectrum = rfft(cut_frames(samples, begin, _SIZE), axis=1)[:, : weights.size] * weights
        block = irfft(spectrum, new_size, axis=1)[:, margin - 1 : margin + step]
        band[part] = block[:, 1:]
        if pre_emphasis:
            band[part] -= np.float32(pre_emphasis) * block[:, :-1]

    map_blocks(convert, count, _BLOCKS_AT_ONCE)
    return band.ravel()[: round(samples.size * rate / ANALYSIS_RATE)]
