"""Calls for the next turn of the event loop."""

import shiboken6
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.next_turn import in_next_turn


class Asks(QWidget):
    def __init__(self):
        super().__init__()
        self.called = []
        in_next_turn(self, self.call)

    @Slot()
    def call(self):
        self.called.append(self.isVisible())


def test_a_call_comes_once_and_leaves_no_timer(qtbot):
    asks = Asks()
    qtbot.addWidget(asks)
    assert asks.called == []
    qtbot.waitUntil(lambda: not asks.children())
    qtbot.wait(20)
    assert len(asks.called) == 1


def test_a_deleted_widget_is_not_called(qtbot):
    asks, other = Asks(), Asks()
    qtbot.addWidget(other)
    shiboken6.delete(asks)
    qtbot.waitUntil(lambda: bool(other.called))
    assert asks.called == []
