"""Navigation between pages."""

from PySide6.QtCore import QObject, Signal


class Navigator(QObject):
    """Requests another page by its key.

    Signals:
        asked: (str, object) key of the page and its argument (None for its default content).
    """

    asked = Signal(str, object)

    def open(self, key: str, argument: object = None) -> None:
        """Request the page `key`."""
        self.asked.emit(key, argument)
