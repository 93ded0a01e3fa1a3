"""Texts and table rows of a trajectory. No Qt: made on a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vbdesk.contract.levels import LEVEL_ORDER, Level, overall_level
from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.desk.charts.trajectory_data import NoteMarker, TrajectoryChart, chart_of
from vbdesk.desk.ui.cells import Cell, LabelCell, LevelCell, TwoLineCell
from vbdesk.desk.ui.time_text import counted, day_and_time
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.report.shipped_signs import shipped_signs

_HEADING_LETTERS = 14
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class SubjectRecordingRow:
    """One recording of the subject: level of every sign, and notes. Cells are made on demand."""

    point: DataPoint
    chart: TrajectoryChart = field(compare=False)
    now: datetime = field(compare=False)

    @property
    def key(self) -> str:
        """Its job."""
        return self.point.job_id

    @property
    def recorded_at(self) -> datetime:
        """Time of the recording."""
        return self.point.recorded_at

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Day, a level for each sign, notes."""
        levels = {signal.name: signal.level for signal in self.point.signals}
        marks = [LevelCell(levels.get(sign.name), "" if sign.name in levels else "–") for sign in self.chart.signs]
        day, _, clock = day_and_time(self.point.recorded_at, self.now).rpartition(" ")
        return (TwoLineCell(day, clock), *marks, LabelCell(_notes(self.point, self.chart)))


@dataclass(frozen=True, slots=True)
class LatestChange:
    """What is unusual in the newest recording, and why.

    Attributes:
        sign: name of the sign to show.
        moment_s: its newest unusual recording, epoch seconds.
        sentence: which signs, since when and how.
    """

    sign: str
    moment_s: float
    sentence: str


@dataclass(frozen=True)
class SubjectReading:
    """Content of the Subject page.

    Attributes:
        read: the service's answer.
        computed_at: time of computation by the service; equal times mean equal data.
        read_at: time of the read.
        level: overall level of the newest recording; None before the first result.
        sentence: trends and number of recordings.
        change: what is unusual in the newest recording; None for nothing.
        rows: newest first.
    """

    read: TrajectoryRead
    group_id: str
    computed_at: datetime
    read_at: datetime
    level: Level | None
    sentence: str
    change: LatestChange | None
    chart: TrajectoryChart
    headings: tuple[str, ...]
    rows: tuple[SubjectRecordingRow, ...]


def subject_of(
    read: TrajectoryRead, now: datetime, items: Sequence[RecordingItem] = (), read_at: datetime | None = None
) -> SubjectReading:
    """Make texts, charts and rows of a trajectory.

    Args:
        read: the service's answer.
        now: the current time.
        items: the subject's local recordings, for their notes.
        read_at: time of the answer; now by default.
    """
    cuts = {name: reference.score_cuts for name, reference in shipped_signs().items()}
    chart = chart_of(read, cuts, marks_of(items))
    by_name = {sign.name: sign for sign in read.signs}
    signs = [by_name[sign.name] for sign in chart.signs]
    points = sorted(read.data_points, key=lambda point: (point.recorded_at, point.job_id))
    return SubjectReading(
        read=read,
        group_id=read.group_id,
        computed_at=read.computed_at,
        read_at=read_at or now,
        level=overall_level(signal.level for signal in points[-1].signals) if points else None,
        sentence=sentence_of(signs, points, now),
        change=latest_change(chart, now),
        chart=chart,
        headings=("Recorded", *(heading(sign.label) for sign in signs), "Notes"),
        rows=tuple(SubjectRecordingRow(point, chart, now) for point in reversed(points)),
    )


def marks_of(items: Sequence[RecordingItem]) -> tuple[NoteMarker, ...]:
    """Notes and tags of local recordings."""
    noted = [item for item in items if item.note.strip() or item.tags]
    return tuple(NoteMarker(item.recorded_at.timestamp(), _noted(item)) for item in noted)


def _noted(item: RecordingItem) -> str:
    tags = ", ".join(item.tags)
    return f"{item.note.strip()} ({tags})" if item.note.strip() and tags else item.note.strip() or tags


def latest_change(chart: TrajectoryChart, now: datetime) -> LatestChange | None:
    """Signs that are unusual in the newest recordings, the most severe first."""
    present = [(sign, episode) for sign in chart.signs if (episode := sign.present) is not None]
    if not present:
        return None
    present.sort(key=lambda pair: (-_severity(pair[0].level), -abs(pair[1].peak_z)))
    sign, episode = present[0]
    if episode.timepoints == 1:
        what = f"well {episode.direction} the own baseline at the last recording."
    else:
        since = day_and_time(episode.start, now).rpartition(" ")[0]
        since = since if since[0].isdigit() else since.lower()
        what = f"{episode.direction} the own baseline at the last {episode.timepoints} recordings, since {since}."
    others = [_in_sentence(other.label) for other, _ in present[1:]]
    also = f" Also unusual: {_listed(others)}." if others else ""
    return LatestChange(sign.name, episode.end.timestamp(), f"{sign.label.capitalize()} is {what}{also}")


def _severity(level: Level) -> int:
    return LEVEL_ORDER.index(level) if level in LEVEL_ORDER else -1


def age_words(read_at: datetime, now: datetime) -> str:
    """`Read today 10:41`: age of the content."""
    when = day_and_time(read_at, now)
    return f"Read {when if when[0].isdigit() else when.lower()}"


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


def heading(label: str) -> str:
    """Break a long name into two lines."""
    if len(label) <= _HEADING_LETTERS:
        return label
    first, _, last = label.rpartition(" ")
    return f"{first}\n{last}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _notes(point: DataPoint, chart: TrajectoryChart) -> str:
    moment = point.recorded_at.timestamp()
    unusual = [
        sign.label for sign in chart.signs if (index := sign.reading_at(moment)) is not None and sign.is_unusual(index)
    ]
    notes = [f"Unusual: {', '.join(unusual)}."] if unusual else []
    if point.audio_quality.issues:
        notes.append("Quality issues.")
    notes.extend(mark.words for mark in chart.marks if mark.t == moment)
    return " ".join(notes)
