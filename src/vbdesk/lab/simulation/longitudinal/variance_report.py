"""Tables of false alarms and power over the spread of personal variances, for both versions of the method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vbdesk.lab.simulation.longitudinal.simulated_subjects import SCHEDULES, Schedule
from vbdesk.lab.simulation.longitudinal.variance_bars import (
    CHANGED_FROM,
    CHANGED_VARIANCE,
    LEAST_POWER,
    MOST_EPISODES,
    STATE_SHARES,
    SUBJECTS,
    VARIANCES,
    FalseAlarms,
    Power,
    Truth,
    draw_steady,
    false_alarms,
    power,
)
from vbdesk.longitudinal.intervals import score_intervals
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.longitudinal.scale import score_of

SETTLED_DAY = 60.0
EARLY = slice(1, 5)
"""Histories of two to five recordings."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares within the intervals that are shown, after day 60 unless named otherwise.

    Attributes:
        next_reading: the next reading, in the usual range (`normal_range`).
        level: the level, in `latest_interval`.
        norm: the norm, in `baseline_interval`.
        early_reading, early_level, early_norm: the same in histories of two to five recordings.
    """

    sign_class: str
    schedule: Schedule
    variance: float
    next_reading: float
    level: float
    norm: float
    early_reading: float
    early_level: float
    early_norm: float


def coverage(parameters: Parameters, seed: int, classes: Sequence[str], scale: float = 1.0) -> Iterator[Coverage]:
    """Coverage in every class, schedule and variance, with `scale` times the usual number of subjects."""
    offset = parameters.scale.offset
    for name in classes:
        sign_class = parameters.classes[name]
        for schedule in SCHEDULES:
            for variance in VARIANCES:
                generator = np.random.default_rng([seed, *f"coverage {name} {schedule} {variance}".encode()])
                count = max(round(SUBJECTS[schedule] * scale), 1)
                truth = Truth(STATE_SHARES[name])
                drawn = draw_steady(generator, schedule, count, variance, sign_class.state_days, truth)
                bands = [
                    score_intervals(filtered, steps, sign_class, parameters)
                    for _, steps, filtered in drawn.filtered(sign_class, parameters)
                ]
                usual, latest, baseline = (
                    np.array([getattr(band, kind)[:, :, 0] for band in bands])
                    for kind in ("normal_range", "latest", "baseline")
                )
                norm = np.broadcast_to(drawn.norm, drawn.days.shape)
                inside = [
                    _within(score_of(drawn.values[:, 1:], offset), usual[:, :, :-1]),
                    _within(score_of(drawn.norm + drawn.state, offset), latest),
                    _within(score_of(norm, offset), baseline),
                ]
                days = [drawn.days[:, 1:], drawn.days, drawn.days]
                settled = [float(one[day >= SETTLED_DAY].mean()) for one, day in zip(inside, days, strict=True)]
                early = [float(one[:, EARLY].mean()) for one in inside]
                yield Coverage(name, schedule, variance, *settled, *early)


def _within(values: np.ndarray, band: np.ndarray) -> np.ndarray:
    return (band[:, 0] <= values) & (values <= band[:, 1])


CLASSES = ("fast", "slow")
POWER_SUBJECTS = 2000
SHARE_OF_DEPARTURES = 0.3
DEPARTURES = {
    "Gaussian, with the assumed memory and known quality": {
        "fast": Truth(0.455, harsh=False),
        "slow": Truth(0.194, harsh=False),
    },
    "no state: every reading independent": {"fast": Truth(0.0), "slow": Truth(0.0)},
    "a state of the fitted share": {"fast": Truth(0.54), "slow": Truth(0.54)},
}


@dataclass(frozen=True, slots=True)
class VarianceResults:
    """Figures of one set of parameters; `departures` by truth."""

    version: str
    false_alarms: list[FalseAlarms]
    power: list[Power]
    departures: dict[str, list[FalseAlarms]]
    coverage: list[Coverage]

    @property
    def missed(self) -> list[str]:
        """Every bar that is missed, in words."""
        alarms = [
            f"{row.episodes:.3f} false episodes a year ({row.sign_class}, {row.schedule}, variance {row.variance:g}), "
            f"the bar is {MOST_EPISODES:.2f}"
            for row in self.false_alarms
            if not row.holds
        ]
        return alarms + [
            f"power {row.share:.2f} ({row.sign_class}, +{row.change.shift:g} for {row.change.recordings} recordings), "
            f"the bar is {LEAST_POWER:.1f}"
            for row in self.power
            if not row.holds
        ]


def measure(parameters: Parameters, seed: int, scale: float) -> VarianceResults:
    """Run every simulation with these parameters."""
    return VarianceResults(
        parameters.version,
        list(false_alarms(parameters, seed, CLASSES, scale)),
        list(power(parameters, seed, CLASSES, max(round(POWER_SUBJECTS * scale), 1))),
        {
            name: [
                row
                for sign_class in CLASSES
                for row in false_alarms(parameters, seed, [sign_class], scale * SHARE_OF_DEPARTURES, truths[sign_class])
            ]
            for name, truths in DEPARTURES.items()
        },
        list(coverage(parameters, seed, CLASSES, scale * SHARE_OF_DEPARTURES)),
    )


def tables(results: Sequence[VarianceResults]) -> str:
    """All tables as Markdown, one row a version."""
    parts = [
        f"### False episodes of unchanged people a year and sign, after day 60 (bar: at most {MOST_EPISODES:.2f})",
        _false_alarm_table({result.version: result.false_alarms for result in results}),
        f"### Share of changes found while they last, after {CHANGED_FROM} weekly recordings at variance "
        f"{CHANGED_VARIANCE:g} (bar: at least {LEAST_POWER:.1f})",
        _power_table(results),
    ]
    parts += [
        "### Coverage of the 90 % intervals of unchanged people, after day 60: next readings in the usual range",
        _coverage_table(results, ("next_reading",)),
        "### The same: level in its interval, norm in its interval",
        _coverage_table(results, ("level", "norm")),
        "### The same in histories of two to five recordings: next reading, level, norm",
        _coverage_table(results, ("early_reading", "early_level", "early_norm")),
    ]
    for name in DEPARTURES:
        parts += [
            f"### The same false episodes if people vary otherwise: {name} (no bar)",
            _false_alarm_table({result.version: result.departures[name] for result in results}),
        ]
    return "\n\n".join(parts) + "\n"


def _false_alarm_table(rows: dict[str, list[FalseAlarms]]) -> str:
    head = ["class", "schedule", "parameters", *(f"variance {variance:g}" for variance in VARIANCES)]
    lines = []
    for sign_class in CLASSES:
        for schedule in SCHEDULES:
            for version, measured in rows.items():
                own = [row for row in measured if (row.sign_class, row.schedule) == (sign_class, schedule)]
                cells = [f"{row.episodes:.3f} ± {row.standard_error:.3f}" for row in own]
                lines.append([sign_class, schedule, version, *cells])
    return _markdown(head, lines)


def _coverage_table(results: Sequence[VarianceResults], figures: Sequence[str]) -> str:
    head = ["class", "schedule", "parameters", *(f"variance {variance:g}" for variance in VARIANCES)]
    lines = []
    for sign_class in CLASSES:
        for schedule in SCHEDULES:
            for result in results:
                own = [row for row in result.coverage if (row.sign_class, row.schedule) == (sign_class, schedule)]
                cells = [", ".join(f"{getattr(row, figure):.2f}" for figure in figures) for row in own]
                lines.append([sign_class, schedule, result.version, *cells])
    return _markdown(head, lines)


def _power_table(results: Sequence[VarianceResults]) -> str:
    lines = []
    for result in results:
        for row in result.power:
            asked = "yes" if row.sign_class in row.change.classes else "no bar"
            change = f"+{row.change.shift:g} for {row.change.recordings} recordings"
            lines.append([row.sign_class, change, result.version, f"{row.share:.2f}", asked])
    return _markdown(["class", "change, started logit", "parameters", "found", "bar applies"], sorted(lines))


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        for row in [head, ["---"] * len(head), *rows]:
            yield "| " + " | ".join(row) + " |"

    return "\n".join(lines())
