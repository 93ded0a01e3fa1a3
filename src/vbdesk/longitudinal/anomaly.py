"""Has this subject changed? z-scores against an unchanged subject, and the rules that turn them into anomalies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vbdesk.longitudinal.filter import Estimates
from vbdesk.longitudinal.gains import GainStep
from vbdesk.longitudinal.parameters import AnomalyRule, Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.student import normal_equivalent
from vbdesk.longitudinal.timepoints import Timepoints

Flags = NDArray[np.bool_]
Kind = Literal["none", "sustained", "acute"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Per timepoint and sign, shape (n, b).

    Attributes:
        deviation: latest minus baseline, in score.
        z: deviation over the spread it would have if nothing had changed [F7].
        z_sustained: the same for the shift alone.
        sustained: a change that lasts [F9], confirmed at a second timepoint where the class asks for it [F10].
        unconfirmed: would be sustained, but has been seen at one timepoint only; slow signs alone wait like this.
        acute: a single reading far out [F11], where it is not sustained; fast signs only.
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
    """Successive anomalous timepoints on one side of the baseline; `first` and `last` are positions."""

    first: int
    last: int
    direction: Literal["above", "below"]
    kind: Literal["sustained", "acute"]
    peak_z: float
    open: bool


def judge(
    timepoints: Timepoints,
    steps: Sequence[GainStep],
    estimates: Estimates,
    sign_class: SignClass,
    parameters: Parameters,
) -> Verdicts:
    """Judge every timepoint with what was known at that time."""
    rule, offset = parameters.anomaly, parameters.scale.offset
    n = len(timepoints.days)
    df = parameters.personal_scale.prior_readings + 1.0 + np.arange(n)[:, None]
    own_sd = np.sqrt(estimates.variance_ratio)
    deviation_sd = own_sd * np.sqrt([step.null_deviation_variance for step in steps])[:, None]
    shift_sd = own_sd * np.sqrt([step.null_shift_variance for step in steps])[:, None]

    baseline = score_of(estimates.trait, offset)
    deviation = score_of(estimates.level, offset) - baseline
    z = normal_equivalent((estimates.state + estimates.shift) / deviation_sd, df)
    z_sustained = normal_equivalent(estimates.shift / shift_sd, df)

    log_gap = np.log(mean_gaps(timepoints.days, rule))[:, None]
    eligible = timepoints.usable[:, None] & (np.arange(n)[:, None] >= rule.min_timepoints - 1)
    reading_off_baseline = timepoints.values - estimates.trait

    direction = np.sign(estimates.shift)
    significant = (
        eligible
        & (np.abs(z_sustained) >= _limit(sign_class.sustained_limit, log_gap))
        & (deviation * direction >= rule.min_deviation)
        & (reading_off_baseline * direction > 0.0)
    )
    sustained = significant
    if sign_class.needs_confirmation:
        sustained = _confirmed(significant, direction, timepoints, rule.confirm_hours)

    acute = np.zeros_like(sustained)
    if sign_class.acute_limit is not None:
        raw = estimates.raw_deviation
        z_acute = normal_equivalent(raw / deviation_sd, df)
        raw_deviation = score_of(estimates.trait + raw, offset) - baseline
        acute = (
            eligible
            & ~sustained
            & (np.abs(z_acute) >= _limit(sign_class.acute_limit, log_gap))
            & (np.abs(raw_deviation) >= rule.min_deviation)
            & (reading_off_baseline * raw > 0.0)
        )
    return Verdicts(deviation, z, z_sustained, sustained, significant & ~sustained, acute)


def mean_gaps(days: Array, rule: AnomalyRule) -> Array:
    """Mean of the last gaps before each timepoint in days, shape (n,), held to the rule's range.

    Limits fall with it, so that a false-alarm budget per year is spent, not one per test.
    """
    position = np.arange(len(days))
    gaps = np.minimum(position, rule.gaps_averaged)
    mean = (days - days[position - gaps]) / np.maximum(gaps, 1)
    return np.clip(mean, *rule.gap_range_days)


def _limit(limit: tuple[float, float], log_gap: Array) -> Array:
    return limit[0] - limit[1] * log_gap


def _confirmed(candidates: Flags, direction: Array, timepoints: Timepoints, hours: float) -> Flags:
    """Candidates with an earlier one of the same run at least `hours` before.

    A run ends at a usable timepoint that is no candidate, or at one in the other direction.
    Unusable days neither count nor end it.
    """
    confirmed = np.zeros_like(candidates)
    for column in np.flatnonzero(candidates.any(axis=0)):
        run_direction, run_start = 0.0, 0.0
        for k in range(int(candidates[:, column].argmax()), len(candidates)):
            if candidates[k, column]:
                if direction[k, column] != run_direction:
                    run_direction, run_start = direction[k, column], timepoints.days[k]
                confirmed[k, column] = (timepoints.days[k] - run_start) * 24.0 >= hours
            elif timepoints.usable[k]:
                run_direction = 0.0
    return confirmed


def episodes(verdicts: Verdicts, column: int) -> list[Episode]:
    """Runs of anomalous timepoints of one sign; a run with any sustained timepoint is sustained."""
    flagged = np.flatnonzero(verdicts.anomaly[:, column]).tolist()
    above = verdicts.deviation[:, column] > 0.0
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
            kind="sustained" if verdicts.sustained[run, column].any() else "acute",
            peak_z=max(verdicts.z[run, column].tolist(), key=abs),
            open=run[-1] == len(above) - 1,
        )
        for run in runs
    ]
