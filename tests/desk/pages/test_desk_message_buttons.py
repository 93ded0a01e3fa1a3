"""The button of a message does what this message offers, never what an earlier one did; Close only closes."""

import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from patience import HANGS_S
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.cohort.view_model import WriteTable
from vbdesk.desk.flow.commands import CommandOutcome, Done
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.results.correction_actions import CorrectionChoice
from vbdesk.desk.results.result_source import ResultSource
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import Fix, OutboxState

A, B = "ward4-0172", "ward4-0173"


@contextmanager
def held(monkeypatch, owner, name):
    """Hold the first call of a method until the block ends; yields an event that is set while it is held."""
    method, begun, go_on = getattr(owner, name), threading.Event(), threading.Event()

    def slow(*arguments, **options):
        begun.set()
        assert go_on.wait(HANGS_S)
        return method(*arguments, **options)

    monkeypatch.setattr(owner, name, slow)
    try:
        yield begun
    finally:
        go_on.set()


def choose(page, *take_ids):
    page.list.clearSelection()
    flag = page.list.selectionModel().SelectionFlag
    for take_id in take_ids:
        index = page.view_model.table.index(page.view_model.table.index_of(take_id), 0)
        page.list.selectionModel().select(index, flag.Select | flag.Rows)


def trash_all(page, qtbot, take_ids):
    """Delete recordings and show the trash."""
    choose(page, *take_ids)
    press(qtbot, page.bar.button("delete"))
    qtbot.waitUntil(page.undo.isVisible)
    press(qtbot, page.segment.option("trash"))
    qtbot.waitUntil(lambda: page.view_model.table.index_of(take_ids[0]) is not None)


def press(qtbot, button):
    """Click a button as a person does: only one that is seen."""
    qtbot.waitUntil(button.isVisible)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def close(qtbot, banner):
    """Close a message by its button Close, or by the small one."""
    shown = [button for button in (banner.button, banner.other_button) if button.isVisible()]
    named = [button for button in shown if button.text() == "Close"]
    press(qtbot, named[0] if named else banner._close)


@pytest.fixture
def asks_for_consent(workspace):
    settings = workspace.library.change_settings(consent=ConsentRules(policy=ConsentPolicy.REMINDED))
    workspace.sync.set_counts(workspace.sync.counts, settings)


@pytest.fixture
def known(network, trajectory_answer, pulse_job, shelf, workspace):
    """A subject with three finished recordings at the service and two here; a second one with one; returns the jobs."""
    points = trajectory_answer["data_points"][:3]
    for place, point in enumerate(points[:2]):
        job = pulse_job.model_copy(update={"job_id": point["job_id"]})
        take_id = shelf.put(A, OutboxState.DONE, job=job, hours_ago=100 - place)
        point["recorded_at"] = workspace.library.get(take_id).recorded_at.isoformat()
        with workspace.library.store.changing():
            workspace.library.store.add("jobs", job.job_id, take_id)
    signs = [sign | {"series": sign["series"][:3]} for sign in trajectory_answer["signs"]]
    network.trajectories[A] = [
        trajectory_answer | {"group_id": A, "data_points": points, "signs": signs, "done_job_count": 3}
    ]
    network.trajectories[B] = [trajectory_answer | {"group_id": B}]
    return [point["job_id"] for point in points]


@pytest.fixture
def subject(workspace, known, qtbot):
    qtbot.waitUntil(lambda: workspace.sync.counts[OutboxState.DONE] == 2)
    page = SubjectPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(1080, 768)
    page.show()
    page.opened(A)
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 3)
    yield page
    page.closed()


def exclude(page, qtbot, ask):
    """Exclude a recording, and wait until its undo is offered."""
    ask()
    card = page.correction_card
    qtbot.waitUntil(card.isVisible)
    press(qtbot, card.choice.option(CorrectionChoice.EXCLUDE.value))
    card.reason.setCurrentIndex(card.reason.findData("wrong person"))
    press(qtbot, card.go)
    qtbot.waitUntil(lambda: page.banner.button.text() == "Undo")


def note_consent(page, qtbot):
    press(qtbot, page.consent_line.button)
    press(qtbot, page.consent_card.give_button)
    qtbot.waitUntil(lambda: "The consent is noted." in page.banner.text())


def corrections(workspace):
    return [entry.target for entry in workspace.library.corrections.all()]


# A correction and its undo


def test_closing_the_news_of_a_consent_keeps_the_correction_made_before(
    asks_for_consent, subject, known, workspace, qtbot
):
    exclude(subject, qtbot, lambda: subject.table.acted.emit(known[1]))
    note_consent(subject, qtbot)
    close(qtbot, subject.banner)
    assert not subject.banner.isVisible()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert corrections(workspace) == [None]
    assert [entry.target for entry in workspace.library.corrections.in_force()] == [None]


def test_closing_a_failed_consent_keeps_the_correction_made_before(
    asks_for_consent, subject, known, workspace, monkeypatch, qtbot
):
    exclude(subject, qtbot, lambda: subject.table.acted.emit(known[1]))

    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace.library.consents, "give_by", refuse)
    press(qtbot, subject.consent_line.button)
    press(qtbot, subject.consent_card.give_button)
    qtbot.waitUntil(lambda: subject.banner.tone == "fail")
    close(qtbot, subject.banner)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert corrections(workspace) == [None]


def test_the_undo_of_a_correction_is_done_once_and_only_by_its_button(subject, known, workspace, qtbot):
    exclude(subject, qtbot, lambda: subject.table.acted.emit(known[1]))
    press(qtbot, subject.banner.button)
    qtbot.waitUntil(lambda: "Undone" in subject.banner.text())
    close(qtbot, subject.banner)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert len(corrections(workspace)) == 2
    assert workspace.library.corrections.in_force() == []


def test_closing_a_refused_correction_asks_the_service_nothing(subject, workspace, network, qtbot):
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    subject.view_model.corrections.refused.emit("This recording cannot be corrected now.")
    before = list(network.asked)
    close(qtbot, subject.banner)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert network.asked == before


def test_a_result_says_that_it_cannot_be_read_also_after_an_offer_of_undo_was_closed(
    known, workspace, monkeypatch, qtbot
):
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(1080, 768)
    page.show()
    page.opened(RecordingRoute(job_id=known[0], group_id=A))
    qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
    exclude(page, qtbot, page.correct_button.click)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    close(qtbot, page.banner)
    monkeypatch.setattr(ResultSource, "here", lambda source, recording: 1 / 0)
    page.view_model.reload()
    qtbot.waitUntil(lambda: page.banner.button.text() == "Try again")
    assert corrections(workspace) == [None]
    page.closed()


# Questions of the Outbox


@pytest.fixture
def fails_to_read(monkeypatch, qtbot):
    """The library cannot be read until the page has said so."""

    def fails(library, version):
        raise OSError(5, "Input/output error")

    def make(page):
        with monkeypatch.context() as until_told:
            until_told.setattr(Library, "changes_since", fails)
            with qtbot.waitSignal(page.view_model.refused):
                page.view_model.refresh()

    return make


def test_closing_the_news_of_a_failed_read_destroys_nothing(
    shelf, open_outbox, workspace, pulse_job, fails_to_read, qtbot
):
    done = shelf.put(A, OutboxState.DONE, job=pulse_job)
    page = open_outbox(1)
    trash_all(page, qtbot, [done])
    choose(page, done)
    press(qtbot, page.bar.button("destroy"))
    assert page.notice.button.text() == "Destroy now"
    fails_to_read(page)
    close(qtbot, page.notice)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert workspace.library.trash.holds(done)


def test_closing_the_news_of_a_failed_read_sends_nothing_again(shelf, open_outbox, workspace, fails_to_read, qtbot):
    take_id, store = shelf.put(A, OutboxState.WAITING), workspace.library.store
    with store.changing():
        store.write_event_of(take_id, {"asked_at": store.now()})
        store.move(take_id, OutboxState.NEEDS_ATTENTION, "The service may have this recording.", Fix.SEND_AGAIN)
    page = open_outbox(1)
    item = workspace.library.get(take_id)
    page.list.acted.emit(take_id)
    assert page.notice.button.text() == "Send again"
    fails_to_read(page)
    close(qtbot, page.notice)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert workspace.library.get(take_id) == item


def test_a_question_that_was_closed_is_answered_by_no_later_button(
    shelf, open_outbox, workspace, pulse_job, fails_to_read, qtbot
):
    done = shelf.put(A, OutboxState.DONE, job=pulse_job)
    page = open_outbox(1)
    trash_all(page, qtbot, [done])
    choose(page, done)
    press(qtbot, page.bar.button("destroy"))
    press(qtbot, page.notice._close)
    fails_to_read(page)
    close(qtbot, page.notice)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert workspace.library.trash.holds(done)


# Outcomes that come late


def test_an_erasure_that_ends_late_is_not_said_of_another_subject(
    asks_for_consent, subject, known, workspace, monkeypatch, qtbot
):
    workspace.library.consents.give(A, ConsentKind.BOTH)
    page, card = subject, subject.consent_card
    qtbot.waitUntil(lambda: page.view_model.consent.reading.recordings == 2)
    qtbot.waitUntil(lambda: page.view_model.consent.reading.withdrawable)
    with held(monkeypatch, Library, "withdraw_consent") as erasing:
        press(qtbot, page.consent_line.button)
        press(qtbot, card.withdraw_button)
        press(qtbot, card.erase_button)
        qtbot.waitUntil(erasing.is_set)
        page.opened(B)
        qtbot.waitUntil(lambda: page.view_model.reading is not None and page.view_model.reading.group_id == B)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert workspace.library.list() == []  # it was done
    assert "erased" not in page.banner.text() or A in page.banner.text()


def test_a_consent_that_fails_late_is_not_said_of_another_subject(
    asks_for_consent, subject, known, workspace, monkeypatch, qtbot
):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    page = subject
    monkeypatch.setattr(workspace.library.consents, "give_by", refuse)
    with held(monkeypatch, workspace.library.consents, "give_by") as noting:
        press(qtbot, page.consent_line.button)
        press(qtbot, page.consent_card.give_button)
        qtbot.waitUntil(noting.is_set)
        page.opened(B)
        qtbot.waitUntil(lambda: page.view_model.reading is not None and page.view_model.reading.group_id == B)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert not page.banner.text() or A in page.banner.text()


def test_a_consent_that_is_noted_late_is_not_said_of_another_subject(
    asks_for_consent, subject, known, workspace, monkeypatch, qtbot
):
    page = subject
    with held(monkeypatch, workspace.library.consents, "give_by") as noting:
        press(qtbot, page.consent_line.button)
        press(qtbot, page.consent_card.give_button)
        qtbot.waitUntil(noting.is_set)
        page.opened(B)
        qtbot.waitUntil(lambda: page.view_model.reading is not None and page.view_model.reading.group_id == B)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert workspace.library.consents.of(A).events
    assert "noted" not in page.banner.text() or A in page.banner.text()


# Other pages


def test_try_again_asks_the_service_while_an_export_is_under_way(
    shelf, service, open_listed, workspace, tmp_path, monkeypatch, qtbot
):
    shelf.put("a-1")
    page = open_listed(SubjectsPage, 1)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    exports = page.export_menu.work
    with held(monkeypatch, workspace.library.responses, "trajectories"):
        page.export_menu.export("csv", str(tmp_path))
        page.view_model.offline.emit("The service does not answer.")
        asked = []
        monkeypatch.setattr(page.view_model, "ask_service", lambda: asked.append(True))
        press(qtbot, page.banner.button)
        assert exports.busy
    qtbot.waitUntil(lambda: not exports.busy)
    assert list(tmp_path.glob("vbdesk-*"))  # the export was not cancelled


def test_the_cohort_offers_to_read_more_after_a_message_was_closed(shelf, service, workspace, pulse_job, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    page = CohortPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(None)
    qtbot.waitUntil(page.export_button.isEnabled)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    table = WriteTable((), {}, False, Path("/tmp/cohort.csv"))
    page.view_model.exported.emit(CommandOutcome(table, failure=Failure.of(OSError())))
    press(qtbot, page.banner._close if page.banner._close.isVisible() else page.banner.button)
    page.view_model.exported.emit(CommandOutcome(table, Done("Written.", found=table.path)))
    press(qtbot, page.banner._close)
    page.view_model.data = replace(page.view_model.data, missing=3)
    page.view_model.refreshed.emit()
    qtbot.waitUntil(lambda: page.banner.button.text() == "Read them")
    page.closed()


def test_a_removal_that_was_not_confirmed_is_forgotten(account, qtbot):
    page = account
    page._ask_to_remove(next(entry for entry in page._lines if entry.profile_id == "p2"))
    assert page.banner.button.text() == "Remove"
    press(qtbot, page.banner._close)
    page._show_status(replace(page._sync.status, on_hold=Fix.UNLOCK_KEYRING))
    assert page.banner.button.text() == "Try again"
    press(qtbot, page.banner.button)
    qtbot.settle()
    assert {entry.profile_id for entry in page._lines} >= {"p2"}


def test_a_button_pressed_before_its_message_was_replaced_does_nothing(subject, known, network, workspace, qtbot):
    exclude(subject, qtbot, lambda: subject.table.acted.emit(known[1]))
    qtbot.mousePress(subject.banner.button, Qt.MouseButton.LeftButton)
    network.up = False
    subject.view_model.reload()
    qtbot.waitUntil(lambda: subject.banner.button.text() == "Try again")
    qtbot.mouseRelease(subject.banner.button, Qt.MouseButton.LeftButton)
    assert subject.banner.button.text() == "Try again"
    assert subject.banner.isVisible()
