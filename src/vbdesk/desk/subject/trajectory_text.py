"""Texts and table rows of a trajectory; made on a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vbdesk.contract.levels import LEVEL_ORDER, Level, overall_level
from vbdesk.contract.longitudinal import AnomalyEpisode, DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.desk.charts.trajectory_data import NoteMarker, TrajectoryChart, chart_of
from vbdesk.desk.results.voice_question import voice_question
from vbdesk.desk.subject_data.consent_text import missing_text
from vbdesk.desk.ui.cells import ButtonCell, Cell, LabelCell, LevelCell, TwoLineCell
from vbdesk.desk.ui.time_text import day_in_sentence, day_text, local_time_of_day, moment_in_sentence
from vbdesk.language import _, formats, joined, ngettext, pgettext
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.consent_gate import NOT_ASKED_FOR, ConsentList
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.report.shipped_signs import shipped_signs

_HEADING_LETTERS = 14


@dataclass(frozen=True, slots=True)
class SubjectRecordingRow:
    """One recording of the subject: level of every sign, and notes. Cells are made on demand."""

    point: DataPoint
    chart: TrajectoryChart = field(compare=False)
    now: datetime = field(compare=False)
    lacks_consent: str = ""
    excluded: bool = False

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
        if self.excluded:
            excluded = _("Excluded from the course: not in charts, baseline and counts.")
            notes: str = joined(excluded, _lacking_sentence(self.lacks_consent))
        else:
            notes = _notes(self.point, self.chart, self.lacks_consent)
        return (
            TwoLineCell(day_text(self.recorded_at, self.now), local_time_of_day(self.recorded_at)),
            *marks,
            LabelCell(notes),
            ButtonCell(pgettext("verb", "Correct"), quiet=True),
        )


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
    read: TrajectoryRead,
    now: datetime,
    items: Sequence[RecordingItem] = (),
    read_at: datetime | None = None,
    consents: ConsentList = NOT_ASKED_FOR,
    excluded: Sequence[DataPoint] = (),
    recordings: int | None = None,
) -> SubjectReading:
    """Make texts, charts and rows of a trajectory.

    Args:
        read: the service's answer.
        now: the current time.
        items: the subject's local recordings, for their notes and for questions about their voices.
        read_at: time of the answer; now by default.
        consents: of all subjects.
        excluded: readings of the recordings that were excluded from the course.
        recordings: how many count in the course; those of `read` if None.
    """
    cuts = {name: reference.score_cuts for name, reference in shipped_signs().items()}
    chart = chart_of(read, cuts, marks_of(items), _voice_questions(items))
    by_name = {sign.name: sign for sign in read.signs}
    signs = [by_name[sign.name] for sign in chart.signs]
    points = sorted(read.data_points, key=lambda point: (point.recorded_at, point.job_id))
    rows = [
        SubjectRecordingRow(
            point, chart, now, _lacking(consents, read.group_id, point.recorded_at), excluded=index >= len(points)
        )
        for index, point in enumerate((*points, *excluded))
    ]
    rows.sort(key=lambda row: (row.recorded_at, row.key), reverse=True)
    return SubjectReading(
        read=read,
        group_id=read.group_id,
        computed_at=read.computed_at,
        read_at=read_at or now,
        level=overall_level(signal.level for signal in points[-1].signals) if points else None,
        sentence=sentence_of(signs, points, now, recordings),
        change=latest_change(chart, now),
        chart=chart,
        headings=(_("Recorded"), *(heading(_(sign.label)) for sign in signs), _("Notes"), ""),
        rows=tuple(rows),
    )


def _lacking(consents: ConsentList, group_id: str, recorded_at: datetime) -> str:
    """That no consent is noted for a recording; empty if one is, or if the profile does not ask for any."""
    status = consents.status(group_id, recorded_at)
    asked = consents.rules.policy is not ConsentPolicy.OFF
    return missing_text(status) if asked and not status.in_force else ""


def marks_of(items: Sequence[RecordingItem]) -> tuple[NoteMarker, ...]:
    """Notes and tags of local recordings."""
    noted = [item for item in items if (item.note.strip() or item.tags) and not item.excluded]
    return tuple(NoteMarker(item.recorded_at.timestamp(), _noted(item)) for item in noted)


def _voice_questions(items: Sequence[RecordingItem]) -> dict[str, str]:
    """What to ask about the voices of recordings, by job."""
    asked = {item.job_id: voice_question(item) for item in items}
    return {job_id: question for job_id, question in asked.items() if job_id is not None and question}


def _noted(item: RecordingItem) -> str:
    note, tags = item.note.strip(), ", ".join(item.tags)
    return _("{note} ({tags})", note=note, tags=tags) if note and tags else note or tags


def latest_change(chart: TrajectoryChart, now: datetime) -> LatestChange | None:
    """Signs that are unusual in the newest recordings, the most severe first."""
    present = [(sign, episode) for sign in chart.signs if (episode := sign.present) is not None]
    if not present:
        return None
    present.sort(key=lambda pair: (-_severity(pair[0].level), -abs(pair[1].peak_z)))
    sign, episode = present[0]
    sentences = [_unusual_text(_(sign.label), episode, now)]
    if len(present) > 1:
        others = formats.list_of([_(other.label) for other, _episode in present[1:]])
        sentences.append(_("Also unusual: {signs}.", signs=others))
    if any(change.after <= other.end for unusual, other in present for change in unusual.changes):
        sentences.append(_("The scale changed within this course, so the voice may not have changed."))
    return LatestChange(sign.name, episode.end.timestamp(), joined(*sentences))


def _unusual_text(sign: str, episode: AnomalyEpisode, now: datetime) -> str:
    above = episode.direction == "above"
    if episode.timepoints == 1 and above:
        return _("{sign} is well above this person's own baseline at the last recording.", sign=sign)
    if episode.timepoints == 1:
        return _("{sign} is well below this person's own baseline at the last recording.", sign=sign)
    day = day_in_sentence(episode.start, now)
    if above:
        return ngettext(
            "{sign} is above this person's own baseline at the last {count} recording, since {day}.",
            "{sign} is above this person's own baseline at the last {count} recordings, since {day}.",
            episode.timepoints,
            sign=sign,
            day=day,
        )
    return ngettext(
        "{sign} is below this person's own baseline at the last {count} recording, since {day}.",
        "{sign} is below this person's own baseline at the last {count} recordings, since {day}.",
        episode.timepoints,
        sign=sign,
        day=day,
    )


def _severity(level: Level) -> int:
    return LEVEL_ORDER.index(level) if level in LEVEL_ORDER else -1


def age_text(read_at: datetime, now: datetime) -> str:
    """`Read today 10:41`: age of the content."""
    return _("Read {moment}", moment=moment_in_sentence(read_at, now))


def sentence_of(
    signs: Sequence[SignTrajectory], points: Sequence[DataPoint], now: datetime, recordings: int | None = None
) -> str:
    """`Rising: Mood Disruption and Fatigue. Steady: 4 signs. 38 recordings, last today 10:41.`"""
    if not points:
        return _("No recording has a result yet.")
    last = moment_in_sentence(points[-1].recorded_at, now)
    count = len(points) if recordings is None else recordings
    sentence = ngettext(
        "{count:,} recording, last {moment}.", "{count:,} recordings, last {moment}.", count, moment=last
    )
    return joined(*_trends(signs), sentence)


def _trends(signs: Sequence[SignTrajectory]) -> list[str]:
    """Which signs rise and fall by name; how many are steady, and of how many it is too early to tell."""
    named = {
        direction: [_(sign.label) for sign in signs if sign.trend.direction == direction]
        for direction in ("rising", "falling", "stable")
    }
    steady = len(named["stable"])
    early = len(signs) - sum(map(len, named.values()))
    if early == len(signs):
        return [_("It is too early for a trend.")]
    if steady == len(signs):
        return [
            _("The sign is steady.")
            if steady == 1
            else ngettext("All {count} signs are steady.", "All {count} signs are steady.", steady)
        ]
    sentences = []
    if named["rising"]:
        sentences.append(_("Rising: {signs}.", signs=formats.list_of(named["rising"])))
    if named["falling"]:
        sentences.append(_("Falling: {signs}.", signs=formats.list_of(named["falling"])))
    if steady:
        sentences.append(ngettext("Steady: {count} sign.", "Steady: {count} signs.", steady))
    if early:
        sentences.append(ngettext("Too early to tell: {count} sign.", "Too early to tell: {count} signs.", early))
    return sentences


def heading(label: str) -> str:
    """Break a long name into two lines."""
    if len(label) <= _HEADING_LETTERS or " " not in label:
        return label
    first, _, last = label.rpartition(" ")
    return f"{first}\n{last}"


def _lacking_sentence(lacks_consent: str) -> str:
    # Translators: makes a sentence of a short text: only the full stop.
    return _("{text}.", text=lacks_consent) if lacks_consent else ""


def _notes(point: DataPoint, chart: TrajectoryChart, lacks_consent: str) -> str:
    moment = point.recorded_at.timestamp()
    unusual = [
        _(sign.label)
        for sign in chart.signs
        if (index := sign.reading_at(moment)) is not None and sign.is_unusual(index)
    ]
    question = chart.voice_questions.get(point.job_id, "")
    notes = [question] if question else []
    if unusual:
        notes.append(_("Unusual: {signs}.", signs=formats.list_of(unusual)))
    if point.audio_quality.issues:
        notes.append(_("Quality issues."))
    notes.append(_lacking_sentence(lacks_consent))
    changed = dict.fromkeys(sentence for sign in chart.signs if (sentence := sign.change_at(moment)))
    notes.extend(changed)
    notes.extend(mark.text for mark in chart.marks if mark.t == moment)
    return joined(*notes)
