"""Merge the recordings of one UTC day into one timepoint [F3].

What they share (room, device, cold, mood) does not average out. A hundred uploads in a day therefore count as at most
1 / `shared_variance` readings.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.longitudinal.scale import Array

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Timepoints:
    """One row per UTC day, in time order; n days, b signs.

    Attributes:
        days: shape (n,), time of the day's last recording in days since 1970.
        variance_factors: shape (n,), variance of the day's value in units of one reference recording.
        values: shape (n, b), weighted mean of the day's readings, started logit.
        counts: shape (n,), recordings of the day.
        last: shape (n,), position of the day's last recording in the input.
        usable: shape (n,), whether the quality of the day's best recording suffices to raise or end an anomaly.
    """

    days: Array
    variance_factors: Array
    values: Array
    counts: NDArray[np.intp]
    last: NDArray[np.intp]
    usable: NDArray[np.bool_]


def daily_timepoints(
    seconds: Array, factors: Array, readings: Array, *, shared_variance: float, usable_factor: float
) -> Timepoints:
    """Merge recordings into daily timepoints.

    Args:
        seconds: shape (m,), times since 1970, ascending, at least one.
        factors: shape (m,), variance factor of each recording.
        readings: shape (m, b), started logit.
        shared_variance: variance factor that one day's recordings have in common.
        usable_factor: largest variance factor of a usable recording.
    """
    day = np.floor(seconds / SECONDS_PER_DAY)
    first = np.flatnonzero(np.diff(day, prepend=day[0] - 1.0))
    end = np.append(first[1:], len(day))
    weights = 1.0 / (factors - shared_variance)
    total = np.add.reduceat(weights, first)
    return Timepoints(
        days=seconds[end - 1] / SECONDS_PER_DAY,
        variance_factors=shared_variance + 1.0 / total,
        values=np.add.reduceat(weights[:, None] * readings, first, axis=0) / total[:, None],
        counts=end - first,
        last=end - 1,
        usable=np.minimum.reduceat(factors, first) <= usable_factor,
    )
