"""Files and folders that are dropped anywhere on a window."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget


class FileDrops(QObject):
    """Takes dropped files before any field gets them: a text field would insert their paths.

    Signals:
        dropped: (list[Path]) files and folders.
    """

    dropped = Signal(object)

    def __init__(self, window: QWidget, allowed: Callable[[], bool]) -> None:
        """Watch `window`; files are refused while `allowed` is false."""
        super().__init__(window)
        self._window, self._allowed = window, allowed
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        kind = event.type()
        if kind == QEvent.Type.Show and watched is self._window:
            self._window.windowHandle().installEventFilter(self)
        elif kind in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            return watched is not self._window and isinstance(event, QDropEvent) and self._take(event)
        return False

    def _take(self, event: QDropEvent) -> bool:
        """Handle a drag of files; another one goes on to the field below it."""
        urls = event.mimeData().urls()
        if not urls:
            return False
        paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
        if not paths or not self._allowed():
            event.ignore()
            return True
        event.setDropAction(Qt.DropAction.CopyAction)  # a move would delete the files
        event.accept()
        if event.type() == QEvent.Type.Drop:
            self.dropped.emit(paths)
        return True
