"""Anomaly detection: z-scores against an unchanged subject, and limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbdesk.longitudinal.filter import FilterOutput
from vbdesk.longitudinal.gains import GainStep
from vbdesk.longitudinal.parameters import AnomalyRule, Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.student_t import normal_equivalent
from vbdesk.longitudinal.timepoints import Timepoints

Flags = NDArray[np.bool_]
Kind = Literal["none", "sustained", "acute"]


@dataclass(frozen=True, slots=True)
class Detections:
    """Z-scores and anomalies per timepoint and sign, shape (n, b).

    Attributes:
        deviation: latest minus baseline, in score.
        z: deviation in standard deviations of an unchanged subject [F7].
        z_sustained: the same for the shift alone.
        sustained: lasting change [F9]; a class may require confirmation at a second timepoint [F10].
        unconfirmed: beyond the sustained limit at one timepoint only, of a class that requires confirmation.
        acute: a single reading far from the baseline [F11] and not sustained; fast signs only.
    """

    deviation: Array
    z: Array
    z_sustained: Array
    sustained: Flags
    unconfirmed: Flags
    acute: Flags

    @property
    def anomaly(self) -> Flags:
        """Whether the timepoint is an anomaly of either kind."""
        return self.sustained | self.acute


@dataclass(frozen=True, slots=True)
class Episode:
    """Anomalous timepoints in a row on one side, from position `first` to `last`."""

    first: int
    last: int
    direction: Literal["above", "below"]
    kind: Literal["sustained", "acute"]
    peak_z: float
    open: bool


class SignificantRun(NamedTuple):
    """Consecutive significant timepoints: side (0: no run), first day."""

    side: float
    since: float


NO_RUN = SignificantRun(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ZScores:
    """Z-scores of timepoints and limits passed, before confirmation; shape (n, b).

    Attributes:
        deviation: latest minus baseline, in score.
        z: see `Detections`.
        z_sustained: see `Detections`.
        side: 1 where the shift is above the norm, -1 where it is below.
        significant: the shift is beyond its limit.
        acute: the reading is beyond its limit.
    """

    deviation: Array
    z: Array
    z_sustained: Array
    side: Array
    significant: Flags
    acute: Flags


def detect_anomalies(
    timepoints: Timepoints,
    steps: Sequence[GainStep],
    filtered: FilterOutput,
    sign_class: SignClass,
    parameters: Parameters,
) -> Detections:
    """Detect anomalies at every timepoint from what was known at that time."""
    positions = np.arange(len(timepoints.days))
    gaps = mean_gaps(timepoints.days, parameters.anomaly)
    z_scores = compute_z_scores(
        positions, gaps, timepoints.usable, timepoints.values, steps, filtered, sign_class, parameters
    )
    sustained = z_scores.significant
    if sign_class.needs_confirmation:
        sustained = _confirmed(z_scores, timepoints, parameters.anomaly.confirm_hours)
    return Detections(
        z_scores.deviation,
        z_scores.z,
        z_scores.z_sustained,
        sustained,
        z_scores.significant & ~sustained,
        z_scores.acute & ~sustained,
    )


def compute_z_scores(
    positions: NDArray[np.intp],
    gaps: Array,
    usable: Flags,
    values: Array,
    steps: Sequence[GainStep],
    filtered: FilterOutput,
    sign_class: SignClass,
    parameters: Parameters,
) -> ZScores:
    """Compute z-scores and compare them with the limits, timepoint by timepoint.

    Args:
        positions: shape (n,), number of earlier timepoints.
        gaps: shape (n,), mean of the last gaps before each (`mean_gaps`).
        usable: shape (n,).
        values: shape (n, b), readings.
        steps: n gain steps.
        filtered: shape (n, b).
        sign_class: the signs' class.
        parameters: the method's parameters.
    """
    rule, offset = parameters.anomaly, parameters.scale.offset
    df, own_sd = filtered.null_df, np.sqrt(filtered.null_ratio)
    deviation_sd = own_sd * np.sqrt([step.null_deviation_variance for step in steps])[:, None]
    shift_sd = own_sd * np.sqrt([step.null_shift_variance for step in steps])[:, None]

    baseline = score_of(filtered.trait, offset)
    deviation = score_of(filtered.level, offset) - baseline
    z = normal_equivalent((filtered.state + filtered.shift) / deviation_sd, df)
    z_sustained = normal_equivalent(filtered.shift / shift_sd, df)

    log_gap = np.log(gaps)[:, None]
    for_few = sign_class.sustained_limit_for_few / (positions[:, None] + 1.0)
    eligible = (usable & (positions >= rule.min_timepoints - 1))[:, None]
    reading_off_baseline = values - filtered.trait

    side = np.sign(filtered.shift)
    significant = (
        eligible
        & (np.abs(z_sustained) >= _limit(sign_class.sustained_limit, log_gap) + for_few)
        & (deviation * side >= rule.min_deviation)
        & (reading_off_baseline * side > 0.0)
    )
    acute = np.zeros_like(significant)
    if sign_class.acute_limit is not None:
        raw = filtered.raw_deviation
        z_acute = normal_equivalent(raw / deviation_sd, df)
        raw_deviation = score_of(filtered.trait + raw, offset) - baseline
        acute = (
            eligible
            & (np.abs(z_acute) >= _limit(sign_class.acute_limit, log_gap))
            & (np.abs(raw_deviation) >= rule.min_deviation)
            & (reading_off_baseline * raw > 0.0)
        )
    return ZScores(deviation, z, z_sustained, side, significant, acute)


def mean_gaps(days: Array, rule: AnomalyRule) -> Array:
    """Mean of the last gaps before each timepoint in days, clipped, shape (n,).

    Limits fall as the gap grows, so that the false-alarm rate is constant per year, not per timepoint.
    """
    position = np.arange(len(days))
    gaps = np.minimum(position, rule.gaps_averaged)
    mean = (days - days[position - gaps]) / np.maximum(gaps, 1)
    return np.clip(mean, *rule.gap_range_days)


def next_run(run: SignificantRun, significant: bool, side: float, day: float, usable: bool) -> SignificantRun:
    """The run after one more timepoint [F10].

    A significant timepoint on the other side starts a new run. A usable timepoint that is not significant ends the run;
    an unusable one changes nothing.
    """
    if significant:
        return run if run.side == side else SignificantRun(side, day)
    return NO_RUN if usable else run


def is_confirmed(run: SignificantRun, significant: bool, day: float, hours: float) -> bool:
    """Whether the run of a significant timepoint began at least `hours` earlier."""
    return significant and (day - run.since) * 24.0 >= hours


def _limit(limit: tuple[float, float], log_gap: Array) -> Array:
    return limit[0] - limit[1] * log_gap


def _confirmed(z_scores: ZScores, timepoints: Timepoints, hours: float) -> Flags:
    """Significant timepoints that an earlier timepoint of the same run confirms."""
    confirmed = np.zeros_like(z_scores.significant)
    days, usable = timepoints.days.tolist(), timepoints.usable.tolist()
    for column in np.flatnonzero(z_scores.significant.any(axis=0)):
        significant, sides = z_scores.significant[:, column].tolist(), z_scores.side[:, column].tolist()
        run = NO_RUN
        for k in range(significant.index(True), len(significant)):
            run = next_run(run, significant[k], sides[k], days[k], usable[k])
            confirmed[k, column] = is_confirmed(run, significant[k], days[k], hours)
    return confirmed


def episodes(detections: Detections, column: int) -> list[Episode]:
    """Anomaly episodes of one sign; any sustained timepoint makes one sustained."""
    flagged = np.flatnonzero(detections.anomaly[:, column]).tolist()
    above = detections.deviation[:, column] > 0.0
    runs: list[list[int]] = []
    for k in flagged:
        if runs and runs[-1][-1] == k - 1 and above[k] == above[k - 1]:
            runs[-1].append(k)
        else:
            runs.append([k])
    return [
        Episode(
            first=run[0],
            last=run[-1],
            direction="above" if above[run[0]] else "below",
            kind="sustained" if detections.sustained[run, column].any() else "acute",
            peak_z=max(detections.z[run, column].tolist(), key=abs),
            open=run[-1] == len(above) - 1,
        )
        for run in runs
    ]
