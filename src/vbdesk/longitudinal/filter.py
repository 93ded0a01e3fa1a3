"""Means of the trait-shift-state filter [F6], given the gains."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from vbdesk.longitudinal.gains import GainStep
from vbdesk.longitudinal.parameters import PersonalScaleRule
from vbdesk.longitudinal.scale import Array


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
    """

    trait: Array
    state: Array
    shift: Array
    variance_ratio: Array
    raw_deviation: Array
    winsorised: Array

    @property
    def level(self) -> Array:
        """The current level: trait + state + shift."""
        return self.trait + self.state + self.shift


class MeanCarry(NamedTuple):
    """The filter's state between timepoints of one sign: means and own variance."""

    trait: float
    state: float
    shift: float
    variance_ratio: float
    readings: float
    square_sum: float


class MeanRow(NamedTuple):
    """One timepoint of one sign; see `FilterOutput`."""

    trait: float
    state: float
    shift: float
    variance_ratio: float
    raw_deviation: float
    winsorised: float


def prior_means(trait_mean: float, rule: PersonalScaleRule) -> MeanCarry:
    """State of a subject without recordings."""
    return MeanCarry(trait_mean, 0.0, 0.0, 1.0, rule.prior_readings, rule.prior_readings)


def run_filter(values: Array, steps: Sequence[GainStep], trait_mean: float, rule: PersonalScaleRule) -> FilterOutput:
    """Run the filter over `values`, shape (n, b), with one gain step per timepoint.

    Innovations are clipped (Huber), which bounds the influence of one recording. They also update the subject's own
    variance: an inverse-gamma estimate whose prior counts as `rule.prior_readings` readings.
    """
    start = prior_means(trait_mean, rule)
    columns = [tuple(zip(*mean_rows(column, steps, start, rule)[0], strict=True)) for column in values.T.tolist()]
    return FilterOutput(*np.array(columns).transpose(1, 2, 0))


def mean_rows(
    values: Sequence[float], steps: Sequence[GainStep], carry: MeanCarry, rule: PersonalScaleRule
) -> tuple[list[MeanRow], MeanCarry]:
    """Filter one sign's values from `carry`; returns rows and the new carry."""
    clip, correction = rule.innovation_clip, rule.clip_correction
    lowest, highest = rule.range
    trait, state, shift, ratio, readings, square_sum = carry
    rows = []
    for value, step in zip(values, steps, strict=True):
        a, b, variance, trait_gain, state_gain, shift_gain, *_ = step
        state *= a
        shift *= b
        forecast = trait + state + shift
        innovation = value - forecast
        sd = sqrt(variance * ratio)
        standardised = max(min(innovation / sd, clip), -clip)
        clipped = standardised * sd
        raw_deviation = state + shift + (state_gain + shift_gain) * innovation
        trait += trait_gain * clipped
        state += state_gain * clipped
        shift += shift_gain * clipped
        square_sum += correction * ratio * standardised * standardised
        readings += 1.0
        ratio = max(min(square_sum / readings, highest), lowest)
        rows.append(MeanRow(trait, state, shift, ratio, raw_deviation, forecast + clipped))
    return rows, MeanCarry(trait, state, shift, ratio, readings, square_sum)
