"""Marks the results of a recording or a subject as read when its page opens."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Slot

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.ui.routes import RecordingRoute


@dataclass(frozen=True)
class MarkRead(Command):
    """Store in the library that a result, or all results of a subject, were opened."""

    opened: RecordingRoute | str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        notes = context.library.subject_notes
        if isinstance(self.opened, RecordingRoute):
            notes.open_result(take_id=self.opened.take_id, job_id=self.opened.job_id)
        else:
            notes.open_subject(self.opened)
        return Done()


class OpenedResults(QObject):
    """Listens to the navigator."""

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._commands = flow.commands
        flow.navigator.asked.connect(self._on_asked)

    @Slot(str, object)
    def _on_asked(self, key: str, argument: object) -> None:
        match key, argument:
            case ("subject", str() as opened) | ("result", RecordingRoute() as opened):
                self._commands.do(MarkRead(opened))
