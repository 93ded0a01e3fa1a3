"""Whole exports from the desk: from the menu through the file dialog to the message, with nothing on the GUI thread."""

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QFileDialog

from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.states import OutboxState


@pytest.fixture
def choose(qtbot):
    """Choose a file or folder in the dialog that opens."""

    def dialogs():
        return [top for top in QApplication.topLevelWidgets() if isinstance(top, QFileDialog) and top.isVisible()]

    def wait(path):
        qtbot.waitUntil(lambda: len(dialogs()) == 1)
        [dialog] = dialogs()
        dialog.fileSelected.emit(str(path))
        dialog.close()

    return wait


def entry(menu, words):
    [found] = [action for action in menu.actions() if action.text() == words]
    return found


def test_one_recording_becomes_a_pdf(shelf, service, workspace, pulse_job, gui_guard, choose, tmp_path, qtbot):
    guard, _ = gui_guard
    take_id = shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(RecordingRoute(take_id=take_id, group_id="a-1"))
    qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
    entry(page.export_menu, "Report of this recording (PDF)").trigger()
    file = tmp_path / "folder" / "report.pdf"
    choose(file)
    qtbot.waitUntil(page.banner.print_button.isVisible)
    assert len(PdfReader(file).pages) == 2
    assert guard.calls == []
    page.closed()


def test_a_selection_becomes_one_pdf(shelf, service, open_listed, gui_guard, choose, tmp_path, qtbot):
    guard, _ = gui_guard
    for group_id in ("a-1", "b-1"):
        shelf.put(group_id)
    page = open_listed(SubjectsPage, 2)
    entry(page.export_menu, "One report over time (PDF)").trigger()
    choose(tmp_path)
    qtbot.waitUntil(page.banner.print_button.isVisible)
    [file] = tmp_path.glob("vbdesk-pdf-*/subjects.pdf")
    assert len(PdfReader(file).pages) >= 3
    assert guard.calls == []


def test_the_guard_of_these_tests_sees_an_export_on_the_gui_thread(workspace, gui_guard, tmp_path):
    """Control: the same write, made by an object of the desk on this thread, is reported."""
    guard, _ = gui_guard
    from vbdesk.report.exports import write_files

    source = "def write(self, write_files, folder):\n    write_files(folder, {'report.pdf': b'%PDF'})\n"
    scope = {}
    from gui_guard import DESK

    exec(compile(source, f"{DESK}subject/export.py", "exec"), scope)
    scope["write"](QObject(), write_files, tmp_path)
    assert any("open" in call for call, _ in guard.calls)
    guard.calls.clear()
