"""Location and spread of a feature in a group, robust against single wrong measurements.

A fluent reader without pauses is no wrong measurement: values on the floor of a feature stay in, as censored values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from vbdesk.signs.norms import FeatureNorm

LIMITS = (0.01, 0.99)
"""Percentiles that values are held to. A value beyond them counts as the limit, so that nobody is left out."""

MOST_STEPS = 200
CONVERGED = 1e-7  # change of mean and SD in SD

EDGES = {"low_at_or_below": -1.96, "reduced_at_or_below": -1.2816, "slightly_elevated_from": 1.2816, "high_from": 1.96}
PERCENTILES = {"p05": 0.05, "p50": 0.5, "p95": 0.95}

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClassSpread:
    """Values of one group of speakers, in ascending order.

    Attributes:
        values: in the unit of the feature, as measured.
        mean, sd: of the transformed values, held to `LIMITS`; values on a floor or ceiling count as censored.
        at_limit: number of values on the floor or ceiling of the feature.
    """

    values: Values
    mean: float
    sd: float
    at_limit: int


@dataclass(frozen=True, slots=True)
class Line:
    """Mean at 0 of the covariate, slope, and SD around the line."""

    mean: float
    slope: float
    sd: float


def spread_of(norm: FeatureNorm, values: Sequence[float]) -> ClassSpread:
    """Compute the spread of at least two `values`, one per speaker."""
    everything = np.array(sorted(values), dtype=np.float64)
    transformed = np.array([norm.transform(value) for value in everything])
    low = norm.transform(norm.floor) if norm.floor else -math.inf
    high = norm.transform(norm.ceiling) if norm.ceiling else math.inf
    held = np.clip(transformed, *np.quantile(transformed, LIMITS))
    mean, sd = censored_normal(held, low, high)
    return ClassSpread(everything, mean, sd, int(np.sum((transformed <= low) | (transformed >= high))))


def censored_normal(values: Values, low: float, high: float) -> tuple[float, float]:
    """Mean and SD of a normal variable of which values at or beyond `low` and `high` are only known to be there.

    Maximum likelihood by expectation and maximisation (Wolynetz 1979, Algorithm AS 138); the SD with n - 1.
    """
    below, above = values <= low, values >= high
    inside = values[~(below | above)]
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    if inside.size == values.size or inside.size < 2:
        return mean, sd
    for _ in range(MOST_STEPS):
        expected, variance = values.copy(), np.zeros(values.size)
        for side, limit, sign in ((below, low, -1.0), (above, high, 1.0)):
            if side.any():
                distance = sign * (limit - mean) / sd
                hazard = math.exp(-(distance**2) / 2 - log_ndtr(-distance)) / math.sqrt(2 * math.pi)
                expected[side] = mean + sign * sd * hazard
                variance[side] = sd**2 * (1 + distance * hazard - hazard**2)
        before, mean = (mean, sd), float(expected.mean())
        sd = math.sqrt(float(np.sum((expected - mean) ** 2 + variance)) / (values.size - 1))
        if max(abs(mean - before[0]), abs(sd - before[1])) < CONVERGED * sd:
            break
    return mean, sd


def line_through(covariate: Values, transformed: Values, weights: Values) -> Line:
    """Least-squares line, weighted, fitted twice: the second time with residuals held to `LIMITS`."""
    design = np.stack([np.ones_like(covariate), covariate], axis=1)
    root = np.sqrt(weights / weights.sum())
    held = transformed
    for _ in range(2):
        mean, slope = np.linalg.lstsq(design * root[:, None], held * root, rcond=None)[0].tolist()
        line = design @ (mean, slope)
        held = line + np.clip(transformed - line, *np.quantile(transformed - line, LIMITS))
    residual = held - line
    free = 1 - 2 / residual.size  # of the line
    return Line(mean, slope, float(np.sqrt(np.average(residual**2, weights=weights) / free)))


def class_entry(norm: FeatureNorm, spread: ClassSpread) -> dict[str, float | int]:
    """One class of a feature, in the form of the norms file."""
    percentiles = {name: float(np.quantile(spread.values, share)) for name, share in PERCENTILES.items()}
    mean, sd = float(spread.values.mean()), float(spread.values.std(ddof=1))
    return _entry(norm, spread.values.size, (mean, sd), (spread.mean, spread.sd), percentiles)


def mixed_entry(norm: FeatureNorm, male: ClassSpread, female: ClassSpread) -> dict[str, float | int]:
    """Both classes together, each weighted as half of the group."""
    values = np.concatenate([male.values, female.values])
    weights = np.concatenate([np.full(part.values.size, 1 / part.values.size) for part in (male, female)])
    percentiles = {
        name: float(np.quantile(values, share, weights=weights, method="inverted_cdf"))
        for name, share in PERCENTILES.items()
    }
    raw = _mixture(*((float(part.values.mean()), float(part.values.std(ddof=1))) for part in (male, female)))
    transformed = _mixture((male.mean, male.sd), (female.mean, female.sd))
    return _entry(norm, values.size, raw, transformed, percentiles)


def significant(value: float, digits: int) -> float:
    """Round `value` to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


def _mixture(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    (mean_1, sd_1), (mean_2, sd_2) = one, other
    variance = (sd_1**2 + sd_2**2) / 2 + ((mean_1 - mean_2) / 2) ** 2
    return (mean_1 + mean_2) / 2, math.sqrt(variance)


def _entry(
    norm: FeatureNorm,
    n: int,
    raw: tuple[float, float],
    transformed: tuple[float, float],
    percentiles: dict[str, float],
) -> dict[str, float | int]:
    t_mean, t_sd = transformed
    edges = {name: t_mean + z * t_sd for name, z in EDGES.items()}
    back = {name: math.exp(edge) if norm.scale == "log" else edge for name, edge in edges.items()}
    four_digits = {"mean": raw[0], "sd": raw[1], **percentiles, **back}
    rounded = {name: significant(value, 4) for name, value in four_digits.items()}
    head = {"n": n, "mean": rounded.pop("mean"), "sd": rounded.pop("sd")}
    return {**head, "t_mean": significant(t_mean, 5), "t_sd": significant(t_sd, 5), **rounded}
