"""Distribution of a person's own variance over people, fitted to sample variances.

One person's variance in one sign is inverse-gamma over people and signs of a class. Its median and spread are those of
the largest marginal likelihood, in which a sample variance has a scaled F distribution [F16].
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import lgamma
from typing import NamedTuple

import numpy as np

NOBODY = "Nobody has two usable recordings; add recordings of other sessions."
SCALES = np.geomspace(0.003, 3.0, 140)
WEIGHTS = np.geomspace(0.5, 64.0, 80)


class VarianceEstimate(NamedTuple):
    """Sample variance of one person's readings of one sign, started logit, and its degrees of freedom."""

    variance: float
    df: float


@dataclass(frozen=True, slots=True)
class VariancePrior:
    """Distribution of the personal variance over people and signs: inverse-gamma.

    Attributes:
        median: half of the people vary less.
        weight: what the distribution says about a person, in readings; large where people are alike.
        estimates: number of persons times signs.
    """

    median: float
    weight: float
    estimates: int


def fit_variance_prior(estimates: Iterable[VarianceEstimate]) -> VariancePrior:
    """Median and weight of the largest marginal likelihood.

    Raises:
        ValueError: there are no estimates.
    """
    known = [estimate for estimate in estimates if estimate.df > 0.0 and estimate.variance > 0.0]
    if not known:
        raise ValueError(NOBODY)
    variance, df = np.array(known).T
    best, scale, weight = -np.inf, 1.0, 1.0
    for candidate in WEIGHTS.tolist():
        sums = df * variance + candidate * SCALES[:, None]
        likelihood = candidate / 2 * np.log(candidate * SCALES) * len(known) - (
            (candidate + df) / 2 * np.log(sums)
        ).sum(axis=1)
        likelihood += sum(lgamma((candidate + one) / 2) for one in df.tolist()) - len(known) * lgamma(candidate / 2)
        top = int(np.argmax(likelihood))
        if likelihood[top] > best:
            best, scale, weight = float(likelihood[top]), float(SCALES[top]), candidate
    return VariancePrior(scale * weight / _chi_square_median(weight), weight, len(known))


def _chi_square_median(df: float) -> float:
    """Median of a chi-square distribution (Wilson and Hilferty; within 1 % from 1 degree of freedom on)."""
    return float(df * (1.0 - 2.0 / (9.0 * df)) ** 3)
