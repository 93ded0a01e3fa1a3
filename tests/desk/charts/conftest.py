"""Reads of subjects as the service computes them, from made-up recordings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.trajectory_data import TrajectoryChart, chart_of
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.trajectory import trajectory
from vbdesk.report.shipped_signs import shipped_signs

AS_OF = datetime(2026, 6, 1, 9, tzinfo=UTC)
PULSE = ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")
CHANGES = Path(__file__).parents[1] / "data" / "trajectory_changes.json"


def recording(number: int, days_ago: float, scores: Mapping[str, float | None], issues: Iterable[str] = ()):
    """One finished recording."""
    signs = {
        name: SignReading(score, "inconclusive" if score is None else "low", flagged=False)
        for name, score in scores.items()
    }
    moment = AS_OF - timedelta(days=days_ago)
    return HistoryEntry(f"job-{number:04d}", moment, "done", 60.0, 65.0, 80.0, tuple(issues), "monitor", signs)


def read_of(days_ago: Iterable[float], signs: Iterable[str] = PULSE) -> TrajectoryRead:
    """Recordings of all `signs`, at quiet scores, the oldest first."""
    generator = np.random.default_rng(3)
    signs = tuple(signs)
    days = sorted(days_ago, reverse=True)
    scores = 0.3 + 0.04 * generator.normal(size=(len(days), len(signs)))
    entries = [
        recording(number, day, dict(zip(signs, row.tolist(), strict=True)))
        for number, (day, row) in enumerate(zip(days, scores, strict=True))
    ]
    return trajectory("ward4-0172", entries, AS_OF, labels={})


def _mixed() -> TrajectoryRead:
    """Every other recording requested stress only."""
    entries = [
        recording(number, 70 - 7 * number, dict.fromkeys(("stress",) if number % 2 else PULSE, 0.3))
        for number in range(10)
    ]
    return trajectory("ward4-0172", entries, AS_OF, labels={})


def recalibrated(*versions: str | None, signs: Iterable[str] = PULSE) -> TrajectoryRead:
    """A recording a week, each by the calibration of its place; None where the service does not tell it."""
    entries = []
    for number, version in enumerate(versions):
        made = recording(number, 7.0 * (len(versions) - number), dict.fromkeys(signs, 0.3))
        made_by = {name: reading._replace(version=version) for name, reading in made.signs.items()}
        entries.append(replace(made, signs=made_by))
    return trajectory("ward4-0172", entries, AS_OF, labels={})


def _inconclusive() -> TrajectoryRead:
    entries = [
        recording(number, 30 - 7 * number, dict.fromkeys(PULSE, None), ["insufficient_speech"]) for number in range(4)
    ]
    return trajectory("ward4-0172", entries, AS_OF, labels={})


READS: dict[str, Callable[[], TrajectoryRead]] = {
    "first": lambda: read_of([3.0]),
    "two": lambda: read_of([20.0, 3.0]),
    "gaps": lambda: read_of([150.0, 143.0, 136.0, 129.0, 40.0, 33.0, 26.0, 12.0]),
    "anomalies": lambda: TrajectoryRead.model_validate_json(CHANGES.read_text()),
    "1,001": lambda: read_of(np.linspace(269.0, 0.01, 1001)),
    "mixed": _mixed,
    "inconclusive": _inconclusive,
    "recalibrated": lambda: recalibrated("1.0.0", "1.0.0", "1.0.0", "2.0.0", "2.0.0"),
    "moved back and forth": lambda: recalibrated("1.0.0", "2.0.0", "1.0.0", "2.0.0"),
    "another language": lambda: recalibrated("2.0.0", "2.0.0+widened"),
    "partly told": lambda: recalibrated(None, None, "2.0.0", None, "2.0.0"),
}


@pytest.fixture
def golden() -> Callable[[str], TrajectoryChart]:
    """The chart of one of the reads, by name."""

    def make(name: str) -> TrajectoryChart:
        return chart_of(READS[name](), {key: entry.score_cuts for key, entry in shipped_signs().items()})

    return make
