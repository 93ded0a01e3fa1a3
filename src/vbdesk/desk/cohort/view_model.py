"""State of the Cohort page: local and cached summaries; the service is read on request."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.cohort.cohort_cache import CohortCache
from vbdesk.desk.cohort.cohort_rows import CohortReading, HeatOrder, Shown, cohort_of, named
from vbdesk.desk.cohort.export import cohort_csv, cohort_dictionary_csv
from vbdesk.desk.cohort.subject_summary import SubjectSummary
from vbdesk.desk.flow.commands import Command, Done, Work
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Asked, AskedRead
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.reports.report_look import report_look
from vbdesk.desk.subject_data.request_throttle import expected_s, wait_for_room
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.time_text import age_text
from vbdesk.language import _, formats, ngettext, pgettext, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.sync.forecast import approximate_duration
from vbdesk.report.exports import write_files

_HEADING_LETTERS, _LONGEST_WORD = 10, 14


@dataclass(frozen=True)
class CohortData:
    """All subjects as this computer knows them.

    Attributes:
        labels: the names of signs.
        tags: every tag in use.
        missing: how many subjects have results at the service that were not read here.
        complete: whether everything here is read; not only what was kept from the last session.
        fetching: whether the service is being read.
    """

    reading: CohortReading
    labels: Mapping[str, str]
    tags: tuple[str, ...]
    missing: int
    complete: bool
    fetching: bool


@dataclass(frozen=True)
class CohortRead(AskedRead[CohortData]):
    """All subjects, or those of a tag or with a text in their id or name."""

    cache: CohortCache
    mode: Shown = Shown.LEVEL
    order: HeatOrder = HeatOrder.NEED
    tag: str = ""
    text: str = ""
    cached = False
    refresh_every_s = 2.0  # while many subjects are read
    topics = frozenset({Changed.LIBRARY, Changed.TRAJECTORIES})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> CohortData:  # noqa: D102
        complete = self.cache.read(task)
        summaries, labels = self.cache.known()
        chosen = self.cache.tagged(self.tag) if self.tag else None
        notes = context.library.subject_notes
        found = named(summaries, lambda group_id: not self.text or notes.matches(group_id, self.text), chosen)
        reading = cohort_of(found, labels, self.mode, self.order, context.clock.now(), notes.shown)
        missing, fetching = len(self.cache.missing()), self.cache.fetching
        return CohortData(reading, labels, self.cache.tags(), missing, complete, fetching)

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:
        """The service is asked by `ReadService` alone; what is new here is read after what was kept."""
        return Asked(stored=not self.cache.complete)

    def moves(self, value: CohortData) -> bool:  # noqa: D102
        return value.fetching


@dataclass(frozen=True)
class ReadService(Command):
    """Read unknown results, one subject at a time, with half of the plan's requests; what was read stays."""

    cache: CohortCache
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        missing, budget = self.cache.missing(), context.connection.budget
        self.cache.fetching = True
        try:
            with context.results.reader() as reader:
                for index, group_id in enumerate(missing):
                    task.progress(index, len(missing))
                    wait_for_room(budget, task)
                    self.cache.fetch(reader, group_id)
        finally:
            self.cache.fetching = False
            self.cache.store()
        return Done()


@dataclass(frozen=True)
class WriteTable(Command):
    """Write subjects as a table with a data dictionary; with scores only if they are shown."""

    summaries: tuple[SubjectSummary, ...]
    labels: Mapping[str, str]
    scores: bool
    path: Path
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        path = self.path
        table = cohort_csv(self.summaries, self.labels, scores=self.scores)
        dictionary = cohort_dictionary_csv(scores=self.scores)
        write_files(path.parent, {path.name: table, f"{path.stem}_dictionary.csv": dictionary}, overwrite=True)
        context.library.note(AuditAction.EXPORTED, None, "csv")
        return Done(_("The table was written to {path}.", path=path), found=path)


class CohortViewModel(QObject):
    """All subjects, or selected ones.

    Attributes:
        look: of reports.
        service: reads more from the service.
        data: what is shown; None before anything was read.

    Signals:
        shown: (CohortReading) new content.
        tags_changed: the tags in use changed.
        refreshed: `data` was read again, or `fault` says why not.
        exported: (CommandOutcome) of a table.
    """

    shown = Signal(object)
    tags_changed = Signal()
    refreshed = Signal()
    exported = Signal(object)

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.flow, self.look, self._navigator = flow, report_look(flow), flow.navigator
        context = flow.context
        cache = CohortCache(context.library, context.results, context.clock.now)
        self.heat = CellTable((_("Subject"), ""), self)
        self.distributions = CellTable((pgettext("noun", "Sign"), _("Subjects at each level"), _("Flagged")), self)
        self.triage = CellTable((_("Level"), _("Subject"), ""), self)
        self.wanted = CohortRead(cache)
        self.data: CohortData | None = None
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)
        self.service = Work(flow.commands, self)
        self.service.busy_changed.connect(self._refresh)
        self.service.progressed.connect(self._on_progress)

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag in use."""
        return () if self.data is None else self.data.tags

    @property
    def reading(self) -> CohortReading | None:
        """The content; None before anything was read."""
        return None if self.data is None else self.data.reading

    @property
    def fault(self) -> str:
        """Why the content could not be read; empty if it could."""
        unreadable = self._screen.of(CohortRead).unreadable
        return "" if unreadable is None else unreadable.sentence

    @property
    def time_to_read(self) -> str:
        """How long reading more from the service takes."""
        missing = 0 if self.data is None else self.data.missing
        return translated(approximate_duration(expected_s(self.flow.context.connection.budget, missing)))

    @property
    def caption(self) -> str:
        """Number of subjects and recordings shown, and the age of the oldest data."""
        reading = self.reading
        if reading is None or not reading.summaries:
            return ""
        subjects = ngettext("{count:,} subject", "{count:,} subjects", len(reading.summaries))
        recordings = ngettext("{count:,} recording", "{count:,} recordings", reading.recordings)
        counts, oldest = formats.list_of([subjects, recordings]), reading.oldest_read
        if oldest is None:
            return counts
        return _("{counts}; the oldest was read {age}", counts=counts, age=age_text(oldest, self._now()))

    def show(self) -> None:
        """Page shown: cached content immediately, then updates."""
        self._screen.add(self.wanted)

    def leave(self) -> None:
        """Page hidden; reading continues."""
        self._screen.clear()

    def choose(self, **changes: Any) -> None:
        """Show other subjects, in another way or order: fields of `CohortRead`."""
        self.wanted = replace(self.wanted, **changes)
        if self._screen.read(CohortRead) is not None:
            self._screen.add(self.wanted)

    def open_subject(self, group_id: str) -> None:
        """Show one subject."""
        self._navigator.open("subject", group_id)

    def open_recording(self, group_id: str) -> None:
        """Show the newest recording of a subject."""
        entries = () if self.reading is None else self.reading.summaries
        entry = next((entry for entry in entries if entry.group_id == group_id), None)
        if entry is not None:
            route = RecordingRoute(entry.take_id, entry.job_id, entry.group_id, entry.recorded_at)
            self._navigator.open("result", route)

    @Slot()
    def read_service(self) -> None:
        """Read what is unknown from the service."""
        self.service.start(ReadService(self.wanted.cache))

    def export(self, path: Path) -> None:
        """Export the content as a table."""
        if self.data is not None:
            summaries, scores = tuple(self.data.reading.summaries), self.wanted.mode is Shown.SCORE
            run = self.flow.commands.do(WriteTable(summaries, self.data.labels, scores, path))
            run.ended.connect(self.exported)

    def _now(self) -> datetime:
        return self.flow.context.clock.now()

    @Slot()
    def _refresh(self) -> None:
        self._screen.ask(CohortRead)

    @Slot()
    def _on_progress(self) -> None:
        if self.data is not None and not self.data.fetching:
            self._refresh()

    @Slot()
    def _show(self) -> None:
        data, before = self._screen.of(CohortRead).value, self.data
        without_cache = data is not None and not data.complete and not data.reading.summaries
        if data is None or without_cache or data is before:
            self.refreshed.emit()
            return
        self.data, reading = data, data.reading
        headings = (_("Subject"), "", *(heading_of(column.label) for column in reading.columns))
        if before is None or reading.columns != before.reading.columns:
            names = (_("Subject"), "", *(column.label for column in reading.columns))
            self.heat.replace(headings, reading.heat, names)
        else:
            self.heat.show(reading.heat)
        self.distributions.show(reading.distributions)
        self.triage.show(reading.triage)
        if before is None or data.tags != before.tags:
            self.tags_changed.emit()
        self.shown.emit(reading)
        self.refreshed.emit()
        if self.wanted.tag not in ("", *data.tags):
            self.choose(tag="")


def heading_of(label: str) -> str:
    """Break a name between its words, and cut a word that no column holds."""
    if len(label) <= _HEADING_LETTERS:
        return label
    words = (word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…" for word in label.split(" "))
    return "\n".join(words)
