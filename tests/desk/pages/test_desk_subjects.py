"""The Subjects page."""

import threading
from datetime import timedelta
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea

from patience import HANGS_S
from vbdesk.clock import utc_now
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.desk.shell.opened_results import OpenedResults
from vbdesk.desk.subject_data.subject_list import STORED_AS
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes


@pytest.fixture
def open_page(open_listed):
    return partial(open_listed, SubjectsPage)


def names(page):
    return [row.key for row in page.view_model.table.rows()]


def cell(page, group_id, column):
    table = page.view_model.table
    return table.row(table.index_of(group_id)).cells[column].text


def test_subjects_of_this_computer_and_of_the_service_are_one_list(shelf, network, open_page, pulse_job):
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0168", jobs=38, latest=utc_now() - timedelta(days=2))
    page = open_page(2)
    assert names(page) == ["ward4-0172", "ward4-0168"]
    assert cell(page, "ward4-0172", 2) == "Moderate"
    assert cell(page, "ward4-0168", 2) == "Open to see"
    assert cell(page, "ward4-0168", 4) == "38"


def test_an_older_result_here_is_not_called_the_last_level(shelf, network, open_page, pulse_job, qtbot):
    shelf.put("ward4-0172", OutboxState.DONE, hours_ago=48, job=pulse_job)
    network.add_group("ward4-0172", jobs=2, latest=utc_now())
    page = open_page(1)
    qtbot.waitUntil(lambda: cell(page, "ward4-0172", 2) == "Open to see")


def test_search_narrows_the_list_and_enter_opens_what_is_left(network, open_page, asked, qtbot):
    for number in range(20):
        network.add_group(f"ward4-{number:04d}")
    page = open_page(20)
    qtbot.keyClicks(page.search, "0017")
    assert names(page) == ["ward4-0017"]
    qtbot.keyClick(page.search, Qt.Key.Key_Return)
    assert asked == [("subject", "ward4-0017")]


def test_a_name_that_is_not_there_can_be_recorded_as_a_new_subject(network, open_page, asked, qtbot):
    network.add_group("ward4-0001")
    page = open_page(1)
    qtbot.keyClicks(page.search, "ward5-0001")
    assert page.empty.isVisible()
    page.empty.button.click()
    assert asked == [("record", "ward5-0001")]


def test_long_lists_are_read_while_half_of_the_plan_is_left_to_recordings(network, open_page):
    for number in range(400):
        network.add_group(f"ward4-{number:04d}")
    page = open_page(250)
    assert page.caption.text() == "250 subjects; reading the rest from the service"
    assert network.asked.count("/v2/groups") == 5  # of the standard plan's ten a minute


def test_what_was_known_is_shown_at_once_after_a_restart(shelf, network, open_page, workspace, pulse_job, qtbot):
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0168", jobs=38, latest=utc_now() - timedelta(days=2))
    open_page(2)
    kept = ResponseCache(workspace.library.store)
    qtbot.waitUntil(lambda: b"ward4-0168" in (kept.read(STORED_AS) or (b"",))[0])
    network.up = False
    again = SubjectsPage(workspace.flow)
    qtbot.addWidget(again)
    again.opened(None)
    qtbot.waitUntil(lambda: names(again) == ["ward4-0172", "ward4-0168"])
    qtbot.waitUntil(lambda: again.banner.text() != "")
    assert cell(again, "ward4-0168", 4) == "38"
    assert "and at the service a moment ago" in again.banner.text()


def test_a_change_while_the_cached_list_is_read_does_not_replace_it(
    shelf, network, open_page, workspace, pulse_job, monkeypatch, qtbot
):
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0168", jobs=38, latest=utc_now() - timedelta(days=2))
    first = open_page(2)
    kept = ResponseCache(workspace.library.store)
    qtbot.waitUntil(lambda: b"ward4-0168" in (kept.read(STORED_AS) or (b"",))[0])
    first.view_model.leave()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    network.up = False
    begun, changed, read = threading.Event(), threading.Event(), workspace.library.responses.read

    def late(name):
        if name == STORED_AS:
            begun.set()
            assert changed.wait(HANGS_S)
        return read(name)

    monkeypatch.setattr(workspace.library.responses, "read", late)
    again = SubjectsPage(workspace.flow)
    qtbot.addWidget(again)
    again.opened(None)
    qtbot.waitUntil(begun.is_set)
    workspace.sync.library_changed.emit()
    qtbot.waitUntil(lambda: {task._thread.name for task in workspace.tasks._tasks if task.alive()} == {"SubjectsRead"})
    changed.set()
    qtbot.waitUntil(lambda: names(again) == ["ward4-0172", "ward4-0168"])
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert b"ward4-0168" in kept.read(STORED_AS)[0]


def test_a_subject_that_is_erased_while_the_list_is_read_is_not_in_the_cached_list(
    shelf, network, open_page, workspace, pulse_job, monkeypatch, qtbot
):
    take_ids = [shelf.put(name, OutboxState.DONE, job=pulse_job) for name in ("ward4-0172", "ward4-0175")]
    first, kept = open_page(2), workspace.library.responses
    for take_id in take_ids:  # its level is known
        qtbot.waitUntil(lambda: take_id.encode() in (kept.read(STORED_AS) or (b"",))[0])  # noqa: B023
    first.view_model.leave()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    network.up = False
    begun, erased, read = threading.Event(), threading.Event(), workspace.library.list

    def late(*which):
        found = read(*which)
        if not which:
            begun.set()
            assert erased.wait(HANGS_S)
        return found

    monkeypatch.setattr(workspace.library, "list", late)
    again = SubjectsPage(workspace.flow)
    qtbot.addWidget(again)
    again.opened(None)
    qtbot.waitUntil(begun.is_set)
    erase_subject(workspace.library, "ward4-0172")
    erased.set()
    qtbot.waitUntil(lambda: names(again) == ["ward4-0175"])
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert b"ward4-0172" not in (kept.read(STORED_AS) or (b"",))[0]


def test_a_list_of_the_service_from_before_an_erasure_does_not_bring_the_subject_back(
    shelf, network, open_page, workspace, pulse_job, qtbot
):
    take_id = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0172", jobs=1, latest=utc_now())
    network.add_group("ward4-0168", jobs=38, latest=utc_now() - timedelta(days=2))
    page, kept = open_page(2), workspace.library.responses
    qtbot.waitUntil(lambda: take_id.encode() in (kept.read(STORED_AS) or (b"",))[0])
    erase_subject(workspace.library, "ward4-0172")
    workspace.sync.library_changed.emit()
    qtbot.waitUntil(lambda: names(page) == ["ward4-0168"])
    qtbot.waitUntil(lambda: kept.read(STORED_AS) is not None)
    stored = kept.read(STORED_AS)[0]
    assert b"ward4-0172" not in stored
    assert take_id.encode() not in stored


def test_a_cached_list_that_cannot_be_read_is_told_and_the_subjects_are_listed(
    shelf, network, open_page, workspace, pulse_job, monkeypatch, qtbot
):
    def broken(name):
        raise OSError(5, "Input/output error")

    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0168", jobs=38, latest=utc_now() - timedelta(days=2))
    monkeypatch.setattr(workspace.library.responses, "read", broken)
    page = open_page(2)
    assert names(page) == ["ward4-0172", "ward4-0168"]


def test_a_subject_deleted_at_the_service_goes_once_the_list_was_read_through(network, open_page, qtbot):
    network.add_group("a-1")
    network.add_group("b-1")
    page = open_page(2)
    del network.groups[0]
    page.view_model.ask_service()
    qtbot.waitUntil(lambda: names(page) == ["b-1"])


def test_results_are_unread_until_their_subject_is_opened(shelf, network, open_page, workspace, pulse_job, qtbot):
    OpenedResults(workspace.flow)
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    shelf.put("ward4-0168", OutboxState.WAITING)
    page = open_page(2)
    assert cell(page, "ward4-0172", 3) == "1 unread"
    page.only.setCurrentText("With unread results")
    assert names(page) == ["ward4-0172"]
    workspace.navigator.open("subject", "ward4-0172")
    qtbot.waitUntil(lambda: names(page) == [])
    assert "No subject fits" in page.empty.text()
    page.empty.button.click()
    assert len(names(page)) == 2


def test_opening_a_result_reads_it(shelf, open_page, workspace, pulse_job, qtbot):
    OpenedResults(workspace.flow)
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    page = open_page(1)
    workspace.navigator.open("result", RecordingRoute(job_id=pulse_job.job_id))
    qtbot.waitUntil(lambda: cell(page, "ward4-0172", 3) == "")


def test_a_note_and_tags_are_written_by_keyboard_and_found(network, open_page, workspace, qtbot):
    network.add_group("ward4-0001")
    network.add_group("ward4-0002")
    page = open_page(2)
    page.list.setFocus()
    page.list.select_key("ward4-0001")
    qtbot.keyClick(page.list, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert page.note.isVisible()
    qtbot.keyClicks(page.note.tags.edit, "ENT,")
    qtbot.keyClicks(page.note.text, "Hoarse since May")
    page.note.save_button.click()
    assert not page.note.isVisible()
    assert cell(page, "ward4-0001", 0) == "ward4-0001, ENT · Hoarse since May"
    kept = SubjectNotes(workspace.library.store)
    qtbot.waitUntil(lambda: kept.all() == {"ward4-0001": SubjectNote("Hoarse since May", ("ENT",))})
    qtbot.waitUntil(lambda: page.tag.isVisible())
    page.tag.setCurrentText("ENT")
    assert names(page) == ["ward4-0001"]
    page.tag.setCurrentIndex(0)
    qtbot.keyClicks(page.search, "hoarse")
    assert names(page) == ["ward4-0001"]
    assert not [path for path in network.asked if path != "/v2/groups"]


def test_language_and_second_language_are_noted_with_the_subject_and_shown_again(network, open_page, workspace, qtbot):
    network.add_group("ward4-0001")
    spoken = SpokenLanguage("pt-BR", second_language=False)
    workspace.library.subject_notes.store("ward4-0001", SubjectNote(spoken=spoken))
    page = open_page(1)
    page.list.acted.emit("ward4-0001")
    note = page.note
    assert (note.language.currentText(), note.second_language.currentText()) == ("Portuguese (pt-BR)", "No")
    note.language.setCurrentText("German")
    note.second_language.setCurrentText("Yes")
    note.save_button.click()
    kept = SubjectNotes(workspace.library.store)
    german = SubjectNote(spoken=SpokenLanguage("de", second_language=True))
    qtbot.waitUntil(lambda: kept.all() == {"ward4-0001": german})
    page.list.acted.emit("ward4-0001")
    note.language.setCurrentIndex(0)
    note.second_language.setCurrentIndex(0)
    note.save_button.click()
    qtbot.waitUntil(lambda: kept.all() == {})


def test_a_note_under_way_is_kept_when_another_page_is_opened(network, open_page, workspace, qtbot):
    network.add_group("ward4-0001")
    page = open_page(1)
    page.list.acted.emit("ward4-0001")
    qtbot.keyClicks(page.note.tags.edit, "follow-up")
    page.closed()
    kept = SubjectNotes(workspace.library.store)
    qtbot.waitUntil(lambda: kept.all() == {"ward4-0001": SubjectNote("", ("follow-up",))})


def test_subjects_are_filtered_by_level_and_sorted(shelf, open_page, pulse_job):
    shelf.put("b-1", OutboxState.DONE, job=pulse_job, hours_ago=5)
    shelf.put("a-1", hours_ago=3)
    shelf.put("c-1", hours_ago=1)
    page = open_page(3)
    assert names(page) == ["c-1", "a-1", "b-1"]
    page.order.setCurrentText("By name")
    assert names(page) == ["a-1", "b-1", "c-1"]
    page.order.setCurrentText("Highest level")
    assert names(page) == ["b-1", "c-1", "a-1"]
    page.list.horizontalHeader().sectionClicked.emit(1)
    page.list.horizontalHeader().sectionClicked.emit(1)
    assert names(page) == ["b-1", "a-1", "c-1"]
    page.only.setCurrentText("Elevated")
    assert names(page) == []
    page.only.setCurrentText("Moderate or higher")
    assert names(page) == ["b-1"]
    assert page.caption.text() == "1 of 3 subjects"


def test_without_the_service_the_list_shows_what_is_here(shelf, network, open_page, qtbot):
    shelf.put("ward4-0172", OutboxState.WAITING)
    network.up = False
    page = open_page(1)
    qtbot.waitUntil(lambda: "The list shows what is known on this computer." in page.banner.text())
    assert cell(page, "ward4-0172", 5) == "1 on the way"


def test_a_click_opens_a_subject(network, open_page, asked, qtbot):
    network.add_group("ward4-0001")
    page = open_page(1)
    rect = page.list.visualRect(page.view_model.table.index(0, 1))
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert asked == [("subject", "ward4-0001")]


def test_several_subjects_get_and_lose_tags_at_once(shelf, workspace, open_page, qtbot):
    for name in ("ward4-0001", "ward4-0002", "ward4-0003"):
        shelf.put(name, OutboxState.CHECKED)
    workspace.library.subject_notes.store("ward4-0001", SubjectNote("Hoarse since May.", ("ENT",)))
    page = open_page(3)
    qtbot.waitUntil(lambda: page.view_model.note_of("ward4-0001").tags == ("ENT",))
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert page.many.bar.text() == "3 subjects chosen"
    page.many.bar.button("tag").click()
    qtbot.keyClicks(page.many.tags.edit, "study, ENT")
    page.many.add_button.click()

    def kept():
        return {name: note.tags for name, note in workspace.library.subject_notes.all().items()}

    wanted = {"ward4-0001": ("ENT", "study"), "ward4-0002": ("study", "ENT"), "ward4-0003": ("study", "ENT")}
    qtbot.waitUntil(lambda: kept() == wanted)
    assert workspace.library.subject_notes.all()["ward4-0001"].text == "Hoarse since May."
    page.list.choose_keys(["ward4-0002"])
    assert page.many.bar.text() == "1 subject chosen"
    page.many.bar.button("tag").click()
    qtbot.keyClicks(page.many.tags.edit, "ENT")
    page.many.remove_button.click()
    qtbot.waitUntil(lambda: kept() == wanted | {"ward4-0002": ("study",)})
    page.many.bar.button("none").click()
    assert page.list.chosen_keys() == []
    assert page.many.bar.text().startswith("Tick subjects")


def test_the_smallest_window_with_the_largest_text_scrolls_so_that_rows_have_room(shelf, open_page, qtbot):
    """Without that, the title and the choices left the list no height."""
    Theme(Scheme.LIGHT, 2.0).install()
    for number in range(4):
        shelf.put(f"ward4-{number}", OutboxState.CHECKED)
    page = open_page(4)
    page.resize(896, 576)
    qtbot.waitUntil(lambda: page.list.viewport().height() > page.list.rowHeight(0))
    assert page.caption.height() >= page.caption.heightForWidth(page.caption.width())
    area = page.findChild(QScrollArea)
    assert area.verticalScrollBar().maximum() > 0
    assert area.widget().width() <= area.viewport().width()
