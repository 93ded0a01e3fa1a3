"""Gains of the trait-shift-state filter [F5]; signs of a class share them.

A subject's level is trait + state + shift. The state is ordinary variation that decays within days; the shift is a slow
departure from the norm. Both are Ornstein-Uhlenbeck processes.

The filter has its own error covariance. A second covariance is propagated with the *same* gains for a stable subject,
whose shift is only a small natural wander. Its variances are the null distribution of deviation and shift: z is
measured in their standard deviations.

Scalars, not matrices: with three components and a few hundred steps, numpy's call overhead would be the whole cost.
"""

from collections.abc import Iterable
from math import exp
from typing import NamedTuple

from vbdesk.longitudinal.parameters import PriorRule, SignClass

Vector = tuple[float, float, float]  # trait, state, shift
Symmetric = tuple[float, float, float, float, float, float]  # tt, ts, th, ss, sh, hh (h = shift)


class GainStep(NamedTuple):
    """Gains and variances at one timepoint, for a personal variance factor of 1.

    Attributes:
        state_decay: share of the state left since the previous timepoint.
        shift_decay: the same for the shift.
        innovation_variance: variance of reading minus forecast.
        trait_gain: share of the innovation that goes to the trait; the next two to state and shift.
        state_gain: see `trait_gain`.
        shift_gain: see `trait_gain`.
        null_deviation_variance: variance of the estimated state + shift when nothing has changed.
        null_shift_variance: variance of the estimated shift when nothing has changed.
        level_variance: error variance of trait + state + shift.
        trait_variance: error variance of the trait.
    """

    state_decay: float
    shift_decay: float
    innovation_variance: float
    trait_gain: float
    state_gain: float
    shift_gain: float
    null_deviation_variance: float
    null_shift_variance: float
    level_variance: float
    trait_variance: float


class GainCarry(NamedTuple):
    """The filter's state between timepoints: day and covariances of the last one."""

    day: float
    error: Symmetric
    null_error: Symmetric
    state_cross: Vector  # E[state * null error]
    shift_cross: Vector  # E[shift * null error]


def gain_steps(
    days: Iterable[float],
    variance_factors: Iterable[float],
    sign_class: SignClass,
    prior: PriorRule,
    carry: GainCarry | None = None,
) -> tuple[list[GainStep], GainCarry | None]:
    """Compute gains and variances for timepoints at `days` (ascending).

    Starts from the prior, or from the `carry` of earlier timepoints. Returns the steps and the new carry.
    """
    trait_cap = sign_class.trait_variance * prior.trait_widening
    state, shift = sign_class.state_variance, sign_class.shift_variance
    wander = prior.natural_wander * shift
    state_days, shift_days = sign_class.state_days, sign_class.shift_days
    half_life, reading_variance = sign_class.trait_half_life_days, sign_class.reading_variance

    before: float | None = None
    error: Symmetric = (trait_cap, 0.0, 0.0, state, 0.0, shift)
    null_error: Symmetric = (trait_cap, 0.0, 0.0, state, 0.0, wander)
    state_cross: Vector = (0.0, state, 0.0)
    shift_cross: Vector = (0.0, 0.0, wander)
    if carry is not None:
        before, error, null_error, state_cross, shift_cross = carry
    steps: list[GainStep] = []
    for day, factor in zip(days, variance_factors, strict=True):
        a = b = 1.0
        if before is not None:
            gap = day - before
            a, b = exp(-gap / state_days), exp(-gap / shift_days)
            error = _age_trait(_decay(error, a, b, state, shift), 2.0 ** (gap / half_life), trait_cap)
            null_error = _decay(null_error, a, b, state, wander)
            state_cross = (a * state_cross[0], a * a * state_cross[1] + state * (1.0 - a * a), a * b * state_cross[2])
            shift_cross = (b * shift_cross[0], a * b * shift_cross[1], b * b * shift_cross[2] + wander * (1.0 - b * b))
        before = day
        noise = reading_variance * factor
        innovation_variance, gain = _optimal_gain(error, noise)
        error = _update(error, gain, noise)
        null_error = _update(null_error, gain, noise)
        state_cross = _update_cross(state_cross, gain)
        shift_cross = _update_cross(shift_cross, gain)
        steps.append(
            GainStep(
                a,
                b,
                innovation_variance,
                *gain,
                _null_deviation_variance(state + wander, state_cross, shift_cross, null_error),
                wander - 2.0 * shift_cross[2] + null_error[5],
                _sum(error),
                error[0],
            )
        )
    after = None if before is None else GainCarry(before, error, null_error, state_cross, shift_cross)
    return steps, after


def _decay(c: Symmetric, a: float, b: float, state: float, shift: float) -> Symmetric:
    """Covariance after a gap: state and shift decay to the shares a and b."""
    tt, ts, th, ss, sh, hh = c
    aa, bb = a * a, b * b
    return tt, a * ts, b * th, aa * ss + state * (1.0 - aa), a * b * sh, bb * hh + shift * (1.0 - bb)


def _age_trait(c: Symmetric, growth: float, cap: float) -> Symmetric:
    """Let the trait's variance grow with age, at most to the prior."""
    return (max(c[0], min(c[0] * growth, cap)), *c[1:])


def _optimal_gain(c: Symmetric, noise: float) -> tuple[float, Vector]:
    tt, ts, th, ss, sh, hh = c
    trait, state, shift = tt + ts + th, ts + ss + sh, th + sh + hh
    total = trait + state + shift + noise
    return total, (trait / total, state / total, shift / total)


def _update(c: Symmetric, gain: Vector, noise: float) -> Symmetric:
    """`(I - K h') C (I - K h')' + K noise K'`, h = (1, 1, 1) (Joseph form)."""
    tt, ts, th, ss, sh, hh = c
    kt, ks, kh = gain
    t, s, h = tt + ts + th, ts + ss + sh, th + sh + hh
    v = t + s + h + noise
    return (
        tt - kt * (2.0 * t - kt * v),
        ts - kt * s - ks * t + kt * ks * v,
        th - kt * h - kh * t + kt * kh * v,
        ss - ks * (2.0 * s - ks * v),
        sh - ks * h - kh * s + ks * kh * v,
        hh - kh * (2.0 * h - kh * v),
    )


def _update_cross(cross: Vector, gain: Vector) -> Vector:
    total = cross[0] + cross[1] + cross[2]
    return cross[0] - total * gain[0], cross[1] - total * gain[1], cross[2] - total * gain[2]


def _null_deviation_variance(true: float, state: Vector, shift: Vector, error: Symmetric) -> float:
    """Variance of estimated = true - error, for state + shift together."""
    return true - 2.0 * (state[1] + state[2] + shift[1] + shift[2]) + error[3] + 2.0 * error[4] + error[5]


def _sum(c: Symmetric) -> float:
    return c[0] + c[3] + c[5] + 2.0 * (c[1] + c[2] + c[4])
