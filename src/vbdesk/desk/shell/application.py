"""The application object of Qt, which receives files that the system opens with vbdesk."""

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class DeskApplication(QApplication):
    """Handles events that macOS sends to the program. An event filter would see every event of every window.

    Signals:
        file_opened: (str) path of a file that was double-clicked; other systems pass it on the command line.
    """

    file_opened = Signal(str)

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(event.file())
            return True
        return super().event(event)
