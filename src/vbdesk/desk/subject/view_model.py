"""State of the Subject page: one subject over time, from the service, cached for offline use."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client.errors import NotFound
from vbdesk.clock import Clock
from vbdesk.contract.longitudinal import TrajectoryRead, TrajectoryRunning
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.models.course_actions import CourseActions
from vbdesk.desk.subject.consent_model import SubjectConsentViewModel
from vbdesk.desk.subject.export import SubjectExport
from vbdesk.desk.subject.trajectory_text import SubjectReading, age_words, subject_of
from vbdesk.desk.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.time_text import moment_in_sentence
from vbdesk.language import _, joined, ngettext
from vbdesk.outbox.library.consent_rows import SubjectConsent
from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.library.subject_names import ShownSubject
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.connectivity import SyncStatus

_REMEMBERED = 8  # number of last viewed subjects
_LOOK_AGAIN_MS = 60_000  # to find results that another computer sent


@dataclass(frozen=True, slots=True)
class _Answer:
    """Outcome of a read: a reading, still computing, or an error."""

    group_id: str
    found: SubjectReading | TrajectoryRunning | str


class SubjectViewModel(QObject):
    """Shows one subject: cached data immediately, then the service's answer.

    Attributes:
        export: exports the subject.
        consent: of the subject.
        course: corrections of the subject's course.
        loading: nothing is known before the first answer.

    Signals:
        shown: (SubjectReading) new content.
        waiting: (str) why there is nothing to show yet.
        stale: (str) why the content may be old; empty if it is not.
        aged: (str) age of the content, and whether an update is being read.
        arrived: (str) what arrived while the page was shown, as a sentence.
    """

    shown = Signal(object)
    waiting = Signal(str)
    stale = Signal(str)
    aged = Signal(str)
    arrived = Signal(str)

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        sync: SyncState,
        tasks: TaskOwner,
        navigator: Navigator,
        clock: Clock,
        export: SubjectExport,
        consent: SubjectConsentViewModel,
        course: CourseActions,
    ) -> None:
        super().__init__()
        self._library, self._results = library, results
        self._tasks, self._navigator, self._clock = tasks, navigator, clock
        self.export, self.consent, self.course = export, consent, course
        for part in (export, consent, course):
            part.setParent(self)
        self.table = CellTable((_("Recorded"),), self)
        self.group_id = ""
        self._known_consent = SubjectConsent()
        self.reading: SubjectReading | None = None
        self._recent: OrderedDict[str, SubjectReading] = OrderedDict()
        self.loading = False
        self._done = 0
        self._asking: dict[QObject, str] = {}  # subjects that the service is asked about, by task
        self._failed = False
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.reload)
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_AGAIN_MS)
        self._look.timeout.connect(self.reload)
        self._here = Lane(tasks, self)  # do not show an older state after a newer one
        sync.counts_changed.connect(self._on_counts)
        sync.library_changed.connect(self._read_here)
        sync.results_changed.connect(self._on_results)
        sync.status_changed.connect(self._on_status)
        consent.changed.connect(self._on_consent)

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def open(self, group_id: str) -> None:
        """Show another subject."""
        self._again.stop()
        self._look.start()
        self.group_id = group_id
        self.consent.open(group_id)
        known = self._recent.get(group_id)
        self.reading = None
        self.loading = known is None
        if known is not None:
            self._show(known)
        else:
            self.waiting.emit(_("Reading the trajectory."))

            def work(context: TaskContext) -> _Answer:
                return _Answer(group_id, self._kept(group_id) or "")

            self._tasks.start(work, self._on_kept, name="kept trajectory")
        self.reload()

    def leave(self) -> None:
        """The page is hidden."""
        self.course.forget()
        self._again.stop()
        self._look.stop()
        self.group_id = ""
        self.consent.open("")

    @Slot()
    def reload(self) -> None:
        """Read from the service again."""
        group_id = self.group_id
        if not group_id:
            return

        def work(context: TaskContext) -> _Answer:
            return _Answer(group_id, self._read(group_id))

        task = self._tasks.start(work, self._on_read, self._on_failed, finished=self._on_asked, name="trajectory")
        self._asking[task] = group_id
        self._tell_age()

    def open_recording(self, job_id: str) -> None:
        """Show the result of one recording."""
        rows = () if self.reading is None else self.reading.rows
        recorded_at = next((row.recorded_at for row in rows if row.key == job_id), None)
        self._navigator.open("result", RecordingRoute(job_id=job_id, group_id=self.group_id, recorded_at=recorded_at))

    def open_subjects(self) -> None:
        """Go back to all subjects."""
        self._navigator.open("subjects")

    def correct(self, job_id: str) -> None:
        """Ask what to do about a recording that does not belong into the course."""
        self.course.ask(RecordingRoute(job_id=job_id, group_id=self.group_id))

    def record(self) -> None:
        """Record this subject."""
        self._navigator.open("record", self.group_id)

    def _kept(self, group_id: str) -> SubjectReading | None:
        """On a worker: what this computer knows."""
        stored = self._results.history(group_id)
        if stored is None:
            return None
        return self._reading(stored.value, stored.read_at if stored.read_at.tzinfo else None)

    def _read(self, group_id: str) -> SubjectReading | TrajectoryRunning | str:
        """On a worker: read from the service."""
        try:
            read = self._results.fetch_trajectory(group_id)
        except NotFound:
            joined = self._kept(group_id) if self._results.is_joined(group_id) else None
            return joined or self._nothing_yet(group_id)
        if isinstance(read, TrajectoryRunning):
            return read
        return self._kept(group_id) or self._nothing_yet(group_id)

    def _reading(self, read: TrajectoryRead, read_at: datetime | None = None) -> SubjectReading | None:
        """On a worker; None if the subject has no recording with a result."""
        items = self._library.list(ItemFilter(group_id=read.group_id))
        outside = self._results.excluded(read.group_id)
        if not read.data_points and not outside:
            return None
        consents, count = self._library.consent_gate.all(), self._results.counts.of(read.group_id)
        return subject_of(read, self._clock.now(), items, read_at, consents, outside, count)

    def _nothing_yet(self, group_id: str) -> str:
        items = self._library.list(ItemFilter(group_id=group_id))
        moving = sum(item.state in ON_THEIR_WAY for item in items)
        if moving:
            return ngettext(
                "{count} recording is on the way. The charts appear with the first result.",
                "{count} recordings are on the way. The charts appear with the first result.",
                moving,
            )
        return _("No recording of this subject has a result yet.")

    def _show(self, reading: SubjectReading) -> None:
        before = self.reading
        self._remember(reading)
        self.table.replace(reading.headings, reading.rows)
        self.shown.emit(reading)
        more = 0 if before is None else len(set(reading.chart.jobs) - set(before.chart.jobs))
        if more:
            arrived = ngettext("{count} new result.", "{count} new results.", more)
            self.arrived.emit(joined(arrived, reading.sentence))

    def _remember(self, reading: SubjectReading) -> None:
        self.reading = self._recent[reading.group_id] = reading
        self._recent.move_to_end(reading.group_id)
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def _tell_age(self) -> None:
        if self.reading is None:
            self.aged.emit("")
            return
        read_at, now = self.reading.read_at, self._clock.now()
        if self.group_id in self._asking.values():
            self.aged.emit(_("Read {moment}, asking for newer", moment=moment_in_sentence(read_at, now)))
        else:
            self.aged.emit(age_words(read_at, now))

    @Slot(object)
    def _on_kept(self, answer: _Answer) -> None:
        if answer.group_id == self.group_id and self.reading is None and isinstance(answer.found, SubjectReading):
            self._show(answer.found)
            self._tell_age()
            if self._failed:
                self.stale.emit(self._old_words(""))

    @Slot(object)
    def _on_read(self, answer: _Answer) -> None:
        if answer.group_id != self.group_id:
            return
        self._failed = self.loading = False
        if isinstance(answer.found, SubjectReading):
            self.stale.emit("")
            if self.reading is None or self._differs(answer.found):
                self._show(answer.found)
            else:
                self._remember(answer.found)
        elif isinstance(answer.found, TrajectoryRunning):
            self._again.start(1000 * max(1, answer.found.retry_after_seconds))
            if self.reading is None:
                self.waiting.emit(_("The trajectory is being computed. It appears here automatically."))
        else:
            self.reading = None
            self._recent.pop(answer.group_id, None)
            self.stale.emit("")
            self.waiting.emit(answer.found)

    def _differs(self, other: SubjectReading) -> bool:
        return self.reading is None or _shown_by(self.reading) != _shown_by(other)

    @Slot()
    def _read_here(self) -> None:
        """Show what this computer knows by now: a recording was corrected, erased, or has a result."""
        group_id = self.group_id
        if not group_id or self.loading:
            return

        def work(context: TaskContext) -> _Answer:
            return _Answer(group_id, self._kept(group_id) or self._nothing_yet(group_id))

        self._here.run(work, self._on_here, self._on_failed, name="subject-here")

    @Slot(str)
    def _on_results(self, group_id: str) -> None:
        if group_id == self.group_id:
            self._read_here()

    @Slot(object)
    def _on_here(self, answer: _Answer) -> None:
        if answer.group_id != self.group_id:
            return
        if isinstance(answer.found, SubjectReading):
            if self._differs(answer.found):
                self._show(answer.found)
        elif self.reading is not None:
            self.reading = None
            self._recent.pop(answer.group_id, None)
            self.waiting.emit(str(answer.found))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        if self._asking.get(self.sender(), self.group_id) != self.group_id:  # another subject is shown by now
            return
        self._failed, self.loading = True, False
        if self.reading is not None:
            self.stale.emit(self._old_words(failure.sentence))
        else:
            self.stale.emit(failure.sentence)
            self.waiting.emit(_("There is nothing to show until the service answers."))

    def _old_words(self, why: str) -> str:
        if self.reading is None:
            return why
        moment = moment_in_sentence(self.reading.read_at, self._clock.now())
        return joined(why, _("The charts show what was last read, {moment}.", moment=moment))

    @Slot()
    def _on_asked(self) -> None:
        self._asking.pop(self.sender(), None)
        self._tell_age()

    @Slot(object)
    def _on_counts(self, counts: dict[OutboxState, int]) -> None:
        """Read again if a result has arrived."""
        done, before = counts[OutboxState.DONE], self._done
        self._done = done
        if done != before and self.group_id:
            self.reload()

    @Slot()
    def _on_consent(self) -> None:
        """Read again where rows say that no consent is noted, or said so before."""
        if self.group_id and self.reading is not None and self.consent.reading.consent != self._known_consent:
            self._known_consent = self.consent.reading.consent
            self.reload()

    @Slot(object)
    def _on_status(self, status: SyncStatus) -> None:
        """Read again when the service is reachable."""
        if status.connected and self._failed and self.group_id:
            self._failed = False
            self.reload()


def _shown_by(reading: SubjectReading) -> tuple[object, ...]:
    """The parts of a reading that the page shows, to find out whether two readings look the same."""
    rows = [(row.key, row.excluded, row.lacks_consent) for row in reading.rows]
    chart = reading.chart
    return reading.computed_at, reading.sentence, chart.marks, chart.jobs, chart.voice_questions, rows
