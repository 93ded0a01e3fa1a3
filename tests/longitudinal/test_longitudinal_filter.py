"""The filter against dense linear algebra."""

import numpy as np
import pytest

from vbdesk.longitudinal.filter import run_filter
from vbdesk.longitudinal.gains import gain_steps
from vbdesk.longitudinal.parameters import PersonalScaleRule, shipped_parameters

PARAMETERS = shipped_parameters()


def with_open_scale(parameters):
    """Nothing is clipped, and the personal variance is held at the class's."""
    rule = PersonalScaleRule(prior_readings=12, innovation_clip=1e9, clip_correction=1.0229, range=(1.0, 1.0))
    return parameters.model_copy(update={"personal_scale": rule})


def test_the_recursion_equals_dense_gaussian_conditioning():
    """With no fading, no clipping and the personal scale held at 1, the filter is exact."""
    generator = np.random.default_rng(3)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    values = generator.normal(-1, 0.8, n)
    sign_class = PARAMETERS.classes["fast"].model_copy(update={"trait_half_life_days": 1e12})
    open_scale = with_open_scale(PARAMETERS)

    apart = np.abs(days[:, None] - days)
    state = sign_class.state_variance * np.exp(-apart / sign_class.state_days)
    shift = sign_class.shift_variance * np.exp(-apart / sign_class.shift_days)
    prior = sign_class.trait_variance * PARAMETERS.prior.trait_widening
    covariance = prior + state + shift + np.diag(sign_class.reading_variance * factors)
    weights = np.linalg.solve(covariance, values - sign_class.trait_mean)
    trait_variance = prior - prior**2 * np.linalg.solve(covariance, np.ones(n)).sum()

    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    filtered = run_filter(values[:, None], steps, sign_class, open_scale)
    assert filtered.trait[-1, 0] == pytest.approx(sign_class.trait_mean + prior * weights.sum(), abs=1e-9)
    assert filtered.state[-1, 0] == pytest.approx(state[-1] @ weights, abs=1e-9)
    assert filtered.shift[-1, 0] == pytest.approx(shift[-1] @ weights, abs=1e-9)
    assert steps[-1].trait_variance == pytest.approx(trait_variance, abs=1e-9)


@pytest.mark.parametrize("class_name", ["fast", "slow"])
def test_null_variances_are_exact_for_unchanged_subjects(class_name):
    """Exact, by linearity: the estimate is a linear map of the readings, whose null covariance is known."""
    generator = np.random.default_rng(4)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    sign_class = PARAMETERS.classes[class_name]
    open_scale = with_open_scale(PARAMETERS)
    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    unit = run_filter(
        np.eye(n), steps, sign_class.model_copy(update={"trait_mean": 0.0}), open_scale
    )  # column k: weight of reading k

    apart = np.abs(days[:, None] - days)
    wander = PARAMETERS.prior.natural_wander * sign_class.shift_variance
    null = (
        sign_class.trait_variance * PARAMETERS.prior.trait_widening
        + sign_class.state_variance * np.exp(-apart / sign_class.state_days)
        + wander * np.exp(-apart / sign_class.shift_days)
        + np.diag(sign_class.reading_variance * factors)
    )
    for k in (0, 1, 5, n - 1):
        deviation, shift = (unit.state + unit.shift)[k], unit.shift[k]
        assert steps[k].null_deviation_variance == pytest.approx(deviation @ null @ deviation, rel=1e-9)
        assert steps[k].null_shift_variance == pytest.approx(shift @ null @ shift, rel=1e-9)
