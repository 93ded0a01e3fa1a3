"""Messages that float over the foot of a window: nothing moves, nothing stays behind."""

import gc
import weakref

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.ui.banner import Banner, Tone

LONG = (
    "The disk or the network refused, so that nothing was sent; every recording stays here until it can be sent. " * 3
)


class Sheet(QWidget):
    """A page with two buttons and a message."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        self.buttons = [QPushButton("upper"), QPushButton("lower")]
        for button in self.buttons:
            column.addWidget(button)
        self.banner = Banner()
        self.banner.float_over(self)


@pytest.fixture
def window(qtbot):
    """Two pages, one in front."""
    stack = QStackedWidget()
    for _ in range(2):
        stack.addWidget(Sheet())
    stack.resize(900, 500)
    qtbot.addWidget(stack)
    with qtbot.waitExposed(stack):
        stack.show()
    return stack


def test_nothing_moves_when_a_message_comes_and_goes(window):
    sheet = window.widget(0)
    before = [button.geometry() for button in sheet.buttons]
    sheet.banner.say(Tone.WARN, LONG, title="Not sent", action="Try again", other="Close all")
    assert [button.geometry() for button in sheet.buttons] == before
    sheet.banner.clear()
    assert [button.geometry() for button in sheet.buttons] == before
    assert not sheet.banner.isVisible()


def test_a_message_lies_at_the_foot_and_shows_all_of_its_words(window, qtbot):
    banner = window.widget(0).banner
    banner.say(Tone.WARN, LONG, action="Try again")
    assert banner.geometry().bottom() < window.height() <= banner.geometry().bottom() + 8
    assert window.rect().contains(banner.geometry())
    assert banner._sentence.height() >= banner._sentence.heightForWidth(banner._sentence.width())


def test_two_messages_lie_side_by_side_at_the_foot(window):
    sheet, other = window.widget(0), Banner()
    other.float_over(sheet)
    sheet.banner.say(Tone.OK, "ward4-0172 is on its way.")
    other.say(Tone.OK, "The result of ward4-0172 is ready.", action="Open result")
    first, second = sheet.banner.geometry(), other.geometry()
    assert not first.intersects(second)
    assert first.bottom() == second.bottom()
    assert window.rect().contains(first.united(second))


def test_a_message_shows_with_its_page_only(window):
    banner = window.widget(0).banner
    banner.say(Tone.INFO, "Saved.")
    window.setCurrentIndex(1)
    assert not banner.isVisible()
    window.setCurrentIndex(0)
    assert banner.isVisible()


def test_a_page_takes_its_message_with_it(window, qtbot):
    gone = []
    sheet = window.widget(0)
    sheet.banner.say(Tone.INFO, "Saved.")
    sheet.banner.destroyed.connect(lambda: gone.append(True))
    window.removeWidget(sheet)
    sheet.deleteLater()
    del sheet
    qtbot.waitUntil(lambda: bool(gone))
    assert not window.findChildren(Banner)[0].isVisible()


def test_two_messages_lie_one_above_the_other(window):
    above, below = Banner(), window.widget(0).banner
    above.float_over(window)
    below.say(Tone.INFO, "Saved.")
    above.say(Tone.WARN, LONG)
    assert not above.geometry().intersects(below.geometry())


def test_every_floating_message_can_be_closed(window, qtbot):
    banner = window.widget(0).banner
    banner.say(Tone.WARN, "Something was not possible.")
    banner._close.click()
    assert not banner.isVisible()
    assert banner.words() == ""


def test_reserved_room_stays_when_the_message_goes(window):
    sheet = window.widget(0)
    held = Banner()
    held.reserve(2)
    sheet.layout().insertWidget(0, held)
    sheet.layout().activate()
    before = [button.geometry() for button in sheet.buttons]
    held.say(Tone.INFO, "Short.", action="Pause all")
    sheet.layout().activate()
    assert [button.geometry() for button in sheet.buttons] == before


def test_a_message_and_its_page_are_freed_without_the_garbage_collector(qtbot):
    gc.collect()
    gc.disable()  # it may run on a worker, where Qt's objects must not end
    try:
        sheet = Sheet()
        sheet.banner.say(Tone.INFO, "Saved.")
        freed = weakref.ref(sheet)
        sheet.deleteLater()
        QApplication.sendPostedEvents(sheet, QEvent.Type.DeferredDelete.value)
        del sheet
        assert freed() is None
    finally:
        gc.enable()
