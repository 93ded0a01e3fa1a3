"""The Subject page."""

import copy

import pytest
from PySide6.QtCore import Qt

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subject.trajectory_text import sentence_of, subject_of
from vbdesk.outbox.library.states import OutboxState

RUNNING = {
    "status": "running",
    "group_id": "reader-01",
    "retry_after_seconds": 1,
    "done_job_count": 14,
    "signs": [],
    "data_points": [],
}


@pytest.fixture
def open_page(workspace, qtbot):
    pages = []

    def make(group_id: str) -> SubjectPage:
        page = SubjectPage(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(group_id)
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.closed()
        page.charts.show_chart(page.view_model.reading.chart) if page.view_model.reading else None


@pytest.fixture
def opened(network, open_page, trajectory_answer, qtbot):
    network.trajectories["reader-01"] = [trajectory_answer]
    page = open_page("reader-01")
    qtbot.waitUntil(lambda: page.view_model.reading is not None)
    qtbot.waitUntil(lambda: not page.charts.drawing)
    return page


def with_trends(answer: dict, **directions: str) -> TrajectoryRead:
    answer = copy.deepcopy(answer)
    for sign in answer["signs"]:
        sign["trend"]["direction"] = directions.get(sign["name"].replace("-", "_"), sign["trend"]["direction"])
    return TrajectoryRead.model_validate(answer)


def test_the_head_tells_the_last_level_and_the_trends(opened):
    assert opened.title.text() == "reader-01"
    assert opened.badge.isVisible()
    assert opened.sentence.text().startswith("All 6 signs are steady. 14 recordings, last ")


def test_trends_are_told_in_a_sentence(trajectory_answer):
    read = with_trends(trajectory_answer, mood_disruption="rising", fatigue="rising", stress="falling")
    said = subject_of(read, read.as_of).sentence
    assert said.startswith("Rising: Mood Disruption and Fatigue. Falling: Stress. Steady: 3 signs.")


def test_too_little_to_tell_is_said(trajectory_answer):
    names = [sign["name"].replace("-", "_") for sign in trajectory_answer["signs"]]
    read = with_trends(trajectory_answer, **dict.fromkeys(names, "insufficient_data"))
    said = sentence_of(read.signs, read.data_points[:1], read.as_of)
    assert said.startswith("It is too early for a trend. 1 recording, last ")


def test_the_table_shows_the_same_recordings_and_opens_them(opened, asked, qtbot):
    opened.view.option("table").click()
    table = opened.view_model.table
    assert opened.table.isVisible()
    assert table.rowCount() == 14
    assert [row.cells[1].text for row in table.rows()].count("Moderate") == 2
    opened.table.select_key(table.row(3).key)
    qtbot.keyClick(opened.table, Qt.Key.Key_Return)
    key, recording = asked[-1]
    assert key == "result"
    assert recording.job_id == table.row(3).key
    assert recording.recorded_at == table.row(3).recorded_at


def test_a_recording_is_reached_from_the_charts_by_keyboard(opened, asked, qtbot):
    opened.charts.setFocus()
    for _ in range(2):
        qtbot.keyClick(opened.charts, Qt.Key.Key_Left)
    qtbot.keyClick(opened.charts, Qt.Key.Key_Return)
    assert asked[-1][1].job_id == opened.view_model.reading.rows[1].key


def test_a_trajectory_that_is_being_computed_appears_by_itself(network, open_page, trajectory_answer, qtbot):
    network.trajectories["reader-01"] = [RUNNING, trajectory_answer]
    page = open_page("reader-01")
    qtbot.waitUntil(lambda: network.asked != [])
    qtbot.waitUntil(lambda: page.view_model.reading is not None)
    qtbot.waitUntil(lambda: not page.charts.drawing)


def test_what_was_read_stays_when_the_service_is_away(opened, network, qtbot):
    network.up = False
    opened.view_model.reload()
    qtbot.waitUntil(lambda: "The charts show what was last read, " in opened.banner.text())
    assert opened.charts.isVisible()


def test_a_subject_without_a_result_says_what_is_on_the_way(shelf, open_page, qtbot):
    shelf.put("ward4-0001", OutboxState.WAITING)
    page = open_page("ward4-0001")
    waiting = "1 recording is on the way. The charts appear with the first result."
    qtbot.waitUntil(lambda: waiting in page.empty.text())
    assert not page.export_button.isEnabled()


def test_record_takes_the_subject_along(opened, asked):
    opened.record_button.click()
    assert asked == [("record", "reader-01")]


def test_unusual_recordings_are_noted_in_the_table(trajectory_answer):
    answer = copy.deepcopy(trajectory_answer)
    sign = next(sign for sign in answer["signs"] if sign["name"] == "stress")
    sign["series"][3] |= {"anomaly": True, "kind": "acute"}
    read = TrajectoryRead.model_validate(answer)
    rows = subject_of(read, read.as_of).rows
    assert [row.cells[-2].text for row in rows if row.cells[-2].text] == ["Unusual: Stress."]
