"""State of the Result page: which recording, what was heard, its sound."""

from dataclasses import dataclass, replace
from datetime import datetime

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client.errors import ClientError
from vbdesk.contract.jobs import Job
from vbdesk.desk.places import Recording
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.desk.viewmodels.playback import Playback
from vbdesk.desk.viewmodels.result_reading import ResultReading, reading_of, title_of
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.audit import Deed
from vbdesk.outbox.items import ItemFilter, RecordingItem
from vbdesk.outbox.store import UnknownTake

_ASK_AGAIN_MS = 3000


@dataclass(frozen=True, slots=True)
class ResultView:
    """What the page shows.

    Attributes:
        reading: None while there is no result.
        waiting: why there is none yet, in words; empty when there is.
        take_id: the recording on this computer; None when its sound is not here.
    """

    title: str
    group_id: str
    caption: str
    reading: ResultReading | None
    waiting: str
    take_id: str | None


class NoSuchResult(Exception):
    """There is nothing to show; `str(error)` is a sentence for a person."""


class ResultViewModel(QObject):
    """Reads a result from the library or the service.

    Signals:
        shown: (ResultView) something else is to be shown.
        failed: (str) why nothing can be shown.
        loading_changed: (bool) a read is under way.
    """

    shown = Signal(object)
    failed = Signal(str)
    loading_changed = Signal(bool)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._recording: Recording | None = None
        self._view: ResultView | None = None
        self.playback = Playback(workspace.tasks, workspace.outside.player, self)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_ASK_AGAIN_MS)
        self._again.timeout.connect(self.reload)

    @property
    def view(self) -> ResultView | None:
        """What is shown."""
        return self._view

    def open(self, recording: Recording) -> None:
        """Show another recording."""
        self.leave()
        self._recording = recording
        self._view = None
        self.reload()

    @Slot()
    def reload(self) -> None:
        """Read it again."""
        recording = self._recording
        if recording is None:
            return
        self.loading_changed.emit(True)

        def work(context: TaskContext) -> tuple[Recording, ResultView]:
            return recording, self._read(recording)

        self._workspace.tasks.start(work, self._on_read, self._on_failed, name="result")

    def leave(self) -> None:
        """The page is no longer seen."""
        self._again.stop()
        self.playback.close()

    def open_subject(self) -> None:
        """Go to the recording's subject."""
        if self._view is not None and self._view.group_id:
            self._workspace.navigator.open("subject", self._view.group_id)

    def open_subjects(self) -> None:
        """Go to the list of subjects."""
        self._workspace.navigator.open("subjects")

    def _read(self, recording: Recording) -> ResultView:
        """On a worker: from the library where it is there, else from the service."""
        item = self._item(recording)
        if item is not None and item.result is not None:
            return _view_of_item(item)
        job_id = recording.job_id or (item.job_id if item else None)
        if job_id is None:
            if item is None:
                raise NoSuchResult("This recording is no longer on this computer, and the service was not asked.")
            return _waiting_view(item)
        try:
            with self._workspace.client() as client:
                job = client.jobs.get(job_id)
        except ClientError:
            if item is None:
                raise
            return _waiting_view(item)
        return _view_of_job(job, recording, item)

    def _item(self, recording: Recording) -> RecordingItem | None:
        library = self._workspace.library
        if recording.take_id is not None:
            try:
                return library.get(recording.take_id)
            except UnknownTake:
                return None
        items = library.list(ItemFilter(group_id=recording.group_id))
        return next((item for item in items if item.job_id == recording.job_id), None)

    @Slot(object)
    def _on_read(self, read: tuple[Recording, ResultView]) -> None:
        recording, view = read
        if recording != self._recording:
            return
        self.loading_changed.emit(False)
        before, self._view = self._view, view
        if view != before:
            self.shown.emit(view)
        if view.waiting:
            self._again.start()
        take_id = view.take_id
        if take_id is not None and (before is None or before.take_id != take_id):
            library = self._workspace.library
            self.playback.load(lambda: library.audio(take_id), lambda: library.note(Deed.LISTENED, take_id))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.loading_changed.emit(False)
        self.failed.emit(failure.sentence)


def _view_of_item(item: RecordingItem) -> ResultView:
    if item.result is None:
        return _waiting_view(item)
    reading = reading_of(item.result)
    caption = " · ".join(part for part in (reading.target, item.protocol.replace("_", " ").replace("-", " ")) if part)
    return ResultView(title_of(item.recorded_at), item.group_id, caption, reading, "", item.take_id)


def _waiting_view(item: RecordingItem) -> ResultView:
    waiting = item.reason or "There is no result yet. It appears here by itself."
    return ResultView(title_of(item.recorded_at), item.group_id, str(item.target), None, waiting, item.take_id)


def _view_of_job(job: Job, recording: Recording, item: RecordingItem | None) -> ResultView:
    recorded_at: datetime | None = item.recorded_at if item else getattr(job, "recorded_at", None)
    group_id = (item.group_id if item else recording.group_id) or ""
    target = job.model_name or job.sign_name or ""
    view = ResultView(
        title_of(recorded_at or recording.recorded_at or job.created_at),
        group_id,
        target,
        None,
        "",
        item.take_id if item else None,
    )
    if job.result is not None:
        reading = reading_of(job.result, job.model_dump_json(indent=2))
        return replace(view, reading=reading, caption=reading.target)
    if job.status.terminal:
        ended = "timed out" if job.status.value == "timed-out" else "failed"
        raise NoSuchResult(f"The analysis of this recording {ended}. The recording is kept and can be sent again.")
    return replace(view, waiting="The service is analysing this recording. The result appears here by itself.")
