"""State of the Cohort page: local and cached summaries; the service is read on request."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client import RequestBudget
from vbdesk.client.errors import ClientError
from vbdesk.clock import Clock
from vbdesk.desk.cohort.cohort_cache import CohortCache
from vbdesk.desk.cohort.cohort_rows import CohortReading, HeatOrder, Shown, cohort_of, named
from vbdesk.desk.cohort.export import cohort_csv, cohort_dictionary_csv
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.request_throttle import expected_s, wait_for_room
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.time_text import age_words
from vbdesk.language import N_, _, formats, joined, ngettext, pgettext, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.forecast import approximate_duration
from vbdesk.report.exports import write_files

_SHOW_EVERY_MS = 2000
"""While many subjects are read, the page is brought up to date so often."""


_HEADING_LETTERS, _LONGEST_WORD = 10, 14
_REST = N_("What was read is kept; the rest is as it was last known.")


@dataclass(frozen=True, slots=True)
class Unread:
    """Subjects with unread results at the service, and the time to read them."""

    subjects: int
    words: str


class CohortViewModel(QObject):
    """All subjects, or selected ones.

    Signals:
        shown: (CohortReading) new content.
        tags_changed: the tags in use changed.
        unread_changed: (Unread) what can be read from the service.
        progress: (Progress or None) progress of reading; None at its end.
        stale: (str) why reading ended early; empty if it did not.
        exported: (str) path of the exported table.
        failed: (str) any other error.
    """

    shown = Signal(object)
    tags_changed = Signal()
    unread_changed = Signal(object)
    progress = Signal(object)
    stale = Signal(str)
    exported = Signal(str)
    failed = Signal(str)

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        sync: SyncState,
        budget: RequestBudget,
        tasks: TaskOwner,
        navigator: Navigator,
        clock: Clock,
        flow: Flow,
        look: ReportLook,
    ) -> None:
        super().__init__()
        self.flow, self.look = flow, look
        self._library, self._results, self._budget = library, results, budget
        self._tasks, self._navigator, self._clock = tasks, navigator, clock
        self._books = CohortCache(library, results, clock.now)
        self.heat = CellTable((_("Subject"), ""), self)
        self.distributions = CellTable((pgettext("noun", "Sign"), _("Subjects at each level"), _("Flagged")), self)
        self.triage = CellTable((_("Level"), _("Subject"), ""), self)
        self.tags: tuple[str, ...] = ()
        self.mode, self.order, self.tag = Shown.LEVEL, HeatOrder.NEED, ""
        self.reading: CohortReading | None = None
        self._search = ""
        self._known = self._busy = self._again = self._seen = False
        self._fetching: Task | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_SHOW_EVERY_MS)
        self._timer.timeout.connect(self._recompute)
        sync.library_changed.connect(self._on_library_changed)
        sync.results_changed.connect(self._on_results_changed)

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
        return _("{counts}; the oldest was read {age}", counts=counts, age=age_words(oldest, self._now()))

    def show(self) -> None:
        """Page shown: cached content immediately, then updates."""
        self._seen = True
        self._recompute()

    def leave(self) -> None:
        """Page hidden; reading continues."""
        self._seen = False

    def look_for(self, text: str) -> None:
        """Show only subjects whose id contains `text`."""
        self._search = text.strip()
        self._recompute()

    def show_tag(self, tag: str) -> None:
        """Show only subjects with a tag; all if it is empty."""
        self.tag = tag
        self._recompute()

    def show_mode(self, mode: Shown) -> None:
        """Show levels, changes or scores."""
        self.mode = mode
        self._recompute()

    def sort(self, order: HeatOrder) -> None:
        """Set the order."""
        self.order = order
        self._recompute()

    def open_subject(self, group_id: str) -> None:
        """Show one subject."""
        self._navigator.open("subject", group_id)

    def open_recording(self, group_id: str) -> None:
        """Show the newest recording of a subject."""
        entries = () if self.reading is None else self.reading.summaries
        entry = next((entry for entry in entries if entry.group_id == group_id), None)
        if entry is not None:
            place = RecordingRoute(entry.take_id, entry.job_id, entry.group_id, entry.recorded_at)
            self._navigator.open("result", place)

    def read_service(self) -> None:
        """Read unknown results, one subject at a time, with half of the plan's requests."""
        if self._fetching is not None:
            return
        self.stale.emit("")
        self._fetching = self._tasks.start(
            self._fetch, self._on_fetched, self._on_fetch_failed, self._on_progress, self._on_ended, name="cohort-reads"
        )
        self._timer.start()

    def stop_reading(self) -> None:
        """Stop; what was read stays."""
        if self._fetching is not None:
            self._fetching.cancel()

    def export(self, path: Path) -> None:
        """Export the content as a table with a data dictionary; with scores only if they are shown."""
        reading, scores = self.reading, self.mode is Shown.SCORE
        labels = self._books.known()[1]

        def work(context: TaskContext) -> Path:
            table = cohort_csv(() if reading is None else reading.summaries, labels, scores=scores)
            dictionary = cohort_dictionary_csv(scores=scores)
            write_files(path.parent, {path.name: table, f"{path.stem}_dictionary.csv": dictionary}, overwrite=True)
            self._library.note(AuditAction.EXPORTED, None, "csv")
            return path

        self._tasks.start(work, self._on_exported, self._on_failed, name="export")

    def _fetch(self, context: TaskContext) -> str:
        """On a worker: read one subject after the other; always store what was read."""
        missing = self._books.missing()
        try:
            with self._results.reader() as reader:
                for place, group_id in enumerate(missing):
                    context.progress(place, len(missing))
                    wait_for_room(self._budget, context)
                    self._books.fetch(reader, group_id)
            context.progress(len(missing), len(missing))
        except ClientError as error:
            return translated(error.sentence)
        finally:
            self._books.keep()
        return ""

    @Slot()
    def _recompute(self) -> None:
        """Read local data and make rows; one run at a time."""
        if self._busy:
            self._again = True
            return
        self._busy, self._again = True, False
        first = not self._known
        if first:
            self._tasks.start(self._first, self._on_reading, self._on_read_failed, name="cohort")
        else:
            self._tasks.start(self._next, self._on_reading, self._on_read_failed, name="cohort")

    def _first(self, context: TaskContext) -> CohortReading:
        """On a worker: the cached content."""
        self._books.read_kept()
        return self._rows()

    def _next(self, context: TaskContext) -> CohortReading:
        """On a worker: the content with updates."""
        self._books.read_library(context)
        return self._rows()

    def _rows(self) -> CohortReading:
        summaries, labels = self._books.known()
        chosen = self._books.tagged(self.tag) if self.tag else None
        notes, wanted = self._library.subject_notes, self._search
        found = named(summaries, lambda group_id: not wanted or notes.matches(group_id, wanted), chosen)
        return cohort_of(found, labels, self.mode, self.order, self._now(), notes.shown)

    def _now(self) -> datetime:
        return self._clock.now()

    @Slot()
    def _on_library_changed(self) -> None:
        if self._seen:
            self._recompute()

    @Slot(str)
    def _on_results_changed(self, group_id: str) -> None:
        if self._seen and self._fetching is None:  # during long reads the timer updates the page
            self._recompute()

    @Slot(object)
    def _on_reading(self, reading: CohortReading) -> None:
        self._busy = False
        first, self._known = not self._known, True
        if first and not reading.summaries:  # without a cache, show nothing before the library was read
            self._recompute()
            return
        headings = (_("Subject"), "", *(heading_of(column.label) for column in reading.columns))
        if self.reading is None or reading.columns != self.reading.columns:
            names = (_("Subject"), "", *(column.label for column in reading.columns))
            self.heat.replace(headings, reading.heat, names)
        else:
            self.heat.show(reading.heat)
        self.distributions.show(reading.distributions)
        self.triage.show(reading.triage)
        self.reading = reading
        tags = self._books.tags()
        if tags != self.tags:
            self.tags, self.tag = tags, self.tag if self.tag in tags else ""
            self.tags_changed.emit()
        self.shown.emit(reading)
        self._tell_unread()
        if first or self._again:
            self._recompute()

    def _tell_unread(self) -> None:
        missing = len(self._books.missing())
        self.unread_changed.emit(Unread(missing, translated(approximate_duration(expected_s(self._budget, missing)))))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.progress.emit(progress)

    @Slot(object)
    def _on_fetched(self, fault: str) -> None:
        if fault:
            self.stale.emit(joined(fault, _(_REST)))

    @Slot(object)
    def _on_fetch_failed(self, failure: Failure) -> None:
        self.stale.emit(joined(failure.sentence, _(_REST)))

    @Slot()
    def _on_ended(self) -> None:
        self._fetching = None
        self._timer.stop()
        self.progress.emit(None)
        self._recompute()

    @Slot(object)
    def _on_read_failed(self, failure: Failure) -> None:
        self._busy = False
        self.failed.emit(failure.sentence)

    @Slot(object)
    def _on_exported(self, path: Path) -> None:
        self.exported.emit(str(path))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)


def heading_of(label: str) -> str:
    """Break a name between its words, and cut a word that no column holds."""
    if len(label) <= _HEADING_LETTERS:
        return label
    words = (word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…" for word in label.split(" "))
    return "\n".join(words)
