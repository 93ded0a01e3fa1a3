"""A subject's trajectory in words and as a table. No Qt: made on a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.desk.models.cells import Cell, LevelMark, TwoLines, Words
from vbdesk.desk.plots.trajectory_data import TrajectoryChart, chart_of
from vbdesk.report.sign_reference import sign_references
from vbdesk.desk.viewmodels.time_words import counted, day_and_time

_HEADING_LETTERS = 16
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """One recording of the subject: the level of every sign, and what is to be noted."""

    key: str
    recorded_at: datetime
    cells: tuple[Cell, ...] = field(hash=False)


@dataclass(frozen=True)
class SubjectReading:
    """All that the Subject page shows.

    Attributes:
        computed_at: when the service computed it; the same moment means the same data.
        level: overall level of the newest recording; None before the first result.
        sentence: the trends and how many recordings there are.
        rows: newest first.
    """

    group_id: str
    computed_at: datetime
    level: Level | None
    sentence: str
    chart: TrajectoryChart
    headings: tuple[str, ...]
    rows: tuple[RecordingRow, ...]


def subject_of(read: TrajectoryRead, now: datetime) -> SubjectReading:
    """Put a trajectory in words, arrays and rows."""
    cuts = {name: reference.score_cuts for name, reference in sign_references().items()}
    chart = chart_of(read, cuts)
    newest = read.data_points[-1] if read.data_points else None
    signs = sorted(read.signs, key=lambda sign: [row.name for row in chart.signs].index(sign.name))
    return SubjectReading(
        group_id=read.group_id,
        computed_at=read.computed_at,
        level=None if newest is None else overall_level(signal.level for signal in newest.signals),
        sentence=sentence_of(signs, read.data_points, now),
        chart=chart,
        headings=("Recorded", *(_heading(sign.label) for sign in signs), "Notes"),
        rows=tuple(_row(point, signs, chart, now) for point in reversed(read.data_points)),
    )


def sentence_of(signs: Sequence[SignTrajectory], points: Sequence[DataPoint], now: datetime) -> str:
    """`Mood disruption and fatigue are rising; the other four are steady. 38 recordings, last today 10:41.`"""
    if not points:
        return "No recording has a result yet."
    last = day_and_time(points[-1].recorded_at, now)
    last = last if last[0].isdigit() else last.lower()
    return f"{_trends(signs)} {counted(len(points), 'recording').capitalize()}, last {last}."


def _trends(signs: Sequence[SignTrajectory]) -> str:
    named: list[str] = []
    moving = 0
    for direction in ("rising", "falling"):
        labels = [_in_sentence(sign.label) for sign in signs if sign.trend.direction == direction]
        if labels:
            moving += len(labels)
            named.append(f"{_listed(labels)} {'is' if len(labels) == 1 else 'are'} {direction}")
    steady = sum(sign.trend.direction == "stable" for sign in signs)
    unknown = len(signs) - moving - steady
    if steady:
        named.append(_rest(steady, moving + unknown > 0, len(signs), "steady"))
    if unknown == len(signs):
        return "It is too early for a trend."
    if unknown:
        named.append(f"for {_number(unknown)} it is too early to tell")
    words = "; ".join(named) + "."
    return words[0].upper() + words[1:]


def _rest(count: int, others: bool, total: int, state: str) -> str:
    if not others:
        return f"all {_number(total)} signs are {state}" if total > 1 else f"the sign is {state}"
    if count == 1:
        return f"one other is {state}"
    return f"the other {_number(count)} are {state}"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _in_sentence(label: str) -> str:
    return label.lower()


def _heading(label: str) -> str:
    """A long name in two lines."""
    if len(label) <= _HEADING_LETTERS:
        return label
    first, _, last = label.rpartition(" ")
    return f"{first}\n{last}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _row(point: DataPoint, signs: Sequence[SignTrajectory], chart: TrajectoryChart, now: datetime) -> RecordingRow:
    by_name = {signal.name: signal for signal in point.signals}
    marks: list[Cell] = []
    for sign in signs:
        signal = by_name.get(sign.name)
        marks.append(LevelMark(None, "–") if signal is None else LevelMark(signal.level))
    day, _, clock = day_and_time(point.recorded_at, now).rpartition(" ")
    notes = _notes(point, chart)
    return RecordingRow(point.job_id, point.recorded_at, (TwoLines(day, clock), *marks, Words(notes)))


def _notes(point: DataPoint, chart: TrajectoryChart) -> str:
    moment = point.recorded_at.timestamp()
    unusual = [
        sign.label
        for sign in chart.signs
        for index in range(len(sign.readings.t))
        if sign.readings.t[index] == moment and sign.is_unusual(index)
    ]
    notes = [f"Unusual: {', '.join(unusual)}."] if unusual else []
    if point.audio_quality.issues:
        notes.append("Quality issues.")
    return " ".join(notes)
