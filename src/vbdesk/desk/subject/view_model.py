"""Binds the Subject page to what it reads: one subject over time, cached for offline use."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.reports.report_look import report_look
from vbdesk.desk.results.correction_actions import CorrectionActions
from vbdesk.desk.subject.consent_model import SubjectConsentViewModel
from vbdesk.desk.subject.reads import SubjectRead
from vbdesk.desk.subject.state import SubjectState, arrival, subject_state
from vbdesk.desk.subject.trajectory_text import SubjectReading
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _
from vbdesk.outbox.library.subject_names import ShownSubject


class SubjectViewModel(QObject):
    """Shows one subject: cached data immediately, then the service's answer.

    Attributes:
        export: exports the subject.
        look: of reports and charts.
        consent: of the subject.
        corrections: corrections of the subject's course.
        state: what the page shows.

    Signals:
        changed: (SubjectState, SubjectState) `state` before and now; an empty one before another subject.
        arrived: (str) what arrived while the page was shown, as a sentence.
    """

    changed = Signal(object, object)
    arrived = Signal(str)

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.flow, self._context, self._navigator, self.look = flow, flow.context, flow.navigator, report_look(flow)
        self._screen = flow.screen(self)
        self.export, self.consent, self.corrections = (
            Work(flow.commands),
            SubjectConsentViewModel(flow),
            CorrectionActions(flow),
        )
        for part in (self.export, self.consent, self.corrections):
            part.setParent(self)
        self.table = CellTable((_("Recorded"),), self)
        self.state = SubjectState()
        self._screen.changed.connect(self._show)

    @property
    def group_id(self) -> str:
        """The subject that is shown; empty for none."""
        read = self._screen.read(SubjectRead)
        return "" if read is None else read.group_id

    @property
    def reading(self) -> SubjectReading | None:
        """What is shown of it; None while there is nothing."""
        return self.state.reading

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._context.library.subject_notes.shown(group_id)

    def name_of(self, group_id: str) -> str:
        """What a report can print in addition to the id: alias and second line; empty if there is neither."""
        return self._context.library.subject_notes.note_of(group_id).line

    def open(self, group_id: str) -> None:
        """Show another subject."""
        self.corrections.forget()
        self.consent.open(group_id)
        self.state = SubjectState()
        self._screen.show(SubjectRead(group_id))

    def leave(self) -> None:
        """The page is hidden."""
        self.corrections.forget()
        self.consent.open("")
        self._screen.clear()

    @Slot()
    def reload(self) -> None:
        """Read from the service again."""
        self._screen.ask(SubjectRead)

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
        self.corrections.ask(RecordingRoute(job_id=job_id, group_id=self.group_id))

    def record(self) -> None:
        """Record this subject."""
        self._navigator.open("record", self.group_id)

    @Slot()
    def _show(self) -> None:
        if self._screen.read(SubjectRead) is None:
            return
        before = self.state
        self.state = subject_state(self._screen.of(SubjectRead), self._context.clock.now())
        if self.reading is not None and self.reading is not before.reading:
            self.table.replace(self.reading.headings, self.reading.rows)
        self.changed.emit(before, self.state)
        arrived = arrival(before, self.state)
        if arrived:
            self.arrived.emit(arrived)
