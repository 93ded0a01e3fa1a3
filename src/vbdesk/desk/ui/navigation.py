"""From page to page."""

from PySide6.QtCore import QObject, Signal


class Navigator(QObject):
    """Lets a page ask for another one by its key.

    Signals:
        asked: (str, object) key of the page, and what it should show there (None for its usual content).
    """

    asked = Signal(str, object)

    def open(self, key: str, argument: object = None) -> None:
        """Ask for the page `key`."""
        self.asked.emit(key, argument)
