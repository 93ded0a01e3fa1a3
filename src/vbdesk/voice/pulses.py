"""Glottal pulses: one time per period, found by correlating each period of the waveform with its neighbour.

The search starts at the loudest extremum in the middle of a voiced stretch and runs to both ends. The next pulse is
where the waveform correlates best with the period around the last pulse, 0.8 to 1.25 periods away (Praat's
cross-correlation method). All stretches are searched in parallel.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from vbdesk.voice.f0 import F0Track
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import (
    HOP_S,
    Floats,
    Indices,
    Mask,
    cut_frames,
    cut_long,
    largest_absolute,
    nearest_sample,
    runs,
    sample_before,
)

_NEAREST, _FURTHEST = 0.8, 1.25  # periods from one pulse to the next
_LEAST_CORRELATION, _LEAST_PEAK = 0.3, 0.01  # of a pulse; peaks relative to that of the recording
_LEAST_CORRELATION_OUTSIDE, _LEAST_PEAK_OUTSIDE = 0.7, 0.0233  # of the one pulse beyond the end of a stretch
_LONGEST_STRETCH = 300  # frames; only hum and song are longer, and pulses are found sequentially
_BLOCK = 1024


@dataclass(slots=True)
class _PulseSearch:
    """Position of the search in each voiced stretch.

    Attributes:
        time: of the last match in seconds.
        first, last: voiced frames of the stretch, both included.
        edge: end of the stretch in the direction of the search, in seconds.
    """

    time: Floats
    first: Indices
    last: Indices
    edge: Floats

    def only(self, mask: Mask) -> "_PulseSearch":
        return _PulseSearch(self.time[mask], self.first[mask], self.last[mask], self.edge[mask])


def find_pulses(samples: Samples, f0: F0Track) -> Floats:
    """Find the times of all pulses in mono `samples`, shape (n,), in seconds, ascending."""
    stretches = cut_long(runs(f0.frequency > 0), _LONGEST_STRETCH)
    first, last = stretches[:, 0], stretches[:, 1] - 1
    start, end = f0.times[first] - HOP_S / 2, f0.times[last] + HOP_S / 2
    middle = (start + end) / 2
    seed = _loudest_extrema(samples, middle, f0.at(middle, first, last))
    loudest = largest_absolute(samples)
    left_times, left_periods = _follow(samples, f0, _PulseSearch(seed, first, last, start), -1, loudest)
    right_times, _ = _follow(samples, f0, _PulseSearch(seed, first, last, end), 1, loudest)

    # a pulse that the search to the left finds before its stretch must not repeat one of the previous stretch
    settled = np.sort(np.concatenate([seed, right_times]))
    before = np.concatenate([[-np.inf], settled])[np.searchsorted(settled, left_times)]
    free = left_times - before > _NEAREST * left_periods
    return np.sort(np.concatenate([left_times[free], settled]))


def _loudest_extrema(samples: Samples, middle: Floats, frequency: Floats) -> Floats:
    """Time of the largest absolute sample within half a period of each middle, refined with a parabola."""
    begin = sample_before(middle - 0.5 / frequency)
    length = sample_before(middle + 0.5 / frequency) + 2 - begin
    frames = cut_frames(samples, begin, int(length.max())).astype(np.float64)
    inside = np.arange(frames.shape[1]) < length[:, None]
    peak = np.where(inside, np.abs(frames), -1).argmax(axis=1)
    inner = np.clip(peak, 1, length - 2)
    row = np.arange(peak.size)
    left, centre, right = (frames[row, inner + step] for step in (-1, 0, 1))
    curvature = 2 * centre - left - right
    shift = np.divide(
        (right - left) / 2, curvature, out=np.zeros_like(centre), where=(inner == peak) & (curvature != 0)
    )
    times: Floats = (begin + peak + shift + 0.5) / ANALYSIS_RATE
    return times


def _follow(samples: Samples, f0: F0Track, search: _PulseSearch, step: int, loudest: float) -> tuple[Floats, Floats]:
    """Pulses beyond the seeds in one direction (`step` -1 or 1): times and local F0 periods, both in seconds."""
    times, periods = [np.zeros(0)], [np.zeros(0)]
    while search.time.size:
        period = 1 / f0.at(search.time, search.first, search.last)
        parts = [slice(first, first + _BLOCK) for first in range(0, period.size, _BLOCK)]
        matches = [_best_match(samples, search.time[part], period[part], step) for part in parts]
        search.time, correlation, peak = (np.concatenate(values) for values in zip(*matches, strict=True))
        inside = step * (search.edge - search.time) >= 0
        found = np.where(
            inside,
            (correlation > _LEAST_CORRELATION) & ((peak == 0) | (peak > _LEAST_PEAK * loudest)),
            (correlation > _LEAST_CORRELATION_OUTSIDE) & (peak > _LEAST_PEAK_OUTSIDE * loudest),
        )
        times.append(search.time[found])
        periods.append(period[found])
        search = search.only(inside)
    return np.concatenate(times), np.concatenate(periods)


def _best_match(samples: Samples, time: Floats, period: Floats, step: int) -> tuple[Floats, Floats, Floats]:
    """Find the best match for the period around `time`, about one period before or after it.

    Returns:
        Time in seconds (one period away without a match), correlation (-1 without) and largest absolute sample.
    """
    begin = nearest_sample(time - period / 2)
    length = nearest_sample(time + period / 2) - begin + 1
    near, far = sorted((step * _NEAREST, step * _FURTHEST))
    lowest = sample_before(time + (near - 0.5) * period)
    lag_count = sample_before(time + (far - 0.5) * period) + 2 - lowest
    longest, lags = int(length.max()), int(lag_count.max())
    inside = np.arange(longest) < length[:, None]

    reference = np.where(inside, cut_frames(samples, begin, longest), 0)
    region = cut_frames(samples, lowest, longest + lags - 1)
    product = np.einsum("ri,rli->rl", reference, sliding_window_view(region, longest, axis=1), optimize=False)
    energy = np.concatenate([np.zeros((time.size, 1)), np.cumsum(np.square(region, dtype=np.float64), axis=1)], axis=1)
    ends = np.arange(lags) + length[:, None]
    norm = np.take_along_axis(energy, ends, axis=1) - energy[:, :lags]
    norm *= np.sum(np.square(reference, dtype=np.float64), axis=1, keepdims=True)
    tiny = np.finfo(np.float64).tiny
    correlation = np.where(norm > tiny, product / np.sqrt(np.maximum(norm, tiny)), 0)

    # a maximum needs two neighbours: a zero is added before the first lag, and the last lag is not used
    centre = correlation[:, :-1]
    left = np.concatenate([np.zeros((time.size, 1)), correlation[:, :-2]], axis=1)
    right = correlation[:, 1:]
    is_peak = (centre >= left) & (centre >= right) & (np.arange(lags - 1) < lag_count[:, None] - 1)
    best = np.where(is_peak, centre, -1).argmax(axis=1)
    row = np.arange(time.size)
    matched = is_peak[row, best]
    slope, curvature = (right - left)[row, best] / 2, (2 * centre - left - right)[row, best]
    refine = matched & (curvature > 0)
    shift = np.divide(slope, curvature, out=np.zeros_like(slope), where=refine)
    offset = np.where(matched, (lowest + best + shift - begin) / ANALYSIS_RATE, step * period)
    peak = np.where(inside, np.abs(cut_frames(samples, lowest + best, longest)), 0).max(axis=1)
    height = np.where(matched, centre[row, best] + slope * shift / 2, -1)
    return time + offset, height, peak.astype(np.float64)
