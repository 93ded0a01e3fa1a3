"""Resample sound to the analysis rate."""

import numpy as np
import soxr

from vbdesk.voice.recording import ANALYSIS_RATE, Samples

QUALITY = "HQ"  # flat to 0.91 of Nyquist, images below -100 dB


class StreamResampler:
    """Resample a mono signal block by block, with the same result as for the whole signal."""

    def __init__(self, sample_rate: int) -> None:
        """Start a stream of `sample_rate` Hz."""
        self._stream = soxr.ResampleStream(sample_rate, ANALYSIS_RATE, 1, dtype="float32", quality=QUALITY)
        self._pass_through = sample_rate == ANALYSIS_RATE

    def feed(self, mono: Samples) -> Samples:
        """Add `mono`, shape (n,), and return the samples that are ready."""
        if self._pass_through:
            return mono
        return np.asarray(self._stream.resample_chunk(mono), dtype=np.float32)

    def finish(self) -> Samples:
        """Return the samples that remain in the filter."""
        if self._pass_through:
            return np.empty(0, np.float32)
        return np.asarray(self._stream.resample_chunk(np.empty(0, np.float32), last=True), dtype=np.float32)


def resample(mono: Samples, sample_rate: int) -> Samples:
    """Resample the whole of `mono`, shape (n,), from `sample_rate` Hz to `ANALYSIS_RATE`."""
    if sample_rate == ANALYSIS_RATE:
        return mono.astype(np.float32, copy=False)
    return np.asarray(
        soxr.resample(mono.astype(np.float32, copy=False), sample_rate, ANALYSIS_RATE, QUALITY), np.float32
    )
