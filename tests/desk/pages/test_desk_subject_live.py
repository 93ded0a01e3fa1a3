"""The Subject page over time: cached data, slow reads, arriving results, exports."""

import copy
import json
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pypdf
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from patience import HANGS_S
from vbdesk.clock import utc_now
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subject.reads import SubjectRead
from vbdesk.desk.subject.trajectory_text import age_text, subject_of
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.sync.connectivity import SyncStatus

SUBJECT = "reader-01"


class SlowService:
    """Answers of the knowing service, and its jobs by group; can be slow."""

    def __init__(self, knowing):
        self.knowing, self.gate = knowing, threading.Event()
        self.gate.set()
        self.answer, knowing.answer = knowing.answer, self._answer

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert self.gate.wait(HANGS_S)
        parts = request.url.path.split("/")
        if parts[-1] == "jobs" and parts[-3] == "groups":
            jobs = [
                {
                    "job_id": job_id,
                    "status": "done",
                    "recorded_at": job["created_at"],
                    "created_at": job["created_at"],
                    "use_case": None,
                    "condition": None,
                    "audio_duration_seconds": 41.5,
                    "model_name": "pulse",
                }
                for job_id, job in self.knowing.jobs.items()
            ]
            page = {"group_id": parts[-2], "total_jobs": len(jobs), "jobs": jobs, "page": 0, "total_pages": 1}
            return httpx.Response(200, json=page)
        return self.answer(request)


@pytest.fixture
def service(network, pulse_job, trajectory_answer):
    slow = SlowService(network)
    network.trajectories[SUBJECT] = [trajectory_answer]
    network.jobs[pulse_job.job_id] = json.loads(pulse_job.model_dump_json())
    yield slow
    slow.gate.set()


@pytest.fixture
def changes_answer():
    return json.loads((Path(__file__).parents[1] / "data" / "trajectory_changes.json").read_text())


@pytest.fixture
def page(workspace, service, qtbot):
    """The page, not opened yet."""
    made = SubjectPage(workspace.flow)

    def settle(closing):
        service.gate.set()
        closing.closed()
        qtbot.waitUntil(lambda: not workspace.tasks.busy and not closing.charts.drawing)

    qtbot.addWidget(made, before_close_func=settle)
    made.resize(1080, 768)
    made.show()
    return made


@pytest.fixture
def shown(page, workspace, qtbot):
    """The page with a subject on it."""
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: page.view_model.reading is not None and not page.charts.drawing)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    return page


def keep(workspace, answer, group_id=SUBJECT):
    """Store a read as the sync worker does after a result."""
    with workspace.library.store.changing():
        workspace.library.store.store_trajectory(group_id, json.dumps(answer).encode())


def shorter(answer: dict, by: int) -> dict:
    """The same subject with fewer recordings."""
    answer = copy.deepcopy(answer)
    answer["data_points"] = answer["data_points"][:-by]
    for sign in answer["signs"]:
        sign["series"] = sign["series"][:-by]
    answer["computed_at"] = "2026-11-20T08:00:00.000000Z"
    return answer


@pytest.fixture
def begun():
    """When the test began."""
    return utc_now()


def test_what_was_finished_before_is_no_news_and_what_is_finished_now_is(
    page, workspace, network, shelf, qtbot, monkeypatch
):
    settings, counts = workspace.sync.settings, dict.fromkeys(OutboxState, 0)
    done = [2]  # what the desk counts itself meanwhile agrees
    monkeypatch.setattr(workspace.library, "counts", lambda: counts | {OutboxState.DONE: done[0]})
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    workspace.sync.set_counts(counts | {OutboxState.DONE: 2}, settings)
    page.opened(SUBJECT)
    reads = lambda: [path for path in network.asked if path.endswith("/longitudinal")]  # noqa: E731
    qtbot.waitUntil(lambda: len(reads()) == 1 and not workspace.tasks.busy)
    workspace.sync.set_counts(counts | {OutboxState.DONE: 2}, settings)
    done[0] = 3
    workspace.sync.set_counts(counts | {OutboxState.DONE: 3}, settings)
    qtbot.waitUntil(lambda: len(reads()) == 2 and not workspace.tasks.busy)
    qtbot.settle()
    assert len(reads()) == 2


def test_a_failure_to_read_another_subject_says_nothing_about_the_one_shown(page, workspace, monkeypatch, qtbot):
    model, go_on = page.view_model, threading.Event()
    ask = SubjectRead.ask

    def fail_late(read, context, task):
        if read.group_id == SUBJECT:
            return ask(read, context, task)
        assert go_on.wait(HANGS_S)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(SubjectRead, "ask", fail_late)
    page.opened("another-subject")
    page.closed()
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: model.reading is not None)
    go_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert page.banner.isHidden()
    assert "asking" not in page.age.text()


def test_what_was_kept_is_shown_while_the_service_is_slow(page, service, workspace, trajectory_answer, qtbot):
    keep(workspace, shorter(trajectory_answer, 2))
    service.gate.clear()
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: page.view_model.reading is not None)
    assert page.charts.isVisible()
    assert len(page.view_model.reading.rows) == 12
    assert page.age.text().startswith(("Read today ", "Read yesterday "))  # midnight may have passed since
    assert page.age.text().endswith("asking for newer")
    service.gate.set()
    qtbot.waitUntil(lambda: len(page.view_model.reading.rows) == 14)
    qtbot.waitUntil(lambda: "asking" not in page.age.text())


def test_what_was_kept_is_shown_with_its_age_while_the_service_is_away(
    page, network, workspace, trajectory_answer, qtbot
):
    keep(workspace, trajectory_answer)
    network.up = False
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: "The charts show what was last read, " in page.banner.text())
    assert page.charts.isVisible()
    assert page.export_button.isEnabled()
    network.up = True
    workspace.sync.status_changed.emit(SyncStatus(True, "Connected", None, None))
    qtbot.waitUntil(lambda: not page.banner.isVisible())


def test_what_the_service_said_is_kept_for_the_next_time(begun, shown, workspace):
    body, read_at = workspace.library.responses.trajectory(SUBJECT)
    assert len(TrajectoryRead.model_validate_json(body).data_points) == 14
    assert begun <= read_at <= utc_now()


def test_a_new_result_appears_and_the_place_that_was_chosen_stays(page, network, workspace, trajectory_answer, qtbot):
    network.trajectories[SUBJECT] = [shorter(trajectory_answer, 1), trajectory_answer]
    workspace.sync.counts_changed.emit(dict.fromkeys(OutboxState, 0))
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: page.view_model.reading is not None and not page.charts.drawing)
    page.charts.setFocus()
    for _ in range(3):
        qtbot.keyClick(page.charts, Qt.Key.Key_Left)
    qtbot.keyClick(page.charts, Qt.Key.Key_Plus)
    cursor, start, end = page.charts.cursor_moment, page.charts.time.start, page.charts.time.end
    assert page.range.choice() == ""
    with qtbot.waitSignal(page.view_model.arrived) as arrived:
        workspace.sync.counts_changed.emit(dict.fromkeys(OutboxState, 0) | {OutboxState.DONE: 1})
    assert arrived.args[0].startswith("1 new result. ")
    qtbot.waitUntil(lambda: not page.charts.drawing)
    assert page.charts.cursor_moment == cursor
    assert (page.charts.time.start, page.charts.time.end) == pytest.approx((start, end))
    assert len(page.view_model.reading.rows) == 14


def test_notes_of_recordings_here_stand_in_charts_and_table(workspace, shelf, trajectory_answer):
    read = TrajectoryRead.model_validate(trajectory_answer)
    recorded_at = read.data_points[3].recorded_at
    shelf.put(SUBJECT)
    (item,) = workspace.library.list()
    reading = subject_of(
        read, read.as_of, [replace(item, recorded_at=recorded_at, note="Slept badly", tags=("night",))]
    )
    assert [(mark.t, mark.text) for mark in reading.chart.marks] == [(recorded_at.timestamp(), "Slept badly (night)")]
    noted = [row.recorded_at for row in reading.rows if row.cells[-2].text.endswith("Slept badly (night)")]
    assert noted == [recorded_at]


def test_the_change_is_said_with_its_reason_and_shown_at_a_press(page, network, changes_answer, qtbot):
    network.trajectories[SUBJECT] = [changes_answer | {"group_id": SUBJECT}]
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: page.view_model.reading is not None and not page.charts.drawing)
    said = page.change.text()
    assert said.startswith(
        (
            "Mood Disruption is above this person's own baseline at the last",
            "Anxiety is above this person's own baseline",
        )
    )
    assert "Also unusual: " in said
    page.show_change.click()
    assert page.charts.cursor_moment == page.view_model.reading.change.moment_s
    assert "Unusual for this person" in page.charts.tip.text()


def test_the_age_is_said_in_words():
    now = datetime(2026, 5, 3, 12).astimezone()
    assert age_text(now.replace(hour=10, minute=41), now) == "Read today 10:41"
    assert age_text(now - timedelta(days=30), now).startswith("Read 3 Apr ")


def choose(page, kind, folder):
    action = next(action for action in page.export_menu.actions() if getattr(action.data(), "key", None) == kind)
    page.export_menu.triggered.emit(action)
    page.export_card.folder.setText(str(folder))
    return page.export_card


@pytest.mark.parametrize(
    ("kind", "file", "begins"), [("png", "reader-01.png", b"\x89PNG"), ("svg", "reader-01.svg", b"<")]
)
def test_charts_are_exported_without_the_service(shown, network, kind, file, begins, tmp_path, qtbot):
    network.up = False
    card = choose(shown, kind, tmp_path)
    assert not card.reader_field.isVisible()
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    assert (tmp_path / file).read_bytes().startswith(begins)
    assert str(tmp_path / file) in shown.banner.text()
    assert shown.charts.isVisible()


def test_a_bundle_has_the_consents_noted_here(shown, workspace, tmp_path, qtbot):
    workspace.library.consents.give(SUBJECT, ConsentKind.RESEARCH, wording="2.0")
    card = choose(shown, "fhir", tmp_path)
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    [file] = tmp_path.glob("*.fhir.json")
    assert '"Wording 2.0"' in file.read_text(encoding="utf-8")


def test_a_file_that_is_there_is_replaced_only_when_a_person_says_so(shown, tmp_path, qtbot):
    (tmp_path / "reader-01.svg").write_text("mine")
    card = choose(shown, "svg", tmp_path)
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    assert (tmp_path / "reader-01.svg").read_text() == "mine"
    assert card.banner.button.text() == "Replace"
    qtbot.waitUntil(lambda: not shown.view_model.export.busy)
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.banner.button.click()
    assert (tmp_path / "reader-01.svg").read_text() != "mine"


def test_a_report_is_signed_in_the_page_and_noted(shown, workspace, tmp_path, qtbot):
    card = choose(shown, "pdf", tmp_path)
    assert card.reader_field.isVisible()
    card.reader.setText("Dr. A. Reader")
    with qtbot.waitSignal(shown.view_model.export.ended):
        qtbot.keyClick(card.reader, Qt.Key.Key_Return)
    report = pypdf.PdfReader(tmp_path / "reader-01.pdf")
    assert "Dr. A. Reader" in "".join(sheet.extract_text() for sheet in report.pages)
    folder = workspace.ports.library_dir(workspace.profile.profile_id)
    reader = AuditReader(folder, workspace.library.store.key)
    assert [entry.detail for entry in reader.entries() if "export" in str(entry.what)] == ["pdf, subjects=1"]


def test_a_report_shows_the_newest_recording_or_the_course(shown, tmp_path, qtbot):
    card = choose(shown, "pdf", tmp_path)
    assert card.scope.isVisible()
    assert card.scope.choice() == "recording"
    card.scope.choose("over-time")
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    report = pypdf.PdfReader(tmp_path / "reader-01.pdf")
    assert "Subject over time" in "".join(sheet.extract_text() for sheet in report.pages)
    assert not choose(shown, "svg", tmp_path).scope.isVisible()


@pytest.mark.parametrize("ticked", [False, True])
def test_name_and_second_line_are_printed_only_where_they_are_ticked(shown, workspace, tmp_path, qtbot, ticked):
    workspace.library.subject_notes.store(SUBJECT, SubjectNote(alias="Übung 7", detail="1956"))
    card = choose(shown, "pdf", tmp_path)
    assert card.name.isVisible()
    assert not card.name.isChecked()
    card.name.setChecked(ticked)
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    report = pypdf.PdfReader(tmp_path / "reader-01.pdf")
    printed = "".join(sheet.extract_text() for sheet in report.pages)
    assert ("Übung 7 · 1956" in printed) is ticked
    assert SUBJECT in printed


@pytest.mark.parametrize(("kind", "file"), [("csv", "reader-01-csv"), ("bids", "reader-01-bids")])
def test_formats_of_several_files_get_a_folder_of_their_own(shown, kind, file, tmp_path, qtbot):
    card = choose(shown, kind, tmp_path)
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    assert len(list((tmp_path / file).iterdir())) >= 2


def test_a_folder_that_cannot_be_written_to_is_said(shown, tmp_path, qtbot):
    (tmp_path / "file").write_text("")
    card = choose(shown, "svg", tmp_path / "file")
    with qtbot.waitSignal(shown.view_model.export.ended):
        card.go.click()
    assert "Choose another place, then try again." in card.banner.text()
    assert card.isVisible()


def test_every_control_of_the_page_has_a_name(shown):
    def name(control):
        return QAccessible.queryAccessibleInterface(control).text(QAccessible.Text.Name)

    reachable = [
        control
        for control in shown.findChildren(QWidget)
        if control.focusPolicy().value & Qt.FocusPolicy.TabFocus.value and control.isVisibleTo(shown)
    ]
    assert len(reachable) > 8
    assert [control for control in reachable if not name(control)] == []
