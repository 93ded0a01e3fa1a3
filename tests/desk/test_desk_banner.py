"""Messages that float over the foot of a window: nothing moves, nothing stays behind."""

import gc
import weakref

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action

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
    sheet.banner.say(
        Tone.WARN, LONG, NoticeAction("Try again", print), NoticeAction("Close all", print), title="Not sent"
    )
    assert [button.geometry() for button in sheet.buttons] == before
    sheet.banner.clear()
    assert [button.geometry() for button in sheet.buttons] == before
    assert not sheet.banner.isVisible()


def test_a_message_lies_at_the_foot_and_shows_all_of_its_words(window, qtbot):
    banner = window.widget(0).banner
    banner.say(Tone.WARN, LONG, NoticeAction("Try again", print))
    assert banner.geometry().bottom() < window.height() <= banner.geometry().bottom() + 8
    assert window.rect().contains(banner.geometry())
    assert banner._sentence.height() >= banner._sentence.heightForWidth(banner._sentence.width())


def test_two_messages_lie_side_by_side_at_the_foot(window):
    sheet, other = window.widget(0), Banner()
    other.float_over(sheet)
    sheet.banner.say(Tone.OK, "ward4-0172 is on its way.")
    other.say(Tone.OK, "The result of ward4-0172 is ready.", NoticeAction("Open result", print))
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
    assert banner.text() == ""


def test_reserved_room_stays_when_the_message_goes(window):
    sheet = window.widget(0)
    held = Banner()
    held.reserve(2)
    sheet.layout().insertWidget(0, held)
    sheet.layout().activate()
    before = [button.geometry() for button in sheet.buttons]
    held.say(Tone.INFO, "Short.", NoticeAction("Pause all", print))
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


def test_a_press_goes_through_while_the_message_only_counts_on(window, qtbot):
    done, banner = [], window.widget(0).banner
    cancel = NoticeAction("Cancel", lambda: done.append("cancel"))
    banner.say(Tone.INFO, "1 of 9", cancel)
    qtbot.mousePress(banner.button, Qt.MouseButton.LeftButton)
    banner.say(Tone.INFO, "2 of 9", cancel)
    qtbot.mouseRelease(banner.button, Qt.MouseButton.LeftButton)
    assert done == ["cancel"]


def test_a_press_that_began_on_an_earlier_message_does_nothing(window, qtbot):
    done, banner = [], window.widget(0).banner
    banner.say(Tone.INFO, "Saved.", NoticeAction("Open", lambda: done.append("open")))
    qtbot.mousePress(banner.button, Qt.MouseButton.LeftButton)
    banner.say(Tone.WARN, "Destroy it?", NoticeAction("Destroy", lambda: done.append("destroy")))
    qtbot.mouseRelease(banner.button, Qt.MouseButton.LeftButton)
    assert done == []
    qtbot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    assert done == ["destroy"]


def test_closing_tells_the_notice_and_does_none_of_its_actions(window, qtbot):
    done, banner = [], window.widget(0).banner
    undo = NoticeAction("Undo", lambda: done.append("undo"))
    for actions in ((undo,), (undo, close_action())):
        banner.show_notice(Notice(Tone.INFO, "Deleted.", actions, closed=lambda: done.append("closed")))
        close = banner._close if len(actions) == 1 else banner.other_button
        assert (banner._close.isVisible(), banner.other_button.isVisible()) == (len(actions) == 1, len(actions) == 2)
        qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
        assert not banner.isVisible()
        for button in (banner.button, banner.other_button, banner.print_button):
            button.click()  # as a press that was on its way
    assert done == ["closed", "closed"]


def test_a_message_is_withdrawn_by_its_topic_only(window):
    banner = window.widget(0).banner
    banner.say(Tone.WARN, "The service does not answer.", topic="offline")
    banner.withdraw("progress")
    assert banner.isVisible()
    banner.withdraw("offline")
    assert not banner.isVisible()
