"""Tables of simulated and published figures, and acceptance bars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan

from pydantic import BaseModel, ConfigDict, model_validator

from vbdesk.data_files import read_toml
from vbdesk.lab.simulation.longitudinal.performance import Figures
from vbdesk.lab.simulation.longitudinal.run import ROLLING, SCENARIOS, Setting
from vbdesk.lab.simulation.longitudinal.simulated_subjects import SCHEDULES, Schedule
from vbdesk.resource_files import resource

Results = Mapping[Setting, Figures]


class Bar(BaseModel):
    """Acceptance bar: bounds of a figure in one scenario."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    figure: str
    scenario: str
    classes: tuple[str, ...] = ("fast", "slow")
    schedules: tuple[Schedule, ...] = SCHEDULES
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _check(self) -> "Bar":
        if self.scenario not in {*SCENARIOS, ROLLING}:
            raise ValueError(f"there is no scenario {self.scenario}")
        if self.at_least is None and self.at_most is None:
            raise ValueError("a bar needs at_least or at_most")
        return self

    def holds(self, value: float) -> bool:
        """Whether a figure is within bounds; NaN never is."""
        low = self.at_least is None or value >= self.at_least
        return low and (self.at_most is None or value <= self.at_most) and not isnan(value)

    @property
    def text(self) -> str:
        """The bounds as text."""
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:g} to {self.at_most:g}"
        return f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"


class PublishedResults(BaseModel):
    """Published figures by class, schedule and scenario, and the acceptance bars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    published: dict[str, dict[Schedule, dict[str, dict[str, float]]]]
    bars: list[Bar]

    def figure(self, setting: Setting, name: str) -> float | None:
        """A published figure; None where none was published."""
        scenarios = self.published.get(setting.sign_class, {}).get(setting.schedule, {})
        return scenarios.get(setting.scenario, {}).get(name)


@cache
def published_results() -> PublishedResults:
    """The shipped figures and bars."""
    return PublishedResults.model_validate(read_toml(resource("longitudinal", "simulation.toml")))


@dataclass(frozen=True, slots=True)
class BarResult:
    """One bar in one setting, with the measured figure."""

    bar: Bar
    setting: Setting
    measured: float
    published: float | None

    @property
    def holds(self) -> bool:
        """Whether the measured figure is within the bar."""
        return self.bar.holds(self.measured)


@dataclass(frozen=True, slots=True)
class _Table:
    title: str
    scenarios: tuple[str, ...]
    columns: Mapping[str, str]  # figure: heading
    decimals: int = 2


_CHANGES = ("step_half", "step_1", "step_2", "drift_2")
_DEPARTURES = tuple(name for name in SCENARIOS if SCENARIOS[name] != SCENARIOS["stable"])[6:]
_TABLES = (
    _Table(
        "False alarms of subjects who do not change, after the first 60 days",
        ("stable",),
        {
            "alarm_share": "share of recordings",
            "episodes_per_year": "episodes a year",
            "episodes_per_year_all": "the first 60 days too",
            "episodes_per_year_noisiest": "noisiest quarter",
        },
        3,
    ),
    _Table(
        "False alarms in short histories: share of recordings with n timepoints",
        ("stable",),
        {f"alarm_share_n{n}": f"n = {n}" for n in (3, 4, 5, 6)},
        3,
    ),
    _Table(
        "Power and delay: a change in SDs of one reading, as a step or growing over 120 days",
        _CHANGES,
        {"power_120d": "found in 120 days", "power_30d": "found in 30 days", "delay_days": "median delay, days"},
    ),
    _Table(
        "Coverage of the 90 % intervals",
        ("stable",),
        {
            "cover_latest": "latest",
            "cover_baseline": "baseline",
            "cover_baseline_n2": "baseline, n = 2",
            "cover_baseline_n3": "n = 3",
            "cover_baseline_n5": "n = 5",
            "cover_normal_range": "normal range",
        },
    ),
    _Table(
        "Spread of z of subjects who do not change",
        ("stable",),
        {"sd_z": "SD", "share_z_above_2": "share beyond 2"},
        3,
    ),
    _Table(
        "Errors in score points of 100 (RMSE)",
        ("stable",),
        {
            "rmse_latest": "latest",
            "rmse_reading": "the reading itself",
            "latest_over_reading": "ratio",
            "rmse_baseline": "baseline",
            "rmse_baseline_n2_5": "baseline, n = 2 to 5",
            "rmse_mean_n2_5": "plain mean, n = 2 to 5",
            "baseline_over_mean_n2_5": "ratio",
        },
    ),
    _Table(
        "One outlying day: a reading error of 5 SDs, a true excursion of 4 SDs",
        ("outlier_5", "excursion_4"),
        {
            "alarm_that_day": "flagged that day",
            "alarm_within_35d": "in the 35 days after",
            "baseline_bias": "baseline off",
        },
    ),
    _Table(
        "False-alarm episodes a year when the model's assumptions fail", _DEPARTURES, {"episodes_per_year": "episodes"}
    ),
    _Table(
        "A window of 270 days that rolls over 540",
        (ROLLING,),
        {
            "episodes_per_year": "episodes a year",
            "episodes_per_year_after_270d": "once it rolls",
            "rmse_baseline_after_270d": "baseline RMSE",
        },
    ),
    _Table(
        "A lasting 1-SD step in the rolling window: share that the baseline absorbed",
        (ROLLING,),
        {f"absorbed_{day}d": f"day {day}" for day in (30, 60, 120, 240, 380)},
    ),
    _Table(
        "Trend at the end: share labelled rising or falling",
        ("stable", "drift_2"),
        {"trend_rising": "rising", "trend_falling": "falling"},
    ),
)


def bar_results(results: Results) -> Iterator[BarResult]:
    """Results of every bar in every setting that was run."""
    for bar in published_results().bars:
        for sign_class in bar.classes:
            for schedule in bar.schedules:
                setting = Setting(sign_class, schedule, bar.scenario)
                if setting in results:
                    measured = results[setting][bar.figure]
                    yield BarResult(bar, setting, measured, published_results().figure(setting, bar.figure))


def markdown(results: Results, seed: int, subjects: int) -> str:
    """All tables as Markdown."""
    rows = list(bar_results(results))
    held = sum(row.holds for row in rows)
    parts = [
        f"Seed {seed}, {subjects} stable subjects on the weekly schedule; in brackets the published figures. "
        f"Of {len(rows)} bars {held} hold.",
        _bar_table(rows),
        *(_table(table, results) for table in _TABLES),
    ]
    return "\n\n".join(parts) + "\n"


def _bar_table(rows: Sequence[BarResult]) -> str:
    lines = [
        [
            row.bar.figure,
            f"{row.setting.sign_class}, {row.setting.schedule}, {row.setting.scenario}",
            row.bar.text,
            _number(row.measured, 3),
            _number(row.published, 3),
            "yes" if row.holds else "NO",
        ]
        for row in rows
    ]
    return "### Bars\n\n" + _lines(["figure", "where", "bar", "measured", "published", "holds"], lines)


def _table(table: _Table, results: Results) -> str:
    lines = []
    for setting, figures in results.items():
        if setting.scenario in table.scenarios:
            cells = [_cell(setting, name, figures[name], table.decimals) for name in table.columns]
            lines.append([setting.sign_class, setting.schedule, setting.scenario, *cells])
    if len(table.scenarios) == 1:
        lines = [[*line[:2], *line[3:]] for line in lines]
        return f"### {table.title}\n\n" + _lines(["class", "schedule", *table.columns.values()], lines)
    return f"### {table.title}\n\n" + _lines(["class", "schedule", "scenario", *table.columns.values()], lines)


def _cell(setting: Setting, name: str, value: float, decimals: int) -> str:
    published = published_results().figure(setting, name)
    return _number(value, decimals) + ("" if published is None else f" ({_number(published, decimals)})")


def _number(value: float | None, decimals: int) -> str:
    return "-" if value is None or isnan(value) else f"{value:.{decimals}f}"


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
