"""State of one group as a cohort: every recording counts separately."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.contract.groups import group_id_fault
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.longitudinal import AggregateRead, SignAggregate
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Asked, AskedRead, Read, Snapshot
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import SubjectTopic, Topic
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cells import Cell, LabelCell, LevelCountsCell
from vbdesk.desk.ui.time_text import age_text
from vbdesk.language import _, formats, joined, ngettext, pgettext, translated
from vbdesk.report.result_texts import action_title, result_texts

FEWEST = 10
"""With fewer recordings, a share says nothing; they are only counted."""

_SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class GroupSignRow:
    """One sign over the recordings of the group."""

    sign: SignAggregate
    total: int

    @property
    def key(self) -> str:
        """The sign."""
        return self.sign.name

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the table."""
        counts = tuple((level, self.sign.level_counts.get(level, 0)) for level in (*LEVEL_ORDER, Level.INCONCLUSIVE))
        return (
            LabelCell(_(self.sign.label), "text"),
            LevelCountsCell(counts, self.total),
            LabelCell(flagged_text(self.sign), "text"),
            LabelCell(score_text(self.sign), "text2"),
        )


def flagged_text(sign: SignAggregate) -> str:
    """`7 of 38, 18% (9% to 33%)`; the share only with enough recordings."""
    if not sign.n:
        return _("no reading")
    counts = {"flagged": sign.flagged_count, "all": sign.n}
    if sign.n < FEWEST or sign.flagged_share is None:
        return _("{flagged} of {all}, too few for a share", **counts)
    if sign.flagged_share_interval is None:
        return _("{flagged} of {all}, {share:.0%}", share=sign.flagged_share, **counts)
    low, high = sign.flagged_share_interval
    return _(
        "{flagged} of {all}, {share:.0%} ({low:.0%} to {high:.0%})",
        share=sign.flagged_share,
        low=low,
        high=high,
        **counts,
    )


def score_text(sign: SignAggregate) -> str:
    """Median of the scores, and the range of the middle 80 %."""
    score = sign.score
    if score.p50 is None:
        # Translators: too few recordings for a median.
        return _("too few")
    if score.p10 is None or score.p90 is None:
        return formats.number(score.p50, ".2f")
    return _("{median:.2f} ({low:.2f} to {high:.2f})", median=score.p50, low=score.p10, high=score.p90)


@dataclass(frozen=True)
class GroupReading:
    """Content of the group view.

    Attributes:
        sentence: number of recordings, and age of the data.
        facts: (title, text) pairs for the list next to the table.
        rows: one for each sign.
    """

    group_id: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[GroupSignRow, ...]


def group_reading(read: AggregateRead, read_at: datetime, now: datetime) -> GroupReading:
    """Make texts and rows of an aggregate."""
    window = read.window
    if window.truncated:
        used = ngettext(
            "{count:,} recording of the last {days} days; the oldest are left out.",
            "{count:,} recordings of the last {days} days; the oldest are left out.",
            window.jobs_used,
            days=window.days,
        )
    else:
        used = ngettext(
            "{count:,} recording of the last {days} days.",
            "{count:,} recordings of the last {days} days.",
            window.jobs_used,
            days=window.days,
        )
    return GroupReading(
        group_id=read.group_id,
        sentence=joined(used, _("Read {age}.", age=age_text(read_at, now))),
        facts=tuple(_facts(read)),
        rows=tuple(GroupSignRow(sign, window.jobs_used) for sign in read.signs),
    )


def _headings() -> tuple[str, ...]:
    return pgettext("noun", "Sign"), _("Recordings at each level"), _("Flagged"), _("Scores")


def _facts(read: AggregateRead) -> Sequence[tuple[str, str]]:
    jobs, recordings, coming = read.job_counts, read.recordings, read.adherence
    facts = [
        (_("Recordings in the group"), _job_text(jobs.done, jobs.queued + jobs.running, jobs.failed + jobs.timed_out))
    ]
    if recordings.n:
        minutes = ngettext("{count:,} minute", "{count:,} minutes", round(recordings.total_minutes))
        parts = [minutes]
        if recordings.usable_share is not None:
            parts.append(_("{share:.0%} good enough to compare", share=recordings.usable_share))
        facts.append((_("Sound"), _SEPARATOR.join(parts)))
    if recordings.issue_counts:
        worst = sorted(recordings.issue_counts.items(), key=lambda issue: (-issue[1], issue[0]))[:3]
        facts.append((_("Most frequent issues"), " ".join(_times(_issue(code), count) for code, count in worst)))
    if coming.recordings_per_week is not None:
        parts = [_("{number:.1f} recordings a week", number=coming.recordings_per_week)]
        if coming.longest_gap_days is not None:
            days = round(coming.longest_gap_days)
            parts.append(ngettext("longest gap {count:,} day", "longest gap {count:,} days", days))
        facts.append((_("How regularly"), _SEPARATOR.join(parts)))
    suggested = [_times(action_title(action), count) for action, count in read.recommended_actions.items() if count]
    if suggested:
        facts.append((_("Suggested"), " ".join(suggested)))
    return facts


def _job_text(done: int, under_way: int, lost: int) -> str:
    parts = [ngettext("{count:,} done", "{count:,} done", done)]
    if under_way:
        parts.append(ngettext("{count:,} on the way", "{count:,} on the way", under_way))
    if lost:
        parts.append(ngettext("{count:,} without a result", "{count:,} without a result", lost))
    return _SEPARATOR.join(parts)


def _issue(code: str) -> str:
    text = result_texts().issue.get(code)
    return code.replace("_", " ") if text is None else _(text.what)


def _times(what: str, count: int) -> str:
    # Translators: how often something was the case; {what} is a sentence with its full stop.
    return _("{count:,}\N{NO-BREAK SPACE}× {what}", what=what, count=count)


@dataclass(frozen=True)
class KnownGroupsRead(Read[tuple[str, ...]]):
    """The ids of all groups that are known here."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[str, ...]:  # noqa: D102
        return tuple(sorted({*context.library.groups(), *context.results.trajectory_times()}))


@dataclass(frozen=True)
class GroupRead(AskedRead[GroupReading]):
    """One group as a cohort."""

    group_id: str

    @property
    def topics(self) -> frozenset[Topic]:  # noqa: D102
        return frozenset({SubjectTopic(self.group_id)})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> GroupReading | None:  # noqa: D102
        stored = context.results.stored_aggregate(self.group_id)
        return None if stored is None else group_reading(stored.value, stored.read_at, context.clock.now())

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        context.results.fetch_aggregate(self.group_id)
        return Asked()


@dataclass(frozen=True, slots=True)
class GroupState:
    """What the group view shows.

    Attributes:
        group_id: empty if none is chosen.
        waiting: why there is nothing to show; empty if there is something.
        stale: why the content may be old; empty if it is not.
    """

    group_id: str = ""
    reading: GroupReading | None = None
    waiting: str = ""
    stale: str = ""


def group_state(group_id: str, snapshot: Snapshot[GroupReading]) -> GroupState:
    """What is shown of a group."""
    fault = snapshot.failure or snapshot.unreadable
    waiting = ""
    if snapshot.value is None and fault is not None:
        waiting = _("There is nothing to show until the service answers.")
    elif snapshot.value is None:
        waiting = _("Reading the group.")
    return GroupState(group_id, snapshot.value, waiting, "" if fault is None else fault.sentence)


class CohortGroupViewModel(QObject):
    """One group at a time.

    Signals:
        changed: (GroupState) what is shown.
        groups_changed: (tuple[str]) known group ids, for completion.
    """

    changed = Signal(object)
    groups_changed = Signal(object)

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.table = CellTable(_headings(), self)
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)

    @property
    def group_id(self) -> str:
        """The group that is shown; empty for none."""
        read = self._screen.read(GroupRead)
        return "" if read is None else read.group_id

    def start(self) -> None:
        """Find the known groups."""
        self._screen.add(KnownGroupsRead())

    def open(self, text: str) -> None:
        """Show a group: cached data immediately, newer data when read."""
        group_id = text.strip()
        fault = group_id_fault(group_id)
        if fault is None:
            self._screen.add(GroupRead(group_id))
        else:
            self._screen.drop(GroupRead)
            self.changed.emit(GroupState(waiting=translated(fault)))

    def reload(self) -> None:
        """Read from the service again."""
        self._screen.ask(GroupRead)

    @Slot()
    def _show(self) -> None:
        self.groups_changed.emit(self._screen.of(KnownGroupsRead).value or ())
        if self.group_id:
            state = group_state(self.group_id, self._screen.of(GroupRead))
            if state.reading is not None:
                self.table.show(state.reading.rows)
            self.changed.emit(state)
