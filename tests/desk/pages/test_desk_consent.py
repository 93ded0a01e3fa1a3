"""Consent in Outbox, Result, Subject and Account."""

import time

import pytest

from vbdesk.desk.account.recording_rules import SettingsRead
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.ui.cells import LabelCell
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy, ConsentState
from vbdesk.outbox.library.consent_wordings import consent_wording
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote

SUBJECT = "reader-01"


def use(workspace, policy, **more):
    settings = workspace.library.change_settings(consent=ConsentRules(policy=policy, **more))
    workspace.sync.set_counts(workspace.sync.counts, settings)


def cells(page, take_id):
    table = page.view_model.table
    return table.row(table.index_of(take_id)).cells


def notes(row):
    return " ".join(cell.text for cell in row.cells if isinstance(cell, LabelCell))


@pytest.fixture
def subject_page(workspace, network, trajectory_answer, qtbot):
    network.trajectories[SUBJECT] = [trajectory_answer]
    page = SubjectPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(1080, 768)
    page.show()
    page.opened(SUBJECT)
    qtbot.waitUntil(lambda: page.view_model.reading is not None)
    yield page
    page.closed()
    page.charts.show_chart(page.view_model.reading.chart) if page.view_model.reading else None


def test_the_outbox_says_it_in_every_state_and_follows_a_new_consent(shelf, open_outbox, workspace, qtbot):
    takes = [shelf.put("ward4-1", state) for state in (OutboxState.CHECKED, OutboxState.WAITING, OutboxState.DONE)]
    page = open_outbox(3)
    assert all("No consent noted" in cells(page, take_id)[3].text for take_id in takes)
    workspace.library.consents.give("ward4-1", ConsentKind.CLINICAL)
    page.view_model.refresh()
    qtbot.waitUntil(lambda: "No consent" not in cells(page, takes[0])[3].text)
    assert not any("No consent" in cells(page, take_id)[3].text for take_id in takes)


def test_required_a_waiting_row_says_what_it_waits_for(shelf, open_outbox, workspace):
    use(workspace, ConsentPolicy.REQUIRED)
    take_id = shelf.put("ward4-1", OutboxState.WAITING)
    page = open_outbox(1)
    assert "this profile requires it. Note the consent" in cells(page, take_id)[2].text
    assert cells(page, take_id)[3].text == "until consent is noted · No consent noted"


def test_off_no_list_says_anything(shelf, open_outbox, workspace):
    use(workspace, ConsentPolicy.OFF)
    take_id = shelf.put("ward4-1")
    assert "consent" not in cells(open_outbox(1), take_id)[3].text.lower()


def test_a_result_says_whether_consent_is_noted(shelf, workspace, pulse_job, qtbot):
    take_id = shelf.put("ward4-1", OutboxState.DONE, job=pulse_job)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(RecordingRoute(take_id=take_id))
    qtbot.waitUntil(lambda: page.consent.text() == "No consent noted")
    workspace.library.consents.give("ward4-1", ConsentKind.BOTH)
    page.view_model.reload()
    qtbot.waitUntil(lambda: page.consent.text().startswith("Consent: Clinical and research, noted"))
    page.closed()


def test_the_subject_table_says_which_recordings_have_none(subject_page, workspace, qtbot):
    page = subject_page
    assert page.consent_line.sentence.text() == "No consent noted."
    assert all("No consent noted." in notes(row) for row in page.view_model.reading.rows)
    workspace.library.subject_notes.store(SUBJECT, SubjectNote(prompts="de"))
    page.consent_line.button.click()
    page.consent_card.kind.option(ConsentKind.RESEARCH.value).click()
    page.consent_card.give_button.click()
    qtbot.waitUntil(lambda: "Research, noted" in page.consent_line.sentence.text())
    (event,) = workspace.library.consents.of(SUBJECT).events
    assert (event.kind, event.language) == (ConsentKind.RESEARCH, consent_wording("de").language)
    qtbot.waitUntil(lambda: not any("No consent" in notes(row) for row in page.view_model.reading.rows))


def test_a_withdrawal_asks_and_keeps_the_recordings_if_wanted(subject_page, shelf, workspace, qtbot):
    take_id = shelf.put(SUBJECT, OutboxState.WAITING)
    workspace.library.consents.give(SUBJECT, ConsentKind.BOTH)
    page, card = subject_page, subject_page.consent_card
    qtbot.waitUntil(lambda: page.view_model.consent.reading.withdrawable)
    page.consent_line.button.click()
    assert card.kind.choice() == ConsentKind.BOTH.value  # what is in force
    card.kind.option(ConsentKind.RESEARCH.value).click()
    card.withdraw_button.click()
    assert not card.erase_button.isEnabled()  # clinical use goes on
    card.back_button.click()
    card.kind.option(ConsentKind.BOTH.value).click()
    card.withdraw_button.click()
    assert card.erase_button.isEnabled()
    assert "without the trash" in card.erasure.text()
    assert workspace.library.consents.status(SUBJECT).in_force  # only asked yet
    card.keep_button.click()
    qtbot.waitUntil(lambda: "The withdrawal is noted." in page.banner.text())
    assert workspace.library.consents.status(SUBJECT).state is ConsentState.WITHDRAWN
    assert workspace.library.get(take_id).state is OutboxState.CHECKED
    qtbot.waitUntil(lambda: page.consent_line.sentence.text().startswith("Consent withdrawn"))


def test_a_withdrawal_can_erase_everything_here_without_the_trash(subject_page, shelf, workspace, qtbot):
    library = workspace.library
    waiting, trashed = shelf.put(SUBJECT, OutboxState.WAITING), shelf.put(SUBJECT, hours_ago=2)
    running = shelf.put(SUBJECT, OutboxState.RUNNING, hours_ago=3)
    other = shelf.put("ward4-9", hours_ago=4)
    library.trash.put(trashed)
    library.consents.give(SUBJECT, ConsentKind.CLINICAL)
    page, card = subject_page, subject_page.consent_card
    qtbot.waitUntil(lambda: page.view_model.consent.reading.recordings == 3)
    qtbot.waitUntil(lambda: page.view_model.consent.reading.withdrawable)
    page.consent_line.button.click()
    card.withdraw_button.click()
    card.erase_button.click()
    qtbot.waitUntil(lambda: "2 recordings are erased" in page.banner.text())
    assert "1 recording could not be erased" in page.banner.text()
    assert {item.take_id for item in library.list()} == {running, other}
    assert library.trash.items() == []
    assert not library.store.path(waiting).exists()


def test_the_account_page_changes_the_rules(account, workspace, qtbot):
    card = account.consent
    card.policy.option("required").click()
    card.valid.setCurrentIndex(2)
    card.valid.activated.emit(2)
    card.asked_by.setText(" N.  <N>. ")
    card.asked_by.editingFinished.emit()
    expected = ConsentRules(policy=ConsentPolicy.REQUIRED, valid_days=365, asked_by="N. N>.")
    qtbot.waitUntil(lambda: workspace.library.settings().consent == expected)
    qtbot.waitUntil(lambda: "without the consent" in card.sentence.text())


def test_the_last_choice_stays_even_if_an_earlier_one_is_slow(account, workspace, qtbot, monkeypatch):
    change = workspace.library.change_consent_rules

    def slow_at_first(changed):
        if changed(ConsentRules()).policy is ConsentPolicy.REQUIRED:
            time.sleep(0.3)
        return change(changed)

    monkeypatch.setattr(workspace.library, "change_consent_rules", slow_at_first)
    ended = []
    account.consent.content.ended.connect(lambda outcome: ended.append(outcome.command.changes["policy"]))
    account.consent.policy.option("required").click()
    account.consent.policy.option("off").click()
    qtbot.waitUntil(lambda: ended == [ConsentPolicy.REQUIRED, ConsentPolicy.OFF])
    assert workspace.library.settings().consent.policy is ConsentPolicy.OFF
    qtbot.waitUntil(lambda: account.consent.content.of(SettingsRead).value.consent.policy is ConsentPolicy.OFF)
    assert account.consent.policy.choice() == "off"
