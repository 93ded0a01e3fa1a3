"""Export of several subjects from the pages Subjects and Cohort."""

import csv

from pypdf import PdfReader
from PySide6.QtCore import Qt

from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.reports.reports import export_fault
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.outbox.library.states import OutboxState
from vbdesk.report.letterhead import Letterhead


def rows_of(folder, table="recordings"):
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_listed_subjects_become_one_set_of_tables(shelf, service, open_listed, pulse_job, workspace, tmp_path, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job, device="Studio Mic", protocol="counting")
    shelf.put("b-1")
    shelf.put("never-sent")
    page = open_listed(SubjectsPage, 3)
    middle = page.list.visualRect(page.view_model.table.index(1, 1)).center()
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=middle)  # opening is not choosing
    page.export_button.click()
    assert page.export_menu.scope.text() == "3 subjects"
    page.export_menu.close()
    page.export_menu.wanted.emit("csv", str(tmp_path))
    qtbot.waitUntil(lambda: "2 subjects were written." in page.banner.text())
    assert "does not know 1 of the chosen ones" in page.banner.text()
    [folder] = tmp_path.glob("vbdesk-csv-*")
    rows = {row["group_id"]: row for row in rows_of(folder)}
    assert set(rows) == {"a-1", "b-1"}
    assert (rows["a-1"]["microphone"], rows["a-1"]["protocol"]) == ("Studio Mic", "counting")
    assert rows["b-1"]["microphone"] == ""
    notes = workspace.library.store.rows("SELECT detail FROM audit WHERE what = 'exported'")
    assert [row["detail"] for row in notes] == ["csv, subjects=2"]


def test_a_selection_becomes_one_report_with_the_letterhead(
    shelf, service, open_listed, pulse_job, workspace, tmp_path, qtbot
):
    workspace.library.letterhead.store(Letterhead("Praxis am Markt", ("Markt 1",)))
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1")
    page = open_listed(SubjectsPage, 2)
    page.export_menu.wanted.emit("pdf", str(tmp_path))
    qtbot.waitUntil(lambda: "2 subjects were written." in page.banner.text())
    [file] = tmp_path.glob("vbdesk-pdf-*/*")
    printed = " ".join(" ".join(sheet.extract_text() for sheet in PdfReader(file).pages).split())
    assert file.name == "subjects.pdf"
    assert all(words in printed for words in ("Praxis am Markt", "Subjects over time", "a-1", "b-1"))


def test_a_search_chooses_what_is_exported(shelf, service, open_listed, tmp_path, qtbot):
    for group_id in ("a-1", "b-1"):
        shelf.put(group_id)
    page = open_listed(SubjectsPage, 2)
    page.search.setText("b-")
    page.export_menu.export("bids", str(tmp_path))
    qtbot.waitUntil(lambda: "1 subject was written." in page.banner.text())
    [folder] = tmp_path.glob("vbdesk-bids-*")
    assert len(list(folder.glob("sub-*"))) == 1
    assert "b-1" in (folder / "sourcedata" / "group_ids.tsv").read_text()


def test_without_the_service_nothing_is_written_and_the_reason_is_said(shelf, service, open_listed, tmp_path, qtbot):
    shelf.put("a-1")
    page = open_listed(SubjectsPage, 1)
    service.up = False
    page.export_menu.export("csv", str(tmp_path))
    qtbot.waitUntil(lambda: page.banner.isVisible() and "Reading" not in page.banner.text())
    assert list(tmp_path.glob("vbdesk-*")) == []
    qtbot.waitUntil(lambda: not page.export_menu.work.busy)


def test_the_cohort_exports_the_subjects_that_it_shows(shelf, service, workspace, pulse_job, tmp_path, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1")
    page = CohortPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(None)
    qtbot.waitUntil(page.export_button.isEnabled)
    page.export_button.click()
    texts = [action.text() for action in page.export_menu.actions()]
    page.export_menu.close()
    assert texts == [
        "1 subject",
        "Table of the newest readings (CSV)",
        "All data as tables (CSV)",
        "Folder for research (BIDS)",
        "One report over time (PDF)",
        "",
        "Print one report over time",
        "Look of reports",
        "Send to the FHIR server",
    ]
    page.export_menu.wanted.emit("csv", str(tmp_path))
    qtbot.waitUntil(lambda: "1 subject was written." in page.banner.text())
    [folder] = tmp_path.glob("vbdesk-csv-*")
    assert [row["group_id"] for row in rows_of(folder)] == ["a-1"]


def test_an_export_that_fails_says_what_to_do():
    missing = export_fault(Failure.of(FileNotFoundError()))
    assert missing.startswith("The export could not be written. A file or folder is missing.")
    assert export_fault(Failure.of(ValueError("No subject is chosen."))) == "No subject is chosen."
    unexpected = Failure.of(RuntimeError())
    assert export_fault(unexpected) == unexpected.sentence
