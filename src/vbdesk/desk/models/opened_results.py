"""Marks results as read: whoever opens a recording's result, or its subject, has seen them."""

from PySide6.QtCore import QObject, Slot

from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.tasks import TaskContext
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.subject_notes import SubjectNotes


class OpenedResults(QObject):
    """Hears which pages are asked for, and keeps in the library what was opened. Lives as long as the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        workspace.navigator.asked.connect(self._on_asked)

    @Slot(str, object)
    def _on_asked(self, key: str, argument: object) -> None:
        notes = SubjectNotes(self._workspace.library.store)

        def open_subject(context: TaskContext) -> None:
            notes.open_subject(str(argument))

        def open_result(context: TaskContext) -> None:
            if isinstance(argument, RecordingRoute):
                notes.open_result(take_id=argument.take_id, job_id=argument.job_id)

        if key == "subject" and isinstance(argument, str):
            self._workspace.tasks.start(open_subject, name="opened")
        elif key == "result" and isinstance(argument, RecordingRoute):
            self._workspace.tasks.start(open_result, name="opened")
