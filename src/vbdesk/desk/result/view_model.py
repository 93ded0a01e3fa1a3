"""Binds the Result page to what it reads: recording, result, sound, and recordings to compare with."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.playback import Playback
from vbdesk.desk.reports.report_look import report_look
from vbdesk.desk.result.export import ResultReport
from vbdesk.desk.result.reads import ConfirmVoice, ResultRead, SameSubject, SameSubjectRead, SendAgain
from vbdesk.desk.result.state import ResultState, result_state
from vbdesk.desk.results.correction_actions import CorrectionActions
from vbdesk.desk.results.result_state import ResultRemedy, ResultView
from vbdesk.desk.results.same_subject import SameSubjectRecording
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute, ReviewRoute
from vbdesk.language import _
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.subject_names import ShownSubject


class ResultViewModel(QObject):
    """Shows the result of one recording.

    Attributes:
        export: writes the result to files.
        look: of reports.
        playback: its sound.
        corrections: corrections of the subject's course.
        state: what the page shows.

    Signals:
        changed: (ResultState, ResultState) `state` before and now; an empty one before another recording.
        ended: (CommandOutcome) of a command for a recording.
    """

    changed = Signal(object, object)
    ended = Signal(object)

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.flow, self._context, self._navigator, self.look = flow, flow.context, flow.navigator, report_look(flow)
        self._screen = flow.screen(self)
        self.export, self.corrections = Work(flow.commands), CorrectionActions(flow)
        self.playback = Playback(flow.tasks, flow.ports.player)
        for part in (self.export, self.corrections, self.playback):
            part.setParent(self)
        self.state = ResultState()
        self._screen.changed.connect(self._show)

    @property
    def view(self) -> ResultView | None:
        """The content."""
        return self.state.view

    @property
    def same_subject(self) -> SameSubject:
        """What the recording can be compared with."""
        return self.state.same_subject

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._context.library.subject_notes.shown(group_id)

    def report(self, view: ResultView, *, scores: bool) -> ResultReport:
        """A report of a result."""
        subject = self.subject(view.group_id).text if view.group_id else view.title
        title = _("Print the report of {subject}, {recording}", subject=subject, recording=view.title)
        return ResultReport(title, view, self.look.current, scores)

    def open(self, recording: RecordingRoute) -> None:
        """Show another recording: the last known state immediately, the rest when read."""
        self.leave()
        self.state = ResultState()
        self._screen.show(ResultRead(recording), SameSubjectRead(recording))

    @Slot()
    def reload(self) -> None:
        """Read it again."""
        self._screen.ask(ResultRead)

    def leave(self) -> None:
        """The page is hidden."""
        self._screen.clear()
        self.corrections.forget()
        self.playback.close()

    @Slot()
    def correct(self) -> None:
        """Ask what to do about a recording that does not belong into the course."""
        if self.view is not None:
            self.corrections.ask(self.view.recording)

    def confirm_voice(self, view: ResultView) -> None:
        """Note that the voice of a recording is that of its subject, even if the comparison doubts it."""
        if view.recording.take_id is not None:
            self._do(ConfirmVoice(view.title, view.recording.take_id))

    @Slot()
    def open_subject(self) -> None:
        """Go to the recording's subject."""
        if self.view is not None and self.view.group_id:
            self._navigator.open("subject", self.view.group_id)

    @Slot()
    def open_subjects(self) -> None:
        """Go to the list of subjects."""
        self._navigator.open("subjects")

    def compare_with(self, other: SameSubjectRecording | None = None) -> None:
        """Compare the recording with another one; if None, with the previous or else the next one."""
        before, after = self.state.same_subject
        other = other or next(iter((*before, *after)), None)
        if other is not None and self.view is not None:
            self._navigator.open("compare", ComparisonRoute(other.recording, self.view.recording))

    @Slot()
    def remedy(self) -> None:
        """Run the remedy for a missing result."""
        view = self.view
        if view is None:
            return
        take_id = view.recording.take_id
        if view.remedy is ResultRemedy.OUTBOX:
            self._navigator.open("outbox")
        elif take_id is not None and view.remedy is ResultRemedy.REVIEW:
            self._navigator.open("record", ReviewRoute(take_id))
        elif take_id is not None and view.remedy is ResultRemedy.SEND_AGAIN:
            self._do(SendAgain(view.title, take_id))

    def _do(self, command: Command) -> None:
        self._screen.do(command).ended.connect(self._on_ended)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        self.ended.emit(outcome)

    @Slot()
    def _show(self) -> None:
        read = self._screen.read(ResultRead)
        if read is None:
            return
        before = self.state
        self.state = result_state(read.recording, self._screen.of(ResultRead), self._screen.of(SameSubjectRead))
        take_id = None if self.view is None else self.view.take_id
        if take_id is not None and (before.view is None or before.view.take_id != take_id):
            library = self._context.library
            self.playback.load(lambda: library.audio(take_id), lambda: library.note(AuditAction.LISTENED, take_id))
        if self.state != before:
            self.changed.emit(before, self.state)
