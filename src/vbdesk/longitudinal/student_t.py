"""Student's t distribution in closed form: normal equivalents and quantiles."""

from functools import lru_cache
from math import expm1, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from vbdesk.longitudinal.scale import Array


def normal_equivalent(t: ArrayLike, df: ArrayLike) -> Array:
    """Normal deviate as unlikely as `t` with `df` (Wallace 1959) [F7]."""
    value, nu = np.asarray(t, dtype=np.float64), np.asarray(df, dtype=np.float64)
    size = np.sqrt(nu * np.log1p(value * value / nu)) * (8.0 * nu + 1.0) / (8.0 * nu + 3.0)
    return np.asarray(np.sign(value) * size)


@lru_cache(maxsize=1024)
def t_of_normal(z: float, df: float) -> float:
    """t with `df` as unlikely as the normal deviate `z`: the inverse of `normal_equivalent`."""
    size = z * (8.0 * df + 3.0) / (8.0 * df + 1.0)
    return sqrt(df * expm1(size * size / df))


def central_t_quantile(level: float, df: ArrayLike) -> Array:
    """q with `P(|T| <= q) = level` (Cornish-Fisher; for `df` of at least 5) [F8]."""
    nu = np.asarray(df, dtype=np.float64)
    z = normal_quantile(level)
    return np.asarray(z * (1.0 + (z**2 + 1.0) / (4.0 * nu) + (5.0 * z**4 + 16.0 * z**2 + 3.0) / (96.0 * nu**2)))


def normal_quantile(level: float) -> float:
    """q with `P(|Z| <= q) = level` for a standard normal Z."""
    return NormalDist().inv_cdf(0.5 + level / 2.0)
