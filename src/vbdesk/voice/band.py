"""The lower band of a recording at a lower rate, cut off as sharply as can be.

Linear prediction and the cepstrum see the edge of the band: a filter that falls off gently below it moves formants by
hundreds of hertz in single frames. So the spectrum is cut instead of filtered, in long blocks that overlap.
"""

import numpy as np
import scipy.fft

from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import PaddedSignal, map_blocks

PRE_EMPHASIS_FROM = 50.0  # Hz; above, the level rises by 6 dB an octave
_BLOCK, _MARGIN = 32_768, 4_096  # samples; both divisible by 16, so that rates in whole kHz fit
_BLOCKS_AT_ONCE = 8


def emphasised_band(samples: Samples, rate: int) -> Samples:
    """Resample mono `samples`, shape (n,), to `rate` Hz (whole kHz, below 16) and pre-emphasise from 50 Hz.

    Sample `i` of the result stands at (i + 0.5) / `rate`, as in every signal here.
    """
    count = -(-samples.size // _BLOCK)
    signal = PaddedSignal(samples, _BLOCK + _MARGIN)
    size = _BLOCK + 2 * _MARGIN
    new_size, margin = size * rate // ANALYSIS_RATE, _MARGIN * rate // ANALYSIS_RATE
    bins = new_size // 2 + 1
    delay = 0.5 / rate - 0.5 / ANALYSIS_RATE  # first samples of the two rates stand at different moments
    shift = np.exp(2j * np.pi * delay * ANALYSIS_RATE / size * np.arange(bins)).astype(np.complex64)
    shift *= np.float32(rate / ANALYSIS_RATE)

    def convert(part: slice) -> Samples:
        begin = np.arange(part.start, part.stop) * _BLOCK - _MARGIN
        spectrum = scipy.fft.rfft(signal.cut(begin, size), axis=1)[:, :bins] * shift
        blocks: Samples = scipy.fft.irfft(spectrum, new_size, axis=1)[:, margin : new_size - margin]
        return blocks.ravel()

    band = np.concatenate([np.zeros(0, np.float32), *map_blocks(convert, count, _BLOCKS_AT_ONCE)])
    band = band[: round(samples.size * rate / ANALYSIS_RATE)]
    emphasised = band.copy()
    emphasised[1:] -= np.float32(np.exp(-2 * np.pi * PRE_EMPHASIS_FROM / rate)) * band[:-1]
    return emphasised
