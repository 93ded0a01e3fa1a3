"""Short-term analysis: positions of frames, cutting of frames, and time series of values."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from vbdesk.voice.recording import ANALYSIS_RATE, Samples

HOP_S = 0.01
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Spans = Sequence[tuple[float, float]]

_THREADS = 2  # numpy releases the GIL in large operations; more threads compete for the cache


@dataclass(frozen=True, slots=True)
class Track:
    """Values at times of the recording.

    Attributes:
        times: shape (n,), seconds, ascending.
        values: shape (n,) or (n, columns).
    """

    times: Floats
    values: Floats

    def within(self, spans: Spans | None) -> Floats:
        """Values at times in the spans (start included, end excluded), span by span; None returns all.

        A repeated span repeats its values, as resampling requires.
        """
        if spans is None:
            return self.values
        edges = np.searchsorted(self.times, np.asarray(spans, dtype=float).reshape(-1, 2))
        parts = [self.values[first:last] for first, last in edges]
        return np.concatenate(parts) if parts else self.values[:0]


def empty_track(columns: int | None = None) -> Track:
    """A track without values."""
    return Track(np.zeros(0), np.zeros(0 if columns is None else (0, columns)))


def frame_times(sample_count: int, window_s: float, hop_s: float = HOP_S) -> Floats:
    """Centres in seconds of the frames that fit into a recording, symmetrical about its middle.

    Sample `i` is at (i + 0.5) / `ANALYSIS_RATE`. Empty if the recording is shorter than one window.
    """
    duration = sample_count / ANALYSIS_RATE
    if duration < window_s:
        return np.zeros(0)
    count = int((duration - window_s) / hop_s + 1e-9) + 1
    times: Floats = duration / 2 + (np.arange(count, dtype=np.float64) - (count - 1) / 2) * hop_s
    return times


def sample_before(times: Floats, rate: int = ANALYSIS_RATE) -> Indices:
    """Index of the last sample at or before each time."""
    return np.floor(times * rate - 0.5).astype(np.int64)


def nearest_sample(times: Floats, rate: int = ANALYSIS_RATE) -> Indices:
    """Index of the sample nearest to each time."""
    return np.floor(times * rate).astype(np.int64)


def largest_absolute(samples: Samples) -> float:
    """Largest absolute value of `samples`, shape (n,), n > 0, without a copy of them."""
    return float(max(samples.max(), -samples.min()))


def cut_frames(samples: Samples, starts: Indices, length: int) -> Samples:
    """Copy frames of `length` samples that begin at `starts`: shape (starts, length).

    Positions outside `samples`, shape (n,), are 0.
    """
    if samples.size < length:
        samples = np.pad(samples, (0, length - samples.size))
    last = samples.size - length
    frames: Samples = sliding_window_view(samples, length)[np.clip(starts, 0, last)]
    for row in np.flatnonzero((starts < 0) | (starts > last)):
        start = starts[row]
        known = samples[max(start, 0) : max(start + length, 0)]
        frames[row] = 0
        first = max(-start, 0)
        frames[row, first : first + known.size] = known
    return frames


def map_blocks(compute: Callable[[slice], Any], count: int, block: int) -> list[Any]:
    """Call `compute` for consecutive slices of at most `block` of `count` items, on two threads; results in order."""
    slices = [slice(first, min(first + block, count)) for first in range(0, count, block)]
    if len(slices) < 2:
        return [compute(part) for part in slices]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(compute, slices))


def runs(mask: Mask) -> Indices:
    """First index and index after the last of each run of True: shape (runs, 2)."""
    edges = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)], axis=1)


def cut_long(stretches: Indices, longest: int) -> Indices:
    """Cut stretches (first index, index after the last), shape (n, 2), into parts of at most `longest`."""
    parts = [
        (first, min(first + longest, end)) for start, end in stretches.tolist() for first in range(start, end, longest)
    ]
    return np.array(parts, dtype=np.int64).reshape(-1, 2)
