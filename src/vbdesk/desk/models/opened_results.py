"""Marks the results of a recording or a subject as read when its page opens."""

from PySide6.QtCore import QObject, Slot

from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.tasks import TaskContext, TaskOwner
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.subject_notes import SubjectNotes


class OpenedResults(QObject):
    """Listens to the navigator, and stores in the library which results were opened."""

    def __init__(self, navigator: Navigator, notes: SubjectNotes, tasks: TaskOwner, parent: QObject) -> None:
        super().__init__(parent)
        self._notes, self._tasks = notes, tasks
        navigator.asked.connect(self._on_asked)

    @Slot(str, object)
    def _on_asked(self, key: str, argument: object) -> None:
        notes = self._notes

        def open_subject(context: TaskContext) -> None:
            notes.open_subject(str(argument))

        def open_result(context: TaskContext) -> None:
            if isinstance(argument, RecordingRoute):
                notes.open_result(take_id=argument.take_id, job_id=argument.job_id)

        if key == "subject" and isinstance(argument, str):
            self._tasks.start(open_subject, name="opened")
        elif key == "result" and isinstance(argument, RecordingRoute):
            self._tasks.start(open_result, name="opened")
