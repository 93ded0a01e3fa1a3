"""Short-term analysis: where the frames of a recording lie, how they are cut out, and values tied to a time."""

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

_THREADS = 2  # numpy lets go of the interpreter in large operations; more threads only fight over the cache


@dataclass(frozen=True, slots=True)
class Track:
    """Values tied to moments of the recording.

    Attributes:
        times: shape (n,), seconds, ascending.
        values: shape (n,) or (n, columns).
    """

    times: Floats
    values: Floats

    def within(self, spans: Spans | None) -> Floats:
        """Values whose moment lies in a span (start included, end not), span after span; None means all.

        A span that occurs twice gives its values twice, as resampling needs it.
        """
        if spans is None:
            return self.values
        edges = np.searchsorted(self.times, np.asarray(spans, dtype=float).reshape(-1, 2))
        parts = [self.values[first:last] for first, last in edges]
        return np.concatenate(parts) if parts else self.values[:0]


def empty_track(columns: int | None = None) -> Track:
    """A track without a moment."""
    return Track(np.zeros(0), np.zeros(0 if columns is None else (0, columns)))


def frame_times(sample_count: int, window_s: float, hop_s: float = HOP_S) -> Floats:
    """Centres in seconds of the frames that fit whole into a recording, laid symmetrically around its middle.

    Sample `i` stands at (i + 0.5) / `ANALYSIS_RATE`. Empty when the recording is shorter than one window.
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
    """Copies of the stretches of `length` samples that begin at `starts`: shape (starts, length).

    What reaches over the ends of `samples`, shape (n,), is zero.
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
    """Results of `compute` for consecutive slices of at most `block` of `count` items, in order, on two threads."""
    slices = [slice(first, min(first + block, count)) for first in range(0, count, block)]
    if len(slices) < 2:
        return [compute(part) for part in slices]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(compute, slices))


def runs(mask: Mask) -> Indices:
    """First index and index after the last of each unbroken run of True: shape (runs, 2)."""
    edges = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)], axis=1)


def cut_long(stretches: Indices, longest: int) -> Indices:
    """Cut stretches (first index, index after the last), shape (n, 2), into parts of at most `longest`."""
    parts = [
        (first, min(first + longest, end)) for start, end in stretches.tolist() for first in range(start, end, longest)
    ]
    return np.array(parts, dtype=np.int64).reshape(-1, 2)
