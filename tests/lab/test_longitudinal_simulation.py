"""The published bars of the method, on a smaller simulation."""

import numpy as np
import pytest

from vbdesk.lab.simulation.longitudinal.report import Bar, bar_results, published_results
from vbdesk.lab.simulation.longitudinal.run import ROLLING, Setting, Simulation, all_settings
from vbdesk.lab.simulation.longitudinal.simulated_subjects import Scenario, recording_days, simulate_subjects
from vbdesk.longitudinal.parameters import shipped_parameters

PARAMETERS = shipped_parameters("tss-1")
SIMULATION = Simulation(seed=7, subjects=600)


def settings_with_bars() -> list[Setting]:
    of_bars = {
        (sign_class, schedule, bar.scenario)
        for bar in published_results().bars
        for sign_class in bar.classes
        for schedule in bar.schedules
    }
    return [s for s in all_settings(["fast", "slow"]) if (s.sign_class, s.schedule, s.scenario) in of_bars]


@pytest.mark.parametrize("setting", settings_with_bars(), ids=lambda s: f"{s.sign_class}-{s.schedule}-{s.scenario}")
def test_the_bars_hold(setting):
    rows = list(bar_results({setting: SIMULATION.run(setting)}))
    assert rows
    assert [(row.bar.figure, row.measured) for row in rows if not row.holds] == []


def test_every_bar_has_its_settings():
    known = {(s.sign_class, s.schedule, s.scenario) for s in all_settings(["fast", "slow"])}
    for bar in published_results().bars:
        assert {(c, s, bar.scenario) for c in bar.classes for s in bar.schedules} <= known


def test_a_setting_gives_the_same_result_in_any_order_of_runs():
    small = Simulation(seed=3, subjects=40)
    setting = Setting("fast", "weekly", "step_2")
    first = small.run(setting)
    small.run(Setting("fast", "weekly", "stable"))
    assert small.run(setting) == first
    assert Simulation(seed=4, subjects=40).run(setting) != first
    assert (
        small.run(Setting("slow", "weekly", ROLLING)).keys()
        == published_results().published["slow"]["weekly"]["rolling"].keys()
    )


def test_a_bar_is_missed_below_and_above_its_bounds_and_by_nan():
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
