"""Level of a recording: loudness, headroom and clipping."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.recording import ANALYSIS_RATE, Samples

FULL_SCALE_GUARD = 0.98  # converters rarely reach exactly 1.0, and resampling adds ripple to a flat top
FLAT_TOP = 0.995  # of the peak
OVER_FULL_SCALE = 2.0  # a higher peak means a float file with another full scale
MIN_CLIPPED_RUN = 3  # samples; fewer at full scale are ordinary peaks
FRAME = ANALYSIS_RATE // 50  # 20 ms
ACTIVE_RANGE_DB = 25.0  # below the loud frames; softer frames are pauses


@dataclass(frozen=True, slots=True)
class AudioLevel:
    """Levels in dBFS (0 = full scale); shares in percent of samples."""

    rms_dbfs: float
    peak_dbfs: float
    clipped_percent: float


def measure_level(samples: Samples) -> AudioLevel:
    """Measure the level of mono `samples`, shape (n,), values in -1..1.

    Clipping counts runs of at least three samples at full scale, or at the peak if that is lower. A recording that was
    attenuated after clipping still has flat tops, while speech reaches its peak once. In a float file far over full
    scale only its own peak counts. Silence gives -inf, never an exception.

    Raises:
        ValueError: `samples` is empty or not one-dimensional.
    """
    if samples.ndim != 1 or samples.size == 0:
        raise ValueError("Level needs a one-dimensional, non-empty signal.")
    rms = math.sqrt(float(np.einsum("i,i->", samples, samples, dtype=np.float64)) / samples.size)
    peak = float(max(samples.max(), -samples.min()))
    top = FLAT_TOP * peak if peak > OVER_FULL_SCALE else min(FULL_SCALE_GUARD, FLAT_TOP * peak)
    clipped = _count_in_runs((samples >= top) | (samples <= -top)) if peak > 0 else 0
    return AudioLevel(rms_dbfs=to_dbfs(rms), peak_dbfs=to_dbfs(peak), clipped_percent=100 * clipped / samples.size)


def active_rms(samples: Samples) -> float:
    """RMS of the 20 ms frames within 25 dB of the loud ones (95th percentile); 0 for silence."""
    energy = frame_energy(samples)
    if energy.size == 0:
        return 0.0
    active = energy >= np.percentile(energy, 95) * 10 ** (-ACTIVE_RANGE_DB / 10)
    return float(np.sqrt(energy[active].mean()))


def frame_energy(samples: Samples) -> NDArray[np.float64]:
    """Mean square of each whole 20 ms frame, shape (frames,)."""
    count = len(samples) // FRAME
    frames = samples[: count * FRAME].reshape(count, FRAME)
    return np.asarray(np.einsum("ij,ij->i", frames, frames, dtype=np.float64) / FRAME)


def to_dbfs(amplitude: float) -> float:
    """Convert `amplitude` to dBFS; -inf for 0."""
    return 20 * math.log10(amplitude) if amplitude > 0 else -math.inf


def _count_in_runs(flags: NDArray[np.bool_]) -> int:
    """Count the `flags` in runs of at least `MIN_CLIPPED_RUN`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    return int(lengths[lengths >= MIN_CLIPPED_RUN].sum())
