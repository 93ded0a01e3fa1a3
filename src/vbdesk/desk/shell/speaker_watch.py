"""Compares the voices of new recordings in the background, whichever way they came in."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done, Work
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.outbox.imports.speaker_checks import SpeakerChecks

_QUIET_MS = 3000  # after a change of the library, and between two recordings: sending and recording come first


@dataclass(frozen=True)
class CompareVoice(Command):
    """Compare one recording, if there is a new one. Finds whether there was."""

    checks: SpeakerChecks
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=self.checks.step())


class SpeakerWatch(QObject):
    """Runs the voice comparison of one library, one recording at a time."""

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._checks, self._work = SpeakerChecks(flow.context.library), Work(flow.commands, self)
        self._work.ended.connect(self._on_ended)
        self._compare_again = self._stopped = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_QUIET_MS)
        self._timer.timeout.connect(self.compare)
        flow.context.sync.library_changed.connect(self.wait)

    @Slot()
    def wait(self) -> None:
        """Look soon: the library changed."""
        if not self._stopped and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def compare(self) -> None:
        """Compare one recording, if there is a new one."""
        self._compare_again = self._work.busy
        self._work.start(CompareVoice(self._checks))

    def stop(self) -> None:
        """Stop; the next start goes on."""
        self._stopped = True
        self._timer.stop()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if self._compare_again or outcome.done.found:
            self.wait()
