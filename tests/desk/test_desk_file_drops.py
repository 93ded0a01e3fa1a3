"""Files that are dropped anywhere on the window."""

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.record.page import RecordPage

_BUTTON, _PLAIN = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), RecordPage))
    return desk.window


def drop(window, data, point=QPoint(300, 300)):
    """Drag over the window and drop, as the system reports it; whether it was taken as a copy."""
    possible = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    enter = QDragEnterEvent(point, possible, data, _BUTTON, _PLAIN)
    QApplication.sendEvent(window.windowHandle(), enter)
    event = QDropEvent(QPointF(point), possible, data, _BUTTON, _PLAIN)
    QApplication.sendEvent(window.windowHandle(), event)
    return enter.isAccepted() and event.isAccepted() and event.dropAction() == Qt.DropAction.CopyAction


def files(*urls):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(url)) if not isinstance(url, str) else QUrl(url) for url in urls])
    return data


def test_a_folder_dropped_on_another_page_opens_the_import(qtbot, window, speech_file):
    window.open_page("outbox")
    assert drop(window, files(speech_file.parent, speech_file))
    page = window.page()
    assert isinstance(page, RecordPage)
    qtbot.waitUntil(lambda: page.imports.preview is not None)
    assert speech_file.name in {row.path.name for row in page.imports.rows}
    page.imports.cancel()


def test_a_file_over_a_text_field_is_imported_and_not_typed(qtbot, window, speech_file):
    page = window.page()
    field = page.ready.setup.subject
    point = field.mapTo(window, field.rect().center())
    assert drop(window, files(speech_file), point)
    qtbot.waitUntil(lambda: page.imports.preview is not None)
    assert field.text() == ""
    page.imports.cancel()


def test_what_is_no_file_here_is_not_taken(window):
    assert not drop(window, files("https://voice.example/a.wav"))
    window.cover(QWidget())
    assert not drop(window, files(__file__))
    window.uncover()
    assert window.page().imports.preview is None
