"""Erases removed recordings at the local service, until it has confirmed all of them."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.outbox.library.pending_erasures import PendingErasure, PendingErasures

_AGAIN_MS = 30_000


class ServiceErasures(QObject):
    """Processes the library's owed erasures one after the other; retries failures.

    Signals:
        failed: (str) why an erasure failed; it is retried.
    """

    failed = Signal(str)

    def __init__(
        self,
        owed: PendingErasures,
        erase: Callable[[PendingErasure], None],
        tasks: TaskOwner,
        parent: QObject | None = None,
    ) -> None:
        """Make it; `run` starts. `erase` blocks and raises LocalServiceFailed."""
        super().__init__(parent)
        self._owed, self._erase, self._tasks = owed, erase, tasks
        self._busy = self._asked_again = False
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_AGAIN_MS)
        self._again.timeout.connect(self.run)

    @Slot()
    def run(self) -> None:
        """Erase what is due."""
        self._again.stop()
        if self._busy:
            self._asked_again = True
            return
        self._busy, self._asked_again = True, False
        self._tasks.start(self._erase_due, self._on_erased, self._on_failed, name="service-erasure")

    @Slot()
    def look(self) -> None:
        """Erase what is due, but not what failed a moment ago."""
        if not self._again.isActive():
            self.run()

    def stop(self) -> None:
        """Stop retrying; the rest is erased at the next start."""
        self._again.stop()

    def _erase_due(self, context: TaskContext) -> None:
        while due := self._owed.due():
            context.check()
            self._erase(due[0])
            self._owed.settle(due[0])

    @Slot(object)
    def _on_erased(self, _nothing: None) -> None:
        self._busy = False
        if self._asked_again:
            self.run()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._busy = False
        self.failed.emit(failure.sentence)
        self._again.start()
