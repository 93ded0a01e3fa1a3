"""Trend of a sign: generalised-least-squares slope of recent readings [F12]."""

from dataclasses import dataclass
from math import exp, sqrt
from typing import Literal

import numpy as np

from vbdesk.longitudinal.filter import FilterOutput
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.student_t import central_t_quantile, normal_equivalent, normal_quantile
from vbdesk.longitudinal.timepoints import Timepoints

Direction = Literal["rising", "falling", "stable", "insufficient_data"]
SLOPE_DAYS = 30.0  # unit of a slope: score per 30 days


@dataclass(frozen=True, slots=True)
class SlopeEstimate:
    """Slope in score per 30 days, with interval; None without enough data."""

    direction: Direction
    slope_per_30d: float | None
    low: float | None
    high: float | None


NO_SLOPE = SlopeEstimate("insufficient_data", None, None, None)


def slopes(
    timepoints: Timepoints, filtered: FilterOutput, sign_class: SignClass, parameters: Parameters
) -> list[SlopeEstimate]:
    """Slopes by sign, from the winsorised readings of the horizon."""
    rule, days = parameters.trend, timepoints.days
    n, b = timepoints.values.shape
    start = max(0, min(int(np.searchsorted(days, days[-1] - sign_class.trend_days)), n - rule.min_timepoints))
    if n - start < rule.min_timepoints or days[-1] - days[start] < sign_class.trend_min_days:
        return [NO_SLOPE] * b

    ago = (days[start:] - days[-1])[:, None]
    columns = np.concatenate([np.ones_like(ago), ago, filtered.winsorised[start:]], axis=1)
    white = _whiten(columns, days[start:], timepoints.variance_factors[start:], sign_class)
    design, readings = white[:, :2], white[:, 2:]
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ (design.T @ readings)
    residual_sum = np.sum((readings - design @ coefficients) ** 2, axis=0)

    prior = parameters.personal_scale.prior_readings
    df = prior + (n - start) - 2.0
    residual_variance = (prior * filtered.variance_ratio[-1] + residual_sum) / df
    slope = coefficients[1]
    se = np.sqrt(residual_variance * inverse[1, 1])
    half = float(central_t_quantile(parameters.interval.level, df)) * se
    level = filtered.level[-1]
    change = score_of(level, parameters.scale.offset) - score_of(
        level - SLOPE_DAYS * np.stack([slope, slope - half, slope + half]), parameters.scale.offset
    )
    significant = np.abs(normal_equivalent(slope / se, df)) >= normal_quantile(rule.level)
    moving = significant & (np.abs(change[0]) >= rule.min_slope_per_30d)
    return [SlopeEstimate(_direction(moving[k], slope[k]), *(float(value) for value in change[:, k])) for k in range(b)]


def _direction(moving: np.bool_, slope: float) -> Direction:
    if not moving:
        return "stable"
    return "rising" if slope > 0.0 else "falling"


def _whiten(columns: Array, days: Array, factors: Array, sign_class: SignClass) -> Array:
    """Whiten rows of `columns`, shape (n, m), against state and reading noise."""
    variance = sign_class.state_variance
    state = variance
    weights = []
    for gap, factor in zip(np.diff(days, prepend=days[0]).tolist(), factors.tolist(), strict=True):
        decay = exp(-gap / sign_class.state_days)
        state = decay * decay * state + variance * (1.0 - decay * decay)
        total = state + sign_class.reading_variance * factor
        gain = state / total
        weights.append((decay, gain, sqrt(total)))
        state -= state * gain
    white = []
    for column in columns.T.tolist():
        forecast, row = 0.0, []
        for value, (decay, gain, sd) in zip(column, weights, strict=True):
            forecast *= decay
            innovation = value - forecast
            row.append(innovation / sd)
            forecast += gain * innovation
        white.append(row)
    return np.array(white).T
