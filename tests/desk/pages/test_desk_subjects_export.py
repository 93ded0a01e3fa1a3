"""Export of several subjects from the pages Subjects and Cohort."""

import csv
import json

import httpx
import pytest
from pypdf import PdfReader

from vbdesk.desk.models.subjects_export import export_fault
from vbdesk.desk.shell.all_pages import build_cohort_page, build_subjects_page
from vbdesk.desk.tasks import Failure
from vbdesk.outbox.library.states import OutboxState
from vbdesk.report.letterhead import Letterhead


@pytest.fixture
def service(network, pulse_job, stress_job, trajectory_answer):
    """Two subjects with a job each; other subjects are unknown."""
    jobs = {"a-1": pulse_job, "b-1": stress_job}
    known = network.answer

    def answer(request):
        parts = request.url.path.split("/")
        if parts[-1] == "jobs" and parts[-2] in jobs:
            job = jobs[parts[-2]]
            item = {
                "job_id": job.job_id,
                "status": "done",
                "recorded_at": job.created_at.isoformat(),
                "created_at": job.created_at.isoformat(),
                "use_case": None,
                "condition": None,
                "audio_duration_seconds": 41.5,
                "model_name": "pulse",
            }
            page = {"group_id": parts[-2], "total_jobs": 1, "jobs": [item], "page": 0, "total_pages": 1}
            return httpx.Response(200, json=page)
        return known(request)

    network.answer = answer
    for group_id, job in jobs.items():
        network.trajectories[group_id] = [trajectory_answer | {"group_id": group_id}]
        network.jobs[job.job_id] = json.loads(job.model_dump_json())
    return network


def rows_of(folder, table="recordings"):
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_listed_subjects_become_one_set_of_tables(shelf, service, open_listed, pulse_job, workspace, tmp_path, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job, device="Studio Mic", protocol="counting")
    shelf.put("b-1")
    shelf.put("never-sent")
    page = open_listed(build_subjects_page, 3)
    page.export_menu.wanted.emit("csv", str(tmp_path))
    qtbot.waitUntil(lambda: "Subjects written: 2" in page.banner.words())
    assert "does not know 1 of them" in page.banner.words()
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
    workspace.library.letterhead.keep(Letterhead("Praxis am Markt", ("Markt 1",)))
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1")
    page = open_listed(build_subjects_page, 2)
    page.export_menu.wanted.emit("pdf", str(tmp_path))
    qtbot.waitUntil(lambda: "Subjects written: 2" in page.banner.words())
    [file] = tmp_path.glob("vbdesk-pdf-*/*")
    printed = " ".join(" ".join(sheet.extract_text() for sheet in PdfReader(file).pages).split())
    assert file.name == "subjects.pdf"
    assert all(words in printed for words in ("Praxis am Markt", "Subjects over time", "a-1", "b-1"))


def test_a_search_chooses_what_is_exported(shelf, service, open_listed, tmp_path, qtbot):
    for group_id in ("a-1", "b-1"):
        shelf.put(group_id)
    page = open_listed(build_subjects_page, 2)
    page.search.setText("b-")
    page.export_to("bids", str(tmp_path))
    qtbot.waitUntil(lambda: "Subjects written: 1." in page.banner.words())
    [folder] = tmp_path.glob("vbdesk-bids-*")
    assert len(list(folder.glob("sub-*"))) == 1
    assert "b-1" in (folder / "sourcedata" / "group_ids.tsv").read_text()


def test_without_the_service_nothing_is_written_and_the_reason_is_said(shelf, service, open_listed, tmp_path, qtbot):
    shelf.put("a-1")
    page = open_listed(build_subjects_page, 1)
    service.up = False
    page.export_to("csv", str(tmp_path))
    qtbot.waitUntil(lambda: page.banner.isVisible() and "Reading" not in page.banner.words())
    assert list(tmp_path.glob("vbdesk-*")) == []
    qtbot.waitUntil(lambda: not page.view_model.subjects_export.busy)


def test_the_cohort_exports_the_subjects_that_it_shows(shelf, service, workspace, pulse_job, tmp_path, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1")
    page = build_cohort_page(workspace)
    qtbot.addWidget(page)
    page.show()
    page.opened(None)
    qtbot.waitUntil(page.export_button.isEnabled)
    texts = [action.text() for action in page.export_menu.actions()]
    assert texts == [
        "Table of the newest readings (CSV)",
        "All data as tables (CSV)",
        "Folder for research (BIDS)",
        "One report over time (PDF)",
    ]
    page.export_menu.wanted.emit("csv", str(tmp_path))
    qtbot.waitUntil(lambda: "Subjects written: 1." in page.banner.words())
    [folder] = tmp_path.glob("vbdesk-csv-*")
    assert [row["group_id"] for row in rows_of(folder)] == ["a-1"]


def test_an_export_that_fails_says_what_to_do():
    missing = export_fault(Failure.of(FileNotFoundError()))
    assert missing.startswith("The export could not be written. A file or folder is missing.")
    assert export_fault(Failure.of(ValueError("No subject is chosen."))) == "No subject is chosen."
    unexpected = Failure.of(RuntimeError())
    assert export_fault(unexpected) == unexpected.sentence
