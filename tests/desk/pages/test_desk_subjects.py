"""The Subjects page."""

from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtCore import Qt

from vbdesk.desk.pages.subjects import SubjectsPage, build_subjects_page
from vbdesk.outbox.states import OutboxState


@pytest.fixture
def open_page(workspace, qtbot):
    def make(count: int) -> SubjectsPage:
        page = build_subjects_page(workspace)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(None)
        qtbot.waitUntil(lambda: page.view_model.table.rowCount() == count)
        return page

    return make


def names(page):
    return [row.key for row in page.view_model.table.rows()]


def cell(page, group_id, column):
    table = page.view_model.table
    return table.row(table.place_of(group_id)).cells[column].text


def test_subjects_of_this_computer_and_of_the_service_are_one_list(shelf, network, open_page, pulse_job):
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    network.add_group("ward4-0168", jobs=38, latest=datetime.now(UTC) - timedelta(days=2))
    page = open_page(2)
    assert names(page) == ["ward4-0172", "ward4-0168"]
    assert cell(page, "ward4-0172", 2) == "Moderate"
    assert cell(page, "ward4-0168", 2) == "Open to see"
    assert cell(page, "ward4-0168", 3) == "38"


def test_an_older_result_here_is_not_called_the_last_level(shelf, network, open_page, pulse_job):
    shelf.put("ward4-0172", OutboxState.DONE, hours_ago=48, job=pulse_job)
    network.add_group("ward4-0172", jobs=2, latest=datetime.now(UTC))
    page = open_page(1)
    assert cell(page, "ward4-0172", 2) == "Open to see"


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


def test_long_lists_are_read_on_while_scrolling(network, open_page, qtbot):
    for number in range(230):
        network.add_group(f"ward4-{number:04d}")
    page = open_page(100)
    assert page.caption.text() == "100 subjects read so far; scroll down for more"
    page.list.verticalScrollBar().setValue(page.list.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 200)
    page.list.verticalScrollBar().setValue(page.list.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: page.caption.text() == "230 subjects")


def test_without_the_service_the_list_shows_what_is_here(shelf, network, open_page, qtbot):
    shelf.put("ward4-0172", OutboxState.WAITING)
    network.up = False
    page = open_page(1)
    qtbot.waitUntil(lambda: "The list shows what is known on this computer." in page.banner.words())
    assert cell(page, "ward4-0172", 4) == "1 on the way"


def test_a_click_opens_a_subject(network, open_page, asked, qtbot):
    network.add_group("ward4-0001")
    page = open_page(1)
    rect = page.list.visualRect(page.view_model.table.index(0, 1))
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert asked == [("subject", "ward4-0001")]
