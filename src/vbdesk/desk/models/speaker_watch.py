"""Compares the voices of new recordings in the background, whichever way they came in."""

from PySide6.QtCore import QObject, QTimer, Slot

from vbdesk.desk.flow.tasks import TaskContext, TaskOwner
from vbdesk.outbox.imports.speaker_checks import SpeakerChecks
from vbdesk.outbox.library.library import Library

_QUIET_MS = 3000  # after a change of the library, and between two recordings: sending and recording come first


class SpeakerWatch(QObject):
    """Runs the voice comparison of one library, one recording at a time."""

    def __init__(self, library: Library, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._checks, self._tasks = SpeakerChecks(library), tasks
        self._busy = self._again = self._stopped = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_QUIET_MS)
        self._timer.timeout.connect(self.look)

    @Slot()
    def wait(self) -> None:
        """Look soon: the library changed."""
        if not self._stopped and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def look(self) -> None:
        """Compare one recording, if there is a new one."""
        if self._busy:
            self._again = True
            return
        self._busy, self._again = True, False

        def work(context: TaskContext) -> bool:
            return self._checks.step()

        self._tasks.start(work, self._on_compared, finished=self._on_finished, name="speaker-watch")

    def stop(self) -> None:
        """Stop; the next start goes on."""
        self._stopped = True
        self._timer.stop()

    @Slot(object)
    def _on_compared(self, found: bool) -> None:
        self._again = self._again or found

    @Slot()
    def _on_finished(self) -> None:
        self._busy = False
        if self._again:
            self.wait()
