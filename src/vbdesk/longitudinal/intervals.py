"""Intervals of current level and baseline, and the normal range [F8]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbdesk.longitudinal.filter import FilterOutput
from vbdesk.longitudinal.gains import GainStep
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.student_t import central_t_quantile


@dataclass(frozen=True, slots=True)
class Intervals:
    """Lower and upper scores, shape (2, n, b): n timepoints, b signs.

    Attributes:
        latest: interval of the current level.
        baseline: interval of the personal norm.
        normal_range: prediction interval of a reference recording of an unchanged subject.
    """

    latest: Array
    baseline: Array
    normal_range: Array


def score_intervals(
    filtered: FilterOutput, steps: Sequence[GainStep], sign_class: SignClass, parameters: Parameters
) -> Intervals:
    """Compute intervals after every timepoint, at the level of `parameters.interval`."""
    trait_variance = np.array([step.trait_variance for step in steps])[:, None]
    level_variance = np.array([step.level_variance for step in steps])[:, None]
    within = sign_class.state_variance + sign_class.shift_variance + sign_class.reading_variance
    factor = central_t_quantile(parameters.interval.level, filtered.df) * np.sqrt(filtered.variance_ratio)

    def around(centre: Array, variance: Array) -> Array:
        half = factor * np.sqrt(variance)
        return score_of(np.stack([centre - half, centre + half]), parameters.scale.offset)

    return Intervals(
        latest=around(filtered.level, level_variance),
        baseline=around(filtered.trait, trait_variance),
        normal_range=around(filtered.trait, trait_variance + within),
    )
