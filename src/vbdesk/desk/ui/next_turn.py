"""Calls for the next turn of the event loop, which end with their widget."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def in_next_turn(owner: QObject, call: Callable[[], object]) -> None:
    """Call after the events that wait, such as layout; never after `owner` was deleted.

    `QTimer.singleShot` of PySide6 calls a method of a deleted widget, too.
    """
    timer = QTimer(owner, singleShot=True)
    timer.timeout.connect(call)
    timer.timeout.connect(timer.deleteLater)
    timer.start(0)
