"""The Outbox page."""

import re
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt

from vbdesk.clock import ManualClock
from vbdesk.desk.outbox.rows import OutboxRow, RowAction, RowContext, Show
from vbdesk.desk.shell.window_status import connection
from vbdesk.desk.ui.cells import ButtonCell, LevelCell, ProgressCell
from vbdesk.desk.ui.routes import RecordingRoute, ReviewRoute
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.connectivity import SyncStatus


def cells(page, take_id):
    table = page.view_model.table
    return table.row(table.index_of(take_id)).cells


def estimate(page, take_id):
    """The estimate, without the consent, which `test_desk_consent` looks at."""
    return cells(page, take_id)[3].text.removesuffix(" · No consent noted")


def state_of(workspace, take_id):
    return workspace.library.get(take_id).state


def test_the_figures_count_what_is_where(shelf, open_outbox, pulse_job):
    for state in (OutboxState.WAITING, OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.RUNNING):
        shelf.put("ward4-0155", state)
    shelf.put("ward4-0149", OutboxState.NEEDS_ATTENTION)
    shelf.put("ward4-0063", OutboxState.DONE, job=pulse_job)
    page = open_outbox(6)
    assert page.figures.texts() == ["2 Waiting", "1 Uploading", "1 Running", "1 Needs attention", "1 Done today"]
    assert re.match(r"4 recordings, about (a minute|2 minutes)\. You can close", page.banner.text())


def test_what_moves_stands_first_and_the_line_keeps_its_order(shelf, open_outbox):
    done = shelf.put("a", OutboxState.DONE)
    stopped = shelf.put("b", OutboxState.FAILED)
    first, second = shelf.put("c", OutboxState.WAITING), shelf.put("d", OutboxState.WAITING)
    moving = shelf.put("e", OutboxState.UPLOADING)
    page = open_outbox(5)
    assert [row.key for row in page.view_model.table.rows()] == [moving, first, second, stopped, done]
    assert cells(page, first)[2].text == "Next in line."
    assert cells(page, second)[2].text == "Second in line."


def test_an_upload_shows_its_bytes_and_how_fast_it_goes(shelf, open_outbox, workspace, qtbot, monkeypatch):
    clock = ManualClock()
    monkeypatch.setattr("vbdesk.desk.outbox.reads.time", clock)
    take_id = shelf.put("ward4-0172", OutboxState.UPLOADING, sent=(1_900_000, 3_200_000))
    page = open_outbox(1)
    qtbot.waitUntil(lambda: isinstance(cells(page, take_id)[2], ProgressCell))
    assert cells(page, take_id)[2].text == "1.9 of 3.2 MB"
    workspace.library.store._progress[take_id] = (2_500_000, 3_200_000)
    clock.advance(0.6)
    page.view_model.refresh()
    qtbot.waitUntil(lambda: "MB a second" in cells(page, take_id)[2].text)
    assert cells(page, take_id)[2].share == pytest.approx(0.78, abs=0.01)
    assert estimate(page, take_id) == "less than a minute"


def test_every_stopped_recording_says_why_and_how_to_mend_it(shelf, open_outbox):
    reason = "9 s of speech, under the 15 s minimum, so it was not sent."
    short = shelf.put("a", OutboxState.NEEDS_ATTENTION, reason=reason, fix=Fix.REVIEW_TAKE)
    late = shelf.put("b", OutboxState.TIMED_OUT)
    page = open_outbox(2)
    assert cells(page, short)[2].text == reason
    assert cells(page, short)[4] == ButtonCell("Review take")
    assert "can be sent again" in cells(page, late)[2].text
    assert cells(page, late)[4] == ButtonCell("Try again")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OutboxState.WAITING, OutboxState.CHECKED),
        (OutboxState.CHECKED, OutboxState.WAITING),
        (OutboxState.TIMED_OUT, OutboxState.WAITING),
    ],
)
def test_the_button_of_a_row_does_what_it_says(before, after, shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("ward4-0155", before)
    page = open_outbox(1)
    place = page.view_model.table.index(0, 4)
    rect = page.list.visualRect(place)
    button = QPoint(rect.right() - 40, rect.center().y())
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=button)
    qtbot.waitUntil(lambda: state_of(workspace, take_id) is after)


def test_a_click_beside_the_button_cancels_nothing(shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("ward4-0155", OutboxState.WAITING)
    page = open_outbox(1)
    rect = page.list.visualRect(page.view_model.table.index(0, 2))
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    qtbot.wait(100)
    assert state_of(workspace, take_id) is OutboxState.WAITING


def test_a_result_opens_with_enter(shelf, open_outbox, pulse_job, asked, qtbot):
    take_id = shelf.put("ward4-0063", OutboxState.DONE, job=pulse_job)
    page = open_outbox(1)
    assert isinstance(cells(page, take_id)[2], LevelCell)
    assert cells(page, take_id)[2].text == "Moderate"
    page.list.setFocus()
    page.list.select_key(take_id)
    qtbot.keyClick(page.list, Qt.Key.Key_Return)
    key, recording = asked[-1]
    assert key == "result"
    assert isinstance(recording, RecordingRoute)
    assert recording.take_id == take_id


def test_space_ticks_a_row_and_never_sends_it(shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("ward4-0149", OutboxState.CHECKED)
    page = open_outbox(1)
    page.list.select_key(take_id)
    page.list.clearSelection()
    for ticked in (True, False, True):
        qtbot.keyClick(page.list, Qt.Key.Key_Space)
        assert page.list.selectionModel().hasSelection() is ticked
    assert workspace.library.get(take_id).state is OutboxState.CHECKED


def test_a_row_is_opened_by_a_click_or_ticked_where_it_opens_nothing(shelf, open_outbox, asked, qtbot):
    waiting, on_hold = shelf.put("ward4-0149", OutboxState.WAITING), shelf.put("ward4-0150", OutboxState.CHECKED)
    page = open_outbox(2)
    for take_id in (waiting, on_hold):
        place = page.list.model().index_of(take_id)
        middle = page.list.visualRect(page.list.model().index(place, 1)).center()
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert page.list.chosen_keys() == [waiting]
    assert asked == [("record", ReviewRoute(on_hold))]


def test_control_return_reviews_a_take_that_needs_attention(shelf, open_outbox, asked, qtbot):
    take_id = shelf.put("ward4-0149", OutboxState.NEEDS_ATTENTION, fix=Fix.REVIEW_TAKE)
    page = open_outbox(1)
    page.list.select_key(take_id)
    qtbot.keyClick(page.list, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked == [("record", ReviewRoute(take_id))]


def test_a_line_on_hold_has_one_explanation_and_one_button(shelf, open_outbox, workspace, asked, qtbot):
    waiting = [shelf.put("ward4-0155", OutboxState.WAITING) for _ in range(3)]
    page = open_outbox(3)
    sentence = "The service does not accept the account id or the API key. Enter them again."
    workspace._status_changed.emit(SyncStatus(True, sentence, Fix.ENTER_KEY, None))
    qtbot.waitUntil(lambda: page.banner.text() == sentence)
    assert {estimate(page, take_id) for take_id in waiting} == {"until you decide"}
    page.banner.button.click()
    assert asked == [("account", None)]


def test_without_a_network_the_estimate_says_so(shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("ward4-0155", OutboxState.WAITING)
    page = open_outbox(1)
    workspace._status_changed.emit(SyncStatus(False, "The service cannot be reached.", None, None))
    qtbot.waitUntil(lambda: estimate(page, take_id) == "waiting for the network")


def test_the_filter_lists_what_needs_attention(shelf, open_outbox, qtbot):
    shelf.put("a", OutboxState.WAITING)
    stopped = shelf.put("b", OutboxState.FAILED)
    shelf.put("c", OutboxState.DONE)
    page = open_outbox(3)
    page.segment.option(Show.ATTENTION).click()
    assert [row.key for row in page.view_model.table.rows()] == [stopped]
    page.segment.option(Show.DONE).click()
    assert page.view_model.table.rowCount() == 1


def test_what_cannot_be_done_any_more_is_said(shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("a", OutboxState.WAITING)
    page = open_outbox(1)
    with workspace.library.store.changing():
        for state in (OutboxState.UPLOADING, OutboxState.SUBMITTED):
            workspace.library.store.move(take_id, state)
    page.view_model.perform(take_id)
    qtbot.waitUntil(lambda: page.notice.text() != "")
    assert page.notice.text() == "This recording is not waiting to be sent."


def test_an_empty_outbox_leads_to_the_record_page(open_outbox, asked):
    page = open_outbox(0)
    assert page.empty.isVisible()
    page.empty.button.click()
    assert asked == [("record", None)]


def test_in_a_narrow_window_the_estimate_goes_first_and_the_actions_stay(shelf, open_outbox, qtbot):
    shelf.put("a", OutboxState.WAITING)
    page = open_outbox(1)
    assert not page.list.isColumnHidden(3)
    page.resize(760, 600)
    qtbot.waitUntil(lambda: page.list.isColumnHidden(3))
    assert page.list.columnWidth(2) >= 150
    assert not page.list.isColumnHidden(4)
    page.resize(540, 600)
    qtbot.waitUntil(lambda: page.list.columnWidth(0) < 176)
    assert not page.list.isColumnHidden(4), "actions stay, other columns shrink"


def test_a_full_disk_is_told_by_the_banner_and_the_rows_wait_for_it(shelf, open_outbox, workspace, qtbot):
    waiting = shelf.put("ward4-0155", OutboxState.WAITING)
    page = open_outbox(1)
    sentence = "The disk is full. Nothing is lost. Make room, and the recordings go on automatically."
    workspace._status_changed.emit(SyncStatus(False, sentence, Fix.MAKE_ROOM, None))
    qtbot.waitUntil(lambda: page.banner.text() == sentence)
    assert estimate(page, waiting) == "waiting for the disk"
    assert connection(workspace.sync.status).text == "The disk takes no data"
    workspace._status_changed.emit(SyncStatus(True, "Connected.", None, None))
    qtbot.waitUntil(lambda: "disk" not in page.banner.text())


def test_results_can_be_asked_for_at_once(shelf, open_outbox, workspace, qtbot):
    shelf.put("ward4-0155", OutboxState.RUNNING)
    page = open_outbox(1)
    workspace._status_changed.emit(SyncStatus(True, "Connected.", None, None))
    qtbot.waitUntil(lambda: page.banner.other_button.text() == "Check now")
    page.banner.other_button.click()
    assert workspace._sync_worker._asked.is_set()
    workspace._status_changed.emit(SyncStatus(False, "No answer.", None, None))
    qtbot.waitUntil(lambda: page.banner.other_button.text() == "")  # nobody can be asked


@pytest.mark.parametrize(
    ("quality", "seconds", "said", "action"),
    [
        ({}, 20.0, "Kept on this computer. It is not sent until you say so.", RowAction.SEND),
        ({"silence": "muted"}, 20.0, "The microphone was muted", RowAction.REVIEW),
        ({}, 9.5, "It cannot be analysed. 9 s of sound, under the 15 s minimum.", RowAction.REVIEW),
        (
            {
                "overall": "bad",
                "voice_percentage": 29.7,
                "speech_seconds": 12.0,
                "audio_clarity": 90.0,
                "clipped_percent": 0.0,
                "rms_dbfs": -20.0,
            },
            40.0,
            "Likely inconclusive if sent. Only 29% of the recording is speech.",
            RowAction.SEND,
        ),
    ],
)
def test_a_kept_recording_of_little_use_reads_so_before_send(shelf, workspace, quality, seconds, said, action):
    kept = workspace.library.get(shelf.put("ward4-0155", OutboxState.CHECKED))
    row = OutboxRow(
        replace(kept, quality=quality, duration_s=seconds), RowContext(kept.created_at, SyncStatus(True, "", None, 1))
    )
    assert said in row.cells[2].text
    assert row.action is action
