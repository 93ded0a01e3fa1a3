"""Erases removed recordings at the local service, until it has confirmed all of them."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Commands, Done, Work
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import TaskContext

_RETRY_MS = 30_000


@dataclass(frozen=True)
class EraseAtService(Command):
    """Process the erasures that the library owes, one after the other."""

    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        erasures = context.library.erasures
        while erasures is not None and (due := erasures.due()):
            task.check()
            context.connection.erase_at_service(due[0])
            erasures.settle(due[0])
        return Done()


class ServiceErasures(QObject):
    """Erases what is due; retries failures.

    Signals:
        failed: (str) why an erasure failed; it is retried.
    """

    failed = Signal(str)

    def __init__(self, commands: Commands, parent: QObject | None = None) -> None:
        """Make it; `run` starts."""
        super().__init__(parent)
        self._work = Work(commands, self)
        self._work.ended.connect(self._on_ended)
        self._asked_again = False
        self._retry_timer = QTimer(self)
        self._retry_timer.setSingleShot(True)
        self._retry_timer.setInterval(_RETRY_MS)
        self._retry_timer.timeout.connect(self.run)

    @Slot()
    def run(self) -> None:
        """Erase what is due."""
        self._retry_timer.stop()
        self._asked_again = self._work.busy
        self._work.start(EraseAtService())

    @Slot()
    def check(self) -> None:
        """Erase what is due, but not what failed a moment ago."""
        if not self._retry_timer.isActive():
            self.run()

    def stop(self) -> None:
        """Stop retrying; the rest is erased at the next start."""
        self._retry_timer.stop()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.failed.emit(outcome.sentence)
            self._retry_timer.start()
        elif self._asked_again:
            self.run()
