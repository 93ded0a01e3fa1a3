"""Pages show that they load until their first read has ended; empty states come later."""

import sqlite3
import threading

import pytest

from patience import HANGS_S
from vbdesk.desk.cohort.cohort_cache import CohortCache
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.outbox.rows import Show
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.outbox.library.states import OutboxState


@pytest.fixture
def gate(monkeypatch):
    """Block every call of a method until the returned gate is opened."""
    opened = threading.Event()

    def hold_up(target, name):
        method = getattr(target, name)

        def held(*args, **more):
            assert opened.wait(HANGS_S)
            return method(*args, **more)

        monkeypatch.setattr(target, name, held)
        return opened

    yield hold_up
    opened.set()


@pytest.fixture
def open_page(workspace, qtbot):
    def make(build, argument=None):
        page = build(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(argument)
        return page

    yield make
    qtbot.waitUntil(lambda: not workspace.tasks.busy)


def says(page, words):
    return words in page.empty.text()


def test_the_outbox_loads_before_it_says_that_it_is_empty(workspace, gate, open_page, qtbot):
    opened = gate(workspace.library, "changes_since")
    page = open_page(OutboxPage)
    assert says(page, "Loading The recordings are being read.")
    page.segment.choose(Show.DONE)
    page.view_model.choose(Show.DONE)
    assert says(page, "Loading")
    assert not page.empty.button.isVisible()
    assert "0" not in "".join(page.figures.texts())
    opened.set()
    qtbot.waitUntil(lambda: says(page, "No results yet"))
    assert page.empty.button.isVisible()
    assert page.figures.texts()[0] == "0 Waiting"


def test_a_long_outbox_loads_and_then_shows_its_recordings(workspace, shelf, gate, open_page, qtbot):
    shelf.put("ward4-0172", OutboxState.WAITING)
    opened = gate(workspace.library, "changes_since")
    page = open_page(OutboxPage)
    assert says(page, "Loading")
    opened.set()
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 1)
    assert not page.empty.isVisible()


def test_an_outbox_that_cannot_be_read_does_not_load_for_ever(workspace, monkeypatch, open_page, qtbot):
    def refuse(version):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(workspace.library, "changes_since", refuse)
    page = open_page(OutboxPage)
    qtbot.waitUntil(lambda: says(page, "This list could not be read"))


def test_the_subjects_load_before_it_is_said_that_there_are_none(workspace, gate, open_page, qtbot):
    opened = gate(workspace.library, "list")
    page = open_page(SubjectsPage)
    page.view_model.search_for("ward4")
    assert says(page, "Loading The subjects are being read.")
    page.view_model.search_for("")
    opened.set()
    qtbot.waitUntil(lambda: says(page, "No subjects yet"))
    assert page.empty.button.isVisible()


def test_the_subjects_load_while_the_service_is_asked_for_the_first_time(gate, network, open_page, qtbot):
    opened = gate(network, "answer")
    page = open_page(SubjectsPage)
    qtbot.waitUntil(lambda: page.view_model.data.complete)
    assert says(page, "Loading")
    opened.set()
    qtbot.waitUntil(lambda: says(page, "No subjects yet"))


def test_a_service_that_cannot_be_reached_ends_the_loading_of_the_subjects(network, open_page, qtbot):
    network.up = False
    page = open_page(SubjectsPage)
    qtbot.waitUntil(lambda: says(page, "No subjects yet"))
    assert "on this computer" in page.banner.text()


def test_the_cohort_loads_before_it_says_that_there_is_nobody(monkeypatch, gate, open_page, qtbot):
    opened = gate(CohortCache, "_read_library")
    page = open_page(CohortPage)
    assert says(page, "Loading The results are being read.")
    opened.set()
    qtbot.waitUntil(lambda: says(page, "Nobody to show yet"))


def test_a_subject_loads_until_the_first_answer(gate, network, open_page, qtbot):
    opened = gate(network, "answer")
    page = open_page(SubjectPage, "ward4-0172")
    assert says(page, "Loading Reading the trajectory.")
    opened.set()
    qtbot.waitUntil(lambda: says(page, "Nothing to show yet"))
    page.closed()
