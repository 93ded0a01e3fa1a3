"""Run every scenario on every schedule from one seed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vbdesk.lab.simulation.longitudinal.filtered_subjects import FilteredSubjects, filter_rolling, filter_subjects
from vbdesk.lab.simulation.longitudinal.performance import (
    Figures,
    absorption_figures,
    change_figures,
    false_alarms,
    rolling_figures,
    single_day_figures,
    stable_figures,
)
from vbdesk.lab.simulation.longitudinal.simulated_subjects import (
    DAYS,
    SCHEDULES,
    Scenario,
    Schedule,
    SimulatedSubjects,
    simulate_subjects,
)
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters

WEEKLY_SUBJECTS = 2200
"""Stable subjects on the weekly schedule as published; the other counts are shares of it."""

SHARE_OF_WEEKLY = {"daily": 0.364, "weekly": 1.0, "monthly": 2.273}
SHARE_OF_STABLE = 1.0 / 3.0
SHARE_ROLLING = 0.136
ROLLING_DAYS = 2.0 * DAYS
ROLLING = "rolling"

SCENARIOS: Mapping[str, Scenario] = {
    "stable": Scenario(),
    "step_half": Scenario(step=0.5),
    "step_1": Scenario(step=1.0),
    "step_2": Scenario(step=2.0),
    "drift_2": Scenario(drift=2.0),
    "outlier_5": Scenario(outlier=5.0),
    "excursion_4": Scenario(excursion=4.0),
    "memory_x3": Scenario(memory_factor=3.0),
    "state_x2": Scenario(state_factor=2.0),
    "noise_x2": Scenario(noise_factor=2.0),
    "noise_half": Scenario(noise_factor=0.5),
    "light_tails": Scenario(heavy_tails=False),
    "white_state": Scenario(white_state=True),
    "mixed_variability": Scenario(own_variability=0.5),
    "poor_recordings": Scenario(poor_share=0.3),
    "wander": Scenario(wander=1.0),
    "season_year": Scenario(season=0.5),
    "season_week": Scenario(season=0.5, season_days=7.0),
    "other_population": Scenario(norm_offset=1.5),
    "near_zero": Scenario(norm=-3.5),
}
WEEKLY_ONLY = tuple(SCENARIOS)[11:]


@dataclass(frozen=True, slots=True)
class Setting:
    """Class of signs, schedule and scenario; its `repr` seeds the draw."""

    sign_class: str
    schedule: Schedule
    scenario: str


@dataclass(frozen=True)
class Simulation:
    """All runs of one seed.

    Attributes:
        seed: every setting draws from its own stream of this seed, independent of the others.
        subjects: stable subjects on the weekly schedule; other settings have a share of it.
        parameters: the method's parameters.
    """

    seed: int
    subjects: int = WEEKLY_SUBJECTS
    parameters: Parameters = field(default_factory=lambda: shipped_parameters("tss-1"))

    def run(self, setting: Setting) -> Figures:
        """The figures of one setting."""
        if setting.scenario == ROLLING:
            return self._rolling(setting)
        count = round(self.subjects * SHARE_OF_WEEKLY[setting.schedule])
        if setting.scenario != "stable":
            count = round(count * SHARE_OF_STABLE)
        drawn = self._draw(setting, SCENARIOS[setting.scenario], count)
        results = filter_subjects(drawn, self.parameters.classes[setting.sign_class], self.parameters)
        return self._measure(setting.scenario)(drawn, results)

    def _rolling(self, setting: Setting) -> Figures:
        sign_class = self.parameters.classes[setting.sign_class]
        count = round(self.subjects * SHARE_ROLLING)
        stable = self._draw(setting, Scenario(), count, ROLLING_DAYS)
        stepped = self._draw(setting, Scenario(step=1.0), count, ROLLING_DAYS)
        return {
            **rolling_figures(stable, filter_rolling(stable, sign_class, self.parameters), ROLLING_DAYS),
            **absorption_figures(
                stepped, filter_rolling(stepped, sign_class, self.parameters), self.parameters.scale.offset
            ),
        }

    def _measure(self, scenario: str) -> Callable[[SimulatedSubjects, FilteredSubjects], Figures]:
        if scenario == "stable":
            return lambda drawn, results: stable_figures(drawn, results, self.parameters.scale.offset)
        if scenario.startswith(("step", "drift")):
            return change_figures
        return single_day_figures if scenario in ("outlier_5", "excursion_4") else false_alarms

    def _draw(self, setting: Setting, scenario: Scenario, count: int, last_day: float = DAYS) -> SimulatedSubjects:
        generator = np.random.default_rng([self.seed, *f"{setting}".encode()])
        sign_class = self.parameters.classes[setting.sign_class]
        return simulate_subjects(
            generator, sign_class, self.parameters.quality, setting.schedule, max(count, 1), scenario, last_day
        )


def all_settings(classes: Sequence[str]) -> Iterator[Setting]:
    """Every setting of the tables."""
    for sign_class in classes:
        for scenario in SCENARIOS:
            for schedule in ("weekly",) if scenario in WEEKLY_ONLY else SCHEDULES:
                yield Setting(sign_class, schedule, scenario)
        yield Setting(sign_class, "weekly", ROLLING)
