"""The method's promises, on simulated subjects and in exact arithmetic."""

import numpy as np
import pytest

from vbdesk.longitudinal.filter import estimate
from vbdesk.longitudinal.gains import gain_steps
from vbdesk.longitudinal.parameters import PersonalScaleRule, shipped_parameters
from vbdesk.longitudinal.simulation.report import Bar, bar_rows, reference
from vbdesk.longitudinal.simulation.run import ROLLING, Setting, Simulation, all_settings
from vbdesk.longitudinal.simulation.truth import Scenario, recording_days, simulate_subjects

PARAMETERS = shipped_parameters()
CLASSES = pytest.mark.parametrize("class_name", ["fast", "slow"])
SIMULATION = Simulation(seed=7, subjects=600)


def settings_with_bars() -> list[Setting]:
    of_bars = {
        (sign_class, schedule, bar.scenario)
        for bar in reference().bars
        for sign_class in bar.classes
        for schedule in bar.schedules
    }
    return [s for s in all_settings(["fast", "slow"]) if (s.sign_class, s.schedule, s.scenario) in of_bars]


@pytest.mark.parametrize("setting", settings_with_bars(), ids=lambda s: f"{s.sign_class}-{s.schedule}-{s.scenario}")
def test_the_bars_hold(setting):
    rows = list(bar_rows({setting: SIMULATION.run(setting)}))
    assert rows
    assert [(row.bar.figure, row.measured) for row in rows if not row.holds] == []


def test_every_bar_has_its_settings():
    known = {(s.sign_class, s.schedule, s.scenario) for s in all_settings(["fast", "slow"])}
    for bar in reference().bars:
        assert {(c, s, bar.scenario) for c in bar.classes for s in bar.schedules} <= known


def test_one_seed_gives_one_result_whatever_else_is_run():
    small = Simulation(seed=3, subjects=40)
    setting = Setting("fast", "weekly", "step_2")
    first = small.run(setting)
    small.run(Setting("fast", "weekly", "stable"))
    assert small.run(setting) == first
    assert Simulation(seed=4, subjects=40).run(setting) != first
    assert (
        small.run(Setting("slow", "weekly", ROLLING)).keys()
        == reference().published["slow"]["weekly"]["rolling"].keys()
    )


def test_a_bar_is_missed_below_and_above_and_where_nothing_can_be_told():
    bar = Bar(figure="sd_z", scenario="stable", at_least=0.8, at_most=1.05)
    assert [bar.holds(value) for value in (0.79, 0.8, 1.05, 1.06, float("nan"))] == [False, True, True, False, False]


@pytest.mark.parametrize(("schedule", "gap"), [("daily", 1.25), ("weekly", 7.0), ("monthly", 30.0)])
def test_simulated_subjects_record_on_their_schedule(schedule, gap):
    days = recording_days(np.random.default_rng(1), schedule, 50, 270.0)
    assert (np.diff(days, axis=1) > 0).all()
    assert np.diff(days, axis=1).mean() == pytest.approx(gap, rel=0.05)


def test_simulated_changes_begin_on_their_day():
    def level(**change):
        generator = np.random.default_rng(2)
        sign_class = PARAMETERS.classes["fast"]
        return simulate_subjects(generator, sign_class, PARAMETERS.quality, "weekly", 20, Scenario(**change))

    same, step, outlier = level(), level(step=1.0), level(outlier=5.0)
    before = same.days < 150
    assert (step.level[before] == same.level[before]).all()
    assert (step.level[~before] > same.level[~before]).all()
    assert (outlier.level == same.level).all()
    assert (outlier.readings != same.readings).sum(axis=1).tolist() == [1] * 20


def test_the_recursion_is_dense_gaussian_conditioning():
    """With no fading, no clipping and the personal scale held at 1, the filter is exact."""
    generator = np.random.default_rng(3)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    values = generator.normal(-1, 0.8, n)
    sign_class = PARAMETERS.classes["fast"].model_copy(update={"trait_half_life_days": 1e12})
    open_scale = PersonalScaleRule(prior_readings=12, innovation_clip=1e9, clip_correction=1.0229, range=(1.0, 1.0))

    apart = np.abs(days[:, None] - days)
    state = sign_class.state_variance * np.exp(-apart / sign_class.state_days)
    shift = sign_class.shift_variance * np.exp(-apart / sign_class.shift_days)
    prior = sign_class.trait_variance * PARAMETERS.prior.trait_widening
    covariance = prior + state + shift + np.diag(sign_class.reading_variance * factors)
    weights = np.linalg.solve(covariance, values - sign_class.trait_mean)
    trait_variance = prior - prior**2 * np.linalg.solve(covariance, np.ones(n)).sum()

    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    estimates = estimate(values[:, None], steps, sign_class.trait_mean, open_scale)
    assert estimates.trait[-1, 0] == pytest.approx(sign_class.trait_mean + prior * weights.sum(), abs=1e-9)
    assert estimates.state[-1, 0] == pytest.approx(state[-1] @ weights, abs=1e-9)
    assert estimates.shift[-1, 0] == pytest.approx(shift[-1] @ weights, abs=1e-9)
    assert steps[-1].trait_variance == pytest.approx(trait_variance, abs=1e-9)


@CLASSES
def test_null_variances_are_what_unchanged_subjects_scatter_by(class_name):
    """Exact, by linearity: the estimate is a linear map of the readings, whose null covariance is known."""
    generator = np.random.default_rng(4)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    sign_class = PARAMETERS.classes[class_name]
    open_scale = PersonalScaleRule(prior_readings=12, innovation_clip=1e9, clip_correction=1.0229, range=(1.0, 1.0))
    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    unit = estimate(np.eye(n), steps, 0.0, open_scale)  # column k: weight of reading k

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
