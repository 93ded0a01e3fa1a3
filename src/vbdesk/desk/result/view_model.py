"""State of the Result page: recording, result, sound, and recordings to compare with."""

from collections import OrderedDict
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.capture.playback import Player
from vbdesk.client.errors import ClientError
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.models.course_actions import CourseActions
from vbdesk.desk.models.playback import Playback
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.report_print import ReportPrint
from vbdesk.desk.models.result_source import Found, ResultSource
from vbdesk.desk.models.result_state import ResultRemedy, ResultView, first_view, view_of
from vbdesk.desk.models.same_subject import SameSubjectRecording, neighbours, same_subject_recordings
from vbdesk.desk.result.export import ResultExport
from vbdesk.desk.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute, ReviewRoute
from vbdesk.outbox.imports.speaker_checks import confirm_voice
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_names import ShownSubject
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import VaultError
from vbdesk.outbox.results.repository import ResultRepository

_ASK_AGAIN_MS = 3000
_KEPT_VIEWS = 50

SameSubject = tuple[tuple[SameSubjectRecording, ...], tuple[SameSubjectRecording, ...]]
"""The subject's recordings before the one that is shown, and those after it; the nearest first in both."""


class ResultViewModel(QObject):
    """Reads a result from the library or the service.

    Attributes:
        export: writes the result to files.
        playback: its sound.
        course: corrections of the subject's course.

    Signals:
        shown: (ResultView) the content changed.
        failed: (str) why no newer content can be shown.
        same_subject_changed: (SameSubject) what the recording can be compared with.
        voice_confirmed: (str) title of a recording; it was noted that its voice is that of the subject.
    """

    shown = Signal(object)
    failed = Signal(str)
    same_subject_changed = Signal(object)
    voice_confirmed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        results: ResultRepository,
        sync: SyncState,
        tasks: TaskOwner,
        navigator: Navigator,
        player: Callable[[], Player],
        course: CourseActions,
        look: ReportLook,
        printing: ReportPrint,
    ) -> None:
        super().__init__()
        self._library, self._results, self._tasks, self._navigator = library, results, tasks, navigator
        self._source = ResultSource(library, results)
        self._reads = Lane(tasks, self)  # do not show an older state after a newer one
        self.export = ResultExport(profile, library, results, self._source, tasks, look, printing, self)
        self._kept: OrderedDict[RecordingRoute, ResultView] = OrderedDict()
        self._asked_for: RecordingRoute | None = None
        self._history_asked = False  # of the service, for the recording that is shown
        self._loaded: str | None = None
        self.view: ResultView | None = None
        self.same_subject: SameSubject = ((), ())
        self.playback = Playback(tasks, player, self)
        self.course = course
        course.setParent(self)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_ASK_AGAIN_MS)
        self._again.timeout.connect(self.reload)
        sync.library_changed.connect(self._on_library)
        sync.results_changed.connect(self._on_results)

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def open(self, recording: RecordingRoute) -> None:
        """Show another recording: the last known state immediately, the rest when read."""
        self.leave()
        self._asked_for, self._loaded = recording, None
        self._history_asked = False
        self.same_subject = ((), ())
        self.view = self._kept.get(recording) or first_view(recording)
        self.shown.emit(self.view)
        self._load_sound(self.view)
        self.reload()

    @Slot()
    def reload(self) -> None:
        """Read it again."""
        recording = self._asked_for
        if recording is None:
            return

        def work(context: TaskContext) -> tuple[RecordingRoute, Found, ResultView]:
            found = self._source.here(recording)
            return recording, found, view_of(found)

        self._reads.run(work, self._on_here, self._on_failed, name="result")

    def leave(self) -> None:
        """The page is hidden."""
        self._asked_for = None
        self._again.stop()
        self.course.forget()
        self.playback.close()

    @Slot()
    def correct(self) -> None:
        """Ask what to do about a recording that does not belong into the course."""
        if self.view is not None:
            self.course.ask(self.view.recording)

    def confirm_voice(self, view: ResultView) -> None:
        """Note that the voice of a recording is that of its subject, even if the comparison doubts it."""
        take_id = view.recording.take_id

        def work(context: TaskContext) -> str:
            if take_id is not None:
                confirm_voice(self._library, take_id)
            return view.title

        if take_id is not None:
            self._tasks.start(
                work,
                self._on_voice_confirmed,
                self._on_failed,
                name="confirm-voice",
            )

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
        before, after = self.same_subject
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
            self._tasks.start(lambda context: self._library.retry(take_id), None, self._on_failed, name="retry")

    def _show(self, view: ResultView) -> None:
        asked_for = self._asked_for
        if asked_for is None:
            return
        first = self.view is None or self.view.reading is None
        changed = view != self.view
        self.view = view
        if changed:
            self.shown.emit(view)
            self._load_sound(view)
        if view.reading is not None:
            self._kept[asked_for] = view
            while len(self._kept) > _KEPT_VIEWS:
                self._kept.popitem(last=False)
            if first or self.same_subject == ((), ()):
                self._look_for_same_subject(view)

    def _load_sound(self, view: ResultView) -> None:
        take_id, library = view.take_id, self._library
        if take_id is not None and take_id != self._loaded:
            self._loaded = take_id
            self.playback.load(lambda: library.audio(take_id), lambda: library.note(AuditAction.LISTENED, take_id))

    def _look_for_same_subject(self, view: ResultView) -> None:
        asked_for, ask = self._asked_for, not self._history_asked
        self._history_asked = True  # once: each answer is a change, after which this looks again

        def work(context: TaskContext) -> tuple[RecordingRoute | None, SameSubject]:
            return asked_for, self._same_subject(view, ask)

        self._tasks.start(work, self._on_same_subject, name="siblings")

    def _same_subject(self, view: ResultView, ask: bool) -> SameSubject:
        """On a worker; the service may be asked for the history if no other recording is known here."""
        found = self._neighbours(view)
        if any(found) or not view.group_id or not ask:
            return found
        try:
            self._results.fetch_trajectory(view.group_id)
        except (ClientError, VaultError):
            return found
        return self._neighbours(view)

    def _neighbours(self, view: ResultView) -> SameSubject:
        same_subject = same_subject_recordings(self._library, self._results, view.group_id)
        return neighbours(same_subject, view.recording, view.recorded_at)

    @Slot(object)
    def _on_here(self, read: tuple[RecordingRoute, Found, ResultView]) -> None:
        recording, found, view = read
        if recording != self._asked_for:
            return
        self._show(view)
        if not found.asked_of_service:
            return

        def ask(context: TaskContext) -> tuple[RecordingRoute, ResultView]:
            return recording, view_of(self._source.ask(found))

        self._tasks.start(ask, self._on_asked, self._on_failed, name="result-service")

    @Slot(object)
    def _on_voice_confirmed(self, title: str) -> None:
        self.reload()
        self.voice_confirmed.emit(title)

    @Slot(object)
    def _on_asked(self, read: tuple[RecordingRoute, ResultView]) -> None:
        recording, view = read
        if recording == self._asked_for:
            self._show(view)
            if view.coming:
                self._again.start()

    @Slot(object)
    def _on_same_subject(self, found: tuple[RecordingRoute | None, SameSubject]) -> None:
        recording, same_subject = found
        if recording == self._asked_for:
            self.same_subject = same_subject
            self.same_subject_changed.emit(same_subject)

    @Slot()
    def _on_library(self) -> None:
        """Update if this recording changed."""
        view = self.view
        if self._asked_for is not None and view is not None:
            self.reload()

    @Slot(str)
    def _on_results(self, group_id: str) -> None:
        """Update if the trajectory of its subject is newer: changes against the baseline come from it."""
        if self._asked_for is not None and self.view is not None and self.view.group_id == group_id:
            self.reload()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
