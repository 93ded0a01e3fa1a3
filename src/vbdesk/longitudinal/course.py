"""The course of signs through a window: readings, filter and verdicts together.

Signs of one class that were measured in the same recordings share times and qualities, and so their gains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from vbdesk.longitudinal.anomaly import Verdicts, judge
from vbdesk.longitudinal.filter import Estimates, estimate
from vbdesk.longitudinal.gains import GainStep, gain_steps
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.precision import interval_factors, variance_factors
from vbdesk.longitudinal.scale import Array, score_of, started_logit
from vbdesk.longitudinal.timepoints import Timepoints, daily_timepoints

INCONCLUSIVE = "inconclusive"
UNKNOWN = (nan, nan)
MIN_RECORDINGS = 2  # the first submission says nothing about change


@dataclass(frozen=True, slots=True)
class Course:
    """Signs that share class and recordings; every array of shape (n, b) has n timepoints and b signs.

    Attributes:
        signs: the b signs.
        sign_class: their class.
        recordings: the recordings in which they were measured, in time order.
        timepoints: these, merged by day; `timepoints.last` points into `recordings`.
        steps: n gain steps.
        estimates: trait, state and shift.
        verdicts: z-scores and anomalies.
    """

    signs: tuple[str, ...]
    sign_class: SignClass
    recordings: list[HistoryEntry]
    timepoints: Timepoints
    steps: list[GainStep]
    estimates: Estimates
    verdicts: Verdicts


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a sign stands after its last timepoint, unrounded; `level` in started logit.

    `unconfirmed`: a slow sign has changed at this timepoint, and waits for another to confirm it.
    """

    latest_score: float
    baseline_score: float
    deviation_from_baseline: float
    anomaly: bool
    unconfirmed: bool
    z_score: float
    level: float
    recordings: int
    timepoints: int


def measured(entry: HistoryEntry, sign: str) -> bool:
    """Whether the recording has a score for `sign`."""
    reading = entry.signs.get(sign)
    return reading is not None and reading.score is not None and isfinite(reading.score)


def scores_of(readings: Sequence[SignReading | None]) -> Array:
    """Scores of readings, shape (n,); NaN where nothing was measured."""
    scores = np.array([None if r is None else r.score for r in readings], dtype=np.float64)
    scores[np.isinf(scores)] = nan
    return scores


def follow(entries: Sequence[HistoryEntry], signs: Sequence[str], parameters: Parameters) -> list[Course]:
    """Follow `signs` through `entries` (a window, in order); signs measured in fewer than two of them are left out."""
    quality_factors = variance_factors(entries, parameters.quality)
    seconds = np.array([entry.recorded_at.timestamp() for entry in entries])
    shared: dict[tuple[str, bytes, bytes], list[tuple[str, Array]]] = {}
    for sign in signs:
        readings = [entry.signs.get(sign) for entry in entries]
        scores = scores_of(readings)
        present = np.isfinite(scores)
        if np.count_nonzero(present) >= MIN_RECORDINGS:
            factors = reading_factors(readings, quality_factors, parameters.class_of(sign), parameters)
            key = (parameters.class_name(sign), present.tobytes(), factors[present].tobytes())
            shared.setdefault(key, []).append((sign, scores))
    courses = []
    for (class_name, present_bytes, factors_bytes), members in shared.items():
        present = np.frombuffer(present_bytes, dtype=np.bool_)
        timepoints = daily_timepoints(
            seconds[present],
            np.frombuffer(factors_bytes),
            started_logit(np.stack([scores[present] for _, scores in members], axis=1), parameters.scale.offset),
            shared_variance=parameters.timepoint.shared_variance,
            usable_factor=parameters.quality.usable_factor,
        )
        recordings = [entries[k] for k in np.flatnonzero(present).tolist()]
        signs_here = tuple(sign for sign, _ in members)
        courses.append(_filter(signs_here, recordings, timepoints, parameters.classes[class_name], parameters))
    return courses


def reading_factors(
    readings: Sequence[SignReading | None], quality_factors: Array, sign_class: SignClass, parameters: Parameters
) -> Array:
    """Variance factor of each reading, shape (n,): the recording's, or worse where the reading itself says so."""
    rule = parameters.quality
    factors = quality_factors
    if any(r is not None and r.interval is not None for r in readings):
        known = [UNKNOWN if r is None or r.interval is None else r.interval for r in readings]
        low, high = (np.array([interval[end] for interval in known]) for end in (0, 1))
        own = interval_factors(low, high, sign_class.reading_variance, parameters.scale.offset, rule)
        factors = np.maximum(factors, own)
    inconclusive = np.array([r is not None and r.level == INCONCLUSIVE for r in readings])
    return np.where(inconclusive, rule.factor_range[1], factors)


def standing_of(course: Course, column: int, parameters: Parameters) -> Standing:
    """Where one sign of a course stands after its last timepoint."""
    estimates, verdicts, offset = course.estimates, course.verdicts, parameters.scale.offset
    trait, level = float(estimates.trait[-1, column]), float(estimates.level[-1, column])
    return Standing(
        latest_score=float(score_of(level, offset)),
        baseline_score=float(score_of(trait, offset)),
        deviation_from_baseline=float(verdicts.deviation[-1, column]),
        anomaly=bool(verdicts.anomaly[-1, column]),
        unconfirmed=bool(verdicts.unconfirmed[-1, column]),
        z_score=float(verdicts.z[-1, column]),
        level=level,
        recordings=len(course.recordings),
        timepoints=len(course.steps),
    )


def _filter(
    signs: tuple[str, ...],
    recordings: list[HistoryEntry],
    timepoints: Timepoints,
    sign_class: SignClass,
    parameters: Parameters,
) -> Course:
    steps, _ = gain_steps(timepoints.days.tolist(), timepoints.variance_factors.tolist(), sign_class, parameters.prior)
    estimates = estimate(timepoints.values, steps, sign_class.trait_mean, parameters.personal_scale)
    verdicts = judge(timepoints, steps, estimates, sign_class, parameters)
    return Course(signs, sign_class, recordings, timepoints, steps, estimates, verdicts)
