"""Printing of reports from the pages, after an export and directly."""

import numpy as np
import pytest
from pypdf import PdfReader
from pypdfium2 import PdfDocument
from PySide6.QtCore import Qt
from PySide6.QtGui import QPageSize
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtWidgets import QApplication, QDialog

import vbdesk.desk.reports.report_menus as report_menus
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.reports.report_look import ReportLook, report_look
from vbdesk.desk.reports.subjects_export import MOST_PRINTED
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.system_printer import PrintingFailed, PrintJob
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.report.documents.report_input import PageSize
from vbdesk.report.drawing.style import Look
from vbdesk.report.exports import ExportFormat

NAME = "Erika Mustermann"


class DialogTwin(QDialog):
    """The system's print dialog refuses a printer that is a file."""

    def __init__(self, device, parent):
        super().__init__(parent)
        self.device = device

    def setOption(self, option, on):
        self.options = getattr(self, "options", {}) | {option.name: on}


@pytest.fixture(autouse=True)
def dialogs(monkeypatch):
    monkeypatch.setattr(report_menus, "QPrintDialog", DialogTwin)


@pytest.fixture
def dialog(qtbot):
    """Wait for the dialog that opens."""

    def opened():
        return [top for top in QApplication.topLevelWidgets() if isinstance(top, DialogTwin) and top.isVisible()]

    def wait():
        qtbot.waitUntil(lambda: len(opened()) == 1)
        return opened()[0]

    return wait


@pytest.fixture
def printed(monkeypatch):
    """Records what pages are made of, and makes a small one: the calls, by order."""
    calls = []

    def pages(records, options):
        calls.append(([record.group_id for record in records], options))
        return [PAGE]

    monkeypatch.setattr("vbdesk.report.documents.reports.printed_pages", pages)
    return calls


PAGE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415478da63f8ffff3f0005fe02fe"
    "0def46b80000000049454e44ae426082"
)


@pytest.fixture
def result_page(shelf, service, workspace, pulse_job, qtbot):
    """The result of subject a-1, who has a name here."""
    workspace.library.subject_notes.store("a-1", SubjectNote(alias=NAME))
    take_id = shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(1180, 800)
    page.show()
    page.opened(RecordingRoute(take_id=take_id, group_id="a-1"))
    qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
    yield page
    page.closed()


def settled(page, qtbot):
    """Wait for the end of printing; what the message says."""
    model = page.printing
    qtbot.waitUntil(lambda: model.button.text() == "Close" and not model.isHidden())
    return model.text()


def audited(workspace):
    return [row["detail"] for row in workspace.library.store.rows("SELECT detail FROM audit WHERE what = 'exported'")]


def likeness(one, other):
    """Correlation of two pages, seen from so far that letters are grey."""
    seen = [np.asarray(page.render(scale=0.5).to_pil().convert("L").resize((60, 85)), float) for page in (one, other)]
    return np.corrcoef(seen[0].ravel(), seen[1].ravel())[0, 1]


def test_an_exported_report_is_printed_from_its_message_with_the_same_pages(
    result_page, workspace, printers, dialog, tmp_path, qtbot
):
    page, file = result_page, tmp_path / "out" / "report.pdf"
    page.export_to(ExportFormat.PDF, page.view_model.view, str(file))
    qtbot.waitUntil(page.banner.print_button.isVisible)
    assert (page.banner.button.text(), page.banner.other_button.text()) == ("Open", "Show in folder")
    qtbot.mouseClick(page.banner.print_button, Qt.MouseButton.LeftButton)
    found = dialog()
    assert NAME in found.windowTitle() and found.options == {"PrintToFile": False}
    found.accept()
    assert settled(page, qtbot) == f"Pages sent to the printer: {len(PdfReader(file).pages)}."
    exported, paper = PdfDocument(file), PdfDocument(printers.file)
    assert likeness(exported[0], paper[0]) > 0.7 and likeness(exported[1], paper[1]) > 0.7
    assert likeness(exported[0], paper[1]) < 0.4
    assert audited(workspace) == ["pdf", "print"]


def test_ctrl_p_prints_without_a_file_and_under_a_title_that_names_nobody(
    result_page, workspace, printers, dialog, tmp_path, monkeypatch, qtbot
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    qtbot.keyClick(result_page, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    dialog().accept()
    assert settled(result_page, qtbot).startswith("Pages sent to the printer: ")
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert {path for path in new if workspace.library.store.folder not in path.parents} == {printers.file}
    [job] = printers.jobs
    told = str(PdfReader(printers.file).metadata) + job.device.docName()
    assert job.device.docName() == "vbdesk report" and NAME not in told and "a-1" not in told
    assert audited(workspace) == ["print"]


def test_without_a_printer_a_sentence_says_what_to_do(result_page, workspace, printers, qtbot):
    printers.there = False
    result_page.print_action.trigger()
    assert settled(result_page, qtbot).startswith("This computer has no printer, so nothing was printed.")
    assert not result_page.printing.busy and audited(workspace) == []


def test_a_cancelled_dialog_prints_nothing_and_the_next_one_prints(result_page, printers, printed, dialog, qtbot):
    model = result_page.printing
    result_page.print_action.trigger()
    result_page.print_action.trigger()  # an impatient second time
    dialog().reject()
    qtbot.waitUntil(lambda: not model.busy)
    assert not result_page.printing.isVisible() and printed == [] and len(printers.jobs) == 1
    result_page.print_action.trigger()
    dialog().accept()
    assert settled(result_page, qtbot) == "Pages sent to the printer: 1."


def test_no_dialog_names_the_subject_after_the_window_was_locked(result_page, printers, dialog, qtbot):
    model = result_page.printing
    result_page.print_action.trigger()
    result_page.hide()  # as a locked window takes its pages out
    qtbot.waitUntil(lambda: not model.busy)
    assert not [top for top in QApplication.topLevelWidgets() if isinstance(top, DialogTwin)]
    result_page.show()
    result_page.print_action.trigger()
    dialog().reject()


def test_what_was_asked_for_is_printed_although_another_subject_is_shown_by_then(
    result_page, shelf, stress_job, printed, dialog, qtbot
):
    other = shelf.put("b-1", OutboxState.DONE, job=stress_job)
    result_page.print_action.trigger()
    found = dialog()
    result_page.opened(RecordingRoute(take_id=other, group_id="b-1"))
    qtbot.waitUntil(lambda: result_page.view_model.view.group_id == "b-1")
    assert NAME in found.windowTitle()
    found.accept()
    settled(result_page, qtbot)
    assert [groups for groups, _ in printed] == [["a-1"]]


def test_paper_and_look_are_those_that_were_chosen(result_page, workspace, printers, printed, dialog, qtbot):
    report_look(workspace.flow).choose(Look.PRINT)
    result_page.print_action.trigger()
    found = dialog()
    found.device.setPageSize(QPageSize(QPageSize.PageSizeId.Letter))
    found.accept()
    settled(result_page, qtbot)
    [(_, options)] = printed
    assert (options.page_size, options.look) == (PageSize.LETTER, Look.PRINT)


def test_a_selection_is_printed_as_one_document_and_says_who_is_left_out(
    shelf, service, open_listed, workspace, printed, dialog, qtbot
):
    for group_id in ("a-1", "b-1", "never-sent"):
        shelf.put(group_id)
    page = open_listed(SubjectsPage, 3)
    page.export_menu.print_action.trigger()
    found = dialog()
    assert found.windowTitle() == "Print the report of 3 subjects"
    found.accept()
    words = settled(page, qtbot)
    assert words == "Pages sent to the printer: 1. The service does not know 1 of the subjects yet."
    [(groups, _)] = printed
    assert sorted(groups) == ["a-1", "b-1"]
    assert audited(workspace) == ["print, subjects=3"]


def test_a_selection_that_is_too_long_is_not_begun(shelf, open_listed, printers, qtbot):
    shelf.put("a-1")
    page = open_listed(SubjectsPage, 1)
    page.export_menu._chosen = lambda: lambda: [f"s-{number}" for number in range(MOST_PRINTED + 1)]
    page.export_menu.print_report()
    assert "is too long to be printed from here" in settled(page, qtbot)
    assert printers.jobs == []


def test_the_subject_page_prints_what_its_card_says(shelf, service, workspace, printed, dialog, tmp_path, qtbot):
    shelf.put("a-1")
    page = SubjectPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened("a-1")
    qtbot.waitUntil(lambda: page.view_model.reading is not None)
    page.print_action.trigger()
    card = page.export_card
    assert card.isVisible() and card.go.text() == "Print"
    assert not card.folder_field.isVisible() and card.look.isVisible()
    card.reader.setText("Dr. A. Example")
    card.look.option("safe").click()
    card.go.click()
    dialog().accept()
    settled(page, qtbot)
    [(groups, options)] = printed
    assert groups == ["a-1"] and options.sign_off.name == "Dr. A. Example" and options.look is Look.SAFE
    page.closed()


def test_only_the_chosen_pages_are_printed(tmp_path, qapp):
    job = PrintJob()
    job.device.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    job.device.setOutputFileName(str(tmp_path / "paper.pdf"))
    job.device.setFromTo(2, 3)
    assert job.print_pages([PAGE] * 4, lambda: None) == 2
    assert len(PdfReader(tmp_path / "paper.pdf").pages) == 2
    job.device.setFromTo(7, 9)
    with pytest.raises(PrintingFailed, match="fewer pages"):
        job.print_pages([PAGE] * 4, lambda: None)


@pytest.mark.qt_log_ignore("Returned false", "propagateSizeHints")
def test_a_printer_that_takes_nothing_is_reported(result_page, printers, printed, dialog, tmp_path, workspace, qtbot):
    printers.file = tmp_path / "no folder" / "paper.pdf"
    result_page.print_action.trigger()
    dialog().accept()
    assert settled(result_page, qtbot).startswith("The printer does not take the report.")
    assert audited(workspace) == [] and not result_page.printing.busy


def test_the_look_is_remembered_and_a_choice_wins_over_what_is_read_late(program, ports, qtbot):
    store = PreferenceStore(ports.config_dir)
    look = ReportLook(program)
    look.choose(Look.SAFE)
    qtbot.waitUntil(lambda: store.load().report_look is Look.SAFE)
    assert look.current is Look.SAFE
    later = ReportLook(program)
    qtbot.waitUntil(lambda: later.current is Look.SAFE)
