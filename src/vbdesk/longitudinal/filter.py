"""Means of the trait-shift-state filter [F6], given the gains."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from vbdesk.longitudinal.gains import GainStep
from vbdesk.longitudinal.parameters import Parameters, PersonalScaleRule, SignClass
from vbdesk.longitudinal.scale import Array
from vbdesk.longitudinal.student_t import t_of_normal


@dataclass(frozen=True, slots=True)
class FilterOutput:
    """Started-logit estimates, shape (n, b): n timepoints, b signs.

    Attributes:
        trait: the personal norm.
        state: ordinary variation.
        shift: slow departure from the norm.
        variance_ratio: the subject's own variance divided by the class's.
        raw_deviation: state + shift computed without clipping the reading.
        winsorised: the reading after clipping.
        df: degrees of freedom of `variance_ratio`: what the prior and the readings say about it.
        null_ratio: the ratio before the latest timepoints, which a change cannot have enlarged; z is measured with it.
        null_df: its degrees of freedom.
    """

    trait: Array
    state: Array
    shift: Array
    variance_ratio: Array
    raw_deviation: Array
    winsorised: Array
    df: Array
    null_ratio: Array
    null_df: Array

    @property
    def level(self) -> Array:
        """The current level: trait + state + shift."""
        return self.trait + self.state + self.shift


class LearnedVariance(NamedTuple):
    """A subject's own variance over the class's after a timepoint, and its degrees of freedom."""

    ratio: float
    df: float


class MeanCarry(NamedTuple):
    """The filter's state between timepoints of one sign: means and own variance.

    Attributes:
        square_sum: the variance's sum of squares; `learned[-1].df` are its degrees of freedom.
        timepoints: timepoints so far.
        learned: the variance after the latest timepoints, newest last; before the first one, the prior.
    """

    trait: float
    state: float
    shift: float
    square_sum: float
    timepoints: int
    learned: tuple[LearnedVariance, ...]


class MeanRow(NamedTuple):
    """One timepoint of one sign; see `FilterOutput`."""

    trait: float
    state: float
    shift: float
    variance_ratio: float
    raw_deviation: float
    winsorised: float
    df: float
    null_ratio: float
    null_df: float


def prior_means(trait_mean: float, rule: PersonalScaleRule) -> MeanCarry:
    """State of a subject without recordings."""
    prior = LearnedVariance(1.0, rule.prior_readings)
    return MeanCarry(trait_mean, 0.0, 0.0, rule.prior_readings, 0, (prior,))


def run_filter(values: Array, steps: Sequence[GainStep], sign_class: SignClass, parameters: Parameters) -> FilterOutput:
    """Run the filter over `values`, shape (n, b), with one gain step per timepoint.

    Innovations are clipped (Huber), which bounds the influence of one recording. They also update the subject's own
    variance: an inverse-gamma estimate whose prior counts as `prior_readings` readings.
    """
    start = prior_means(sign_class.trait_mean, parameters.personal_scale)
    columns = [
        tuple(zip(*mean_rows(column, steps, start, sign_class, parameters)[0], strict=True))
        for column in values.T.tolist()
    ]
    return FilterOutput(*np.array(columns).transpose(1, 2, 0))


def mean_rows(
    values: Sequence[float],
    steps: Sequence[GainStep],
    carry: MeanCarry,
    sign_class: SignClass,
    parameters: Parameters,
) -> tuple[list[MeanRow], MeanCarry]:
    """Filter one sign's values from `carry`; returns rows and the new carry."""
    rule = parameters.personal_scale
    clip, correction, first = rule.innovation_clip, rule.clip_correction, rule.first_timepoint
    variance_clip = clip if rule.variance_clip is None else rule.variance_clip
    lowest, highest = parameters.ratio_range(sign_class)
    trait, state, shift, square_sum, timepoints, learned = carry
    ratio, df = learned[-1]
    kept = deque(learned if timepoints else (), maxlen=rule.lag + 1)
    rows = []
    for value, step in zip(values, steps, strict=True):
        a, b, variance, trait_gain, state_gain, shift_gain, *_ = step
        state *= a
        shift *= b
        forecast = trait + state + shift
        innovation = value - forecast
        sd = sqrt(variance * ratio)
        raw = innovation / sd
        if rule.clip_by_certainty:
            clip = t_of_normal(rule.innovation_clip, df)
            variance_clip = clip if rule.variance_clip is None else t_of_normal(rule.variance_clip, df)
        standardised = max(min(raw, clip), -clip)
        clipped = standardised * sd
        raw_deviation = state + shift + (state_gain + shift_gain) * innovation
        trait += trait_gain * clipped
        state += state_gain * clipped
        shift += shift_gain * clipped
        timepoints += 1
        if timepoints >= first:
            bounded = max(min(raw, variance_clip), -variance_clip)
            square_sum += correction * ratio * bounded * bounded
            df += 1.0
            ratio = max(min(square_sum / df, highest), lowest)
        kept.append(LearnedVariance(ratio, df))
        null = kept[-1 - min(rule.lag, int(timepoints * rule.lag_share))]
        rows.append(MeanRow(trait, state, shift, ratio, raw_deviation, forecast + clipped, df, *null))
    return rows, MeanCarry(trait, state, shift, square_sum, timepoints, tuple(kept) or learned)
