"""Location and spread of a feature in a group, robust against single wrong measurements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.signs.norms import FeatureNorm

OUTLIER_Z = 3.5
"""Robust z beyond which a value is left out (Iglewicz and Hoaglin 1993, for the MAD)."""

FEWEST_FOR_OUTLIERS = 15
"""With fewer values the MAD is too rough to detect outliers."""

MAD_TO_SD = 1.4826
EDGES = {"low_at_or_below": -1.96, "reduced_at_or_below": -1.2816, "slightly_elevated_from": 1.2816, "high_from": 1.96}
PERCENTILES = {"p05": 0.05, "p50": 0.5, "p95": 0.95}

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClassSpread:
    """Values of one voice class, in the unit of the feature, without outliers; `left_out` counts the outliers."""

    values: Values
    transformed: Values
    left_out: int

    @property
    def mean(self) -> float:
        """Mean of the transformed values."""
        return float(self.transformed.mean())

    @property
    def sd(self) -> float:
        """SD of the transformed values."""
        return float(self.transformed.std(ddof=1))


def spread_of(norm: FeatureNorm, values: Sequence[float]) -> ClassSpread:
    """Compute the spread of at least two `values`, one per speaker."""
    everything = np.array(sorted(values), dtype=np.float64)
    transformed = np.array([norm.transform(value) for value in everything])
    middle = np.median(transformed)
    scale = MAD_TO_SD * np.median(np.abs(transformed - middle))
    detectable = scale > 0 and everything.size >= FEWEST_FOR_OUTLIERS
    kept = np.abs(transformed - middle) <= OUTLIER_Z * scale if detectable else np.ones(everything.size, dtype=bool)
    return ClassSpread(everything[kept], transformed[kept], int(np.count_nonzero(~kept)))


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
