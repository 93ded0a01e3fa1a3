"""Alias and second line of a subject, wherever its id is shown."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.compare.page import ComparePage
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote

SUBJECT, NAME = "s-7k3m9qpxab", "\u2068مريم\u2069"
WORDS = f"{NAME} · 1956"


@pytest.fixture
def named(workspace):
    workspace.library.subject_notes.store(SUBJECT, SubjectNote("Hoarse.", (), "مريم", "1956"))


@pytest.fixture
def open_page(workspace, qtbot):
    pages = []

    def make(build, argument=None):
        page = build(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(argument)
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.closed()


def words_of(page):
    return " | ".join(label.text() for label in page.findChildren(QLabel))


@pytest.mark.usefixtures("named")
def test_the_outbox_and_the_list_of_subjects_show_both_lines(shelf, open_outbox, open_listed):
    shelf.put(SUBJECT)
    (row,) = open_outbox(1).view_model.table.rows()
    assert row.cells[0].first == WORDS
    (row,) = open_listed(SubjectsPage, 1).view_model.table.rows()
    assert row.cells[0].first == NAME
    assert row.cells[0].second == "1956 · Hoarse."


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("typed", ["مريم", "1956", "K3M9"])
def test_the_search_of_subjects_finds_name_second_line_and_id(shelf, open_listed, qtbot, typed):
    shelf.put(SUBJECT)
    shelf.put("ward4-0172")
    page = open_listed(SubjectsPage, 2)
    page.search.setText(typed)
    assert [row.key for row in page.view_model.table.rows()] == [SUBJECT]


@pytest.mark.usefixtures("named")
def test_result_compare_and_subject_show_both_lines(shelf, network, open_page, qtbot, pulse_job, trajectory_answer):
    routes = [RecordingRoute(take_id=shelf.put(SUBJECT, OutboxState.DONE, job=pulse_job)) for _ in range(2)]
    network.trajectories[SUBJECT] = [trajectory_answer | {"group_id": SUBJECT}]
    result = open_page(ResultPage, routes[0])
    qtbot.waitUntil(lambda: result.view_model.view.reading is not None)
    assert result.subject_button.text() == WORDS
    compared = open_page(ComparePage, ComparisonRoute(*routes))
    qtbot.waitUntil(lambda: compared.view_model.reading is not None)
    assert compared.subject_button.text() == WORDS
    subject = open_page(SubjectPage, SUBJECT)
    assert subject.title.text() == WORDS
    qtbot.waitUntil(lambda: subject.view_model.reading is not None)
    assert subject.title.text() == WORDS


@pytest.mark.usefixtures("named")
def test_the_cohort_shows_both_lines_and_searches_them(shelf, open_page, qtbot, pulse_job):
    shelf.put(SUBJECT, OutboxState.DONE, job=pulse_job)
    shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    page = open_page(CohortPage)
    qtbot.waitUntil(lambda: page.heat.model().rowCount() == 2)
    heat = {row.key: row.cells[0].text for row in page.view_model.heat.rows()}
    assert heat == {SUBJECT: WORDS, "ward4-0172": "ward4-0172"}
    assert any(WORDS in row.cells[1].text for row in page.view_model.triage.rows())
    page.search.setText("مريم")
    qtbot.waitUntil(lambda: [row.key for row in page.view_model.heat.rows()] == [SUBJECT])


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        (SubjectDetail.BIRTH_YEAR, "56", "1956"),
        (SubjectDetail.INITIALS, "M. Mustermann", "M. M."),
        (SubjectDetail.RECORD_NUMBER, "9" * 41, "KH-77/12"),
    ],
)
def test_each_profile_chooses_the_second_line_and_a_person_enters_it(
    workspace, shelf, open_listed, qtbot, kind, wrong, right
):
    shelf.put("ward4-0172")
    page = open_listed(SubjectsPage, 1)
    page._edit_note("ward4-0172")
    assert not page.note.detail_field.isVisible()
    workspace.library.change_settings(detail=kind)
    qtbot.waitUntil(lambda: page.view_model.detail is kind)
    page._edit_note("ward4-0172")
    assert page.note.detail_field.isVisible()
    page.note.detail.setText(wrong)
    page.note.save_button.click()
    assert page.note.detail_field.below_text()
    page.note.detail.setText(right)
    page.note.save_button.click()
    qtbot.waitUntil(lambda: workspace.library.subject_notes.shown("ward4-0172").detail == right)


@pytest.mark.usefixtures("named")
def test_a_note_that_is_edited_keeps_the_name(workspace, shelf, open_listed, qtbot):
    shelf.put(SUBJECT)
    page = open_listed(SubjectsPage, 1)
    page._edit_note(SUBJECT)
    page.note.text.setPlainText("Better.")
    page.note.save_button.click()
    kept = SubjectNote("Better.", (), "مريم", "1956")
    qtbot.waitUntil(lambda: workspace.library.subject_notes.note_of(SUBJECT) == kept)


def test_enter_in_the_search_records_a_name_that_is_new(network, open_listed, asked, qtbot):
    network.add_group("ward4-0001")
    page = open_listed(SubjectsPage, 1)
    page.search.setText("Übung 7")
    assert page.view_model.can_record_search()
    page.view_model.record()
    assert asked == [("record", "Übung 7")]
    qtbot.keyClick(page.search, Qt.Key.Key_Escape)
