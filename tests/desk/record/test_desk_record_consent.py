"""Consent on the Record page: asked, ticked, in force, and what Space does."""

from datetime import timedelta

import numpy as np
import pytest
import soundfile as sf
from PySide6.QtCore import Qt

from vbdesk.desk.record.consent_box import WordingDialog
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.library import consent_wordings as wordings
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote


@pytest.fixture
def rules(user):
    """Set the consent rules of the profile, as the account page does."""

    def use(policy, **more):
        rules = ConsentRules(policy=policy, **more)
        user.workspace.library.change_settings(consent=rules)
        user.waits_for(lambda: user.workspace.sync.settings.consent == rules)

    return use


@pytest.fixture
def german(monkeypatch):
    """Wordings in English and German only."""
    english = wordings.consent_wordings()["en"]
    told = {"language": "de", "version": "7", "title": "Einwilligung"}
    both = {"en": english, "de": english.model_copy(update=told)}
    monkeypatch.setattr(wordings, "consent_wordings", lambda: both)


def consent(user):
    return user.page.model.setup.consent


def tick_box(user):
    return user.page.ready.setup.consent.tick


def enters(user, group_id="ward4-0172"):
    user.enters_subject(group_id)
    user.waits_for(lambda: consent(user).status is not None)


def test_space_ticks_then_stands_on_start_and_never_unticks(user, qtbot):
    enters(user)
    tick_box(user).setFocus()
    qtbot.keyClick(tick_box(user), Qt.Key.Key_Space)
    assert consent(user).ticked_at is not None
    assert user.page.focusWidget() is user.page.ready.stage.record
    for _ in range(3):
        qtbot.keyClick(tick_box(user), Qt.Key.Key_Space)
        assert tick_box(user).isChecked()
    assert user.page.model.phase is RecordPhase.READY
    qtbot.keyClick(tick_box(user), Qt.Key.Key_Delete)
    assert consent(user).ticked_at is None
    assert not tick_box(user).isChecked()


def test_the_space_after_the_tick_begins_the_recording(user, qtbot):
    enters(user)
    tick_box(user).click()
    qtbot.keyClick(user.page.focusWidget(), Qt.Key.Key_Space)
    user.waits_for(lambda: user.page.model.phase is RecordPhase.RECORDING)
    user.speaks(1)
    user.stops()


def test_another_subject_clears_the_tick_and_the_same_one_keeps_it(user):
    enters(user, "ward4-1")
    consent(user).tick(True)
    user.page.ready.setup.subject.setText(" ward4-1 ")
    assert consent(user).ticked_at is not None
    user.page.ready.setup.subject.setText("ward4-12")
    assert consent(user).ticked_at is None
    assert not tick_box(user).isChecked()


def test_a_tick_needs_a_subject(user):
    tick_box(user).click()
    assert consent(user).ticked_at is None
    assert not tick_box(user).isEnabled()


def test_a_tick_is_stored_with_kind_wording_and_end_before_the_first_sample(user, rules):
    rules(ConsentPolicy.REMINDED, kind=ConsentKind.RESEARCH, valid_days=10, asked_by="N. N.")
    enters(user)
    consent(user).tick(True)
    user.records(16)
    (event,) = user.workspace.library.consents.of("ward4-0172").events
    assert (event.kind, event.language, event.asked_by) == (ConsentKind.RESEARCH, "en", "N. N.")
    assert event.wording == consent(user).wording.version
    assert event.expires == event.at + timedelta(days=10)
    user.stops()
    assert not user.page.review.review.lacks_consent


def test_the_wording_that_was_shown_is_noted_though_the_language_changes_afterwards(user, german):
    enters(user)
    setup = user.page.model.setup
    setup.choose_language(setup.languages.index("de"))
    assert consent(user).wording.title == "Einwilligung"
    consent(user).tick(True)
    setup.choose_language(setup.languages.index("en"))
    user.records(16)
    (event,) = user.workspace.library.consents.of("ward4-0172").events
    assert (event.language, event.wording) == ("de", "7")


def test_a_wording_that_is_missing_is_shown_in_english_and_says_so(user, german, qtbot):
    enters(user)
    setup, box = user.page.model.setup, user.page.ready.setup.consent
    setup.choose_language(setup.languages.index("fr"))
    box.read_button.click()
    dialog = box.findChild(WordingDialog)
    assert dialog.notice.text() == "There is no consent wording in French. It is shown in English."
    assert dialog.sentence.text().startswith("I agree that my voice is recorded")
    dialog.accept()
    consent(user).tick(True)
    user.records(16)
    assert user.workspace.library.consents.of("ward4-0172").events[0].language == "en"


def test_a_known_consent_is_shown_and_not_asked_again(user):
    user.workspace.library.consents.give("ward4-0172", ConsentKind.BOTH)
    enters(user)
    assert tick_box(user).text() == "Consent: Clinical and research"
    assert tick_box(user).caption().endswith(", no end")
    assert not tick_box(user).isEnabled()
    user.records(16)
    user.stops()
    assert len(user.workspace.library.consents.of("ward4-0172").events) == 1


def test_an_expired_consent_is_asked_for_again(user):
    library = user.workspace.library
    now = library.store.clock.now()
    library.consents.give("ward4-0172", ConsentKind.BOTH, at=now - timedelta(days=9), expires=now - timedelta(days=2))
    enters(user)
    assert tick_box(user).caption().startswith("Consent expired")
    assert tick_box(user).isEnabled()


def test_required_nothing_begins_without_a_tick_and_the_page_says_what_to_do(user, rules, qtbot):
    rules(ConsentPolicy.REQUIRED)
    enters(user)
    assert not user.page.ready.stage.record.isEnabled()
    user.page.model.press()
    user.waits_for_words("Ask for consent and tick it to begin.")
    assert user.page.model.phase is RecordPhase.READY
    user.page.ready.setup.subject.setFocus()
    qtbot.keyClick(user.page.ready.setup.subject, Qt.Key.Key_Return)
    assert user.page.focusWidget() is tick_box(user)
    qtbot.keyClick(tick_box(user), Qt.Key.Key_Space)
    assert user.page.focusWidget() is user.page.ready.stage.record
    user.records(16)
    user.stops()
    user.presses(Qt.Key.Key_Return)
    user.waits_for(lambda: [item.state for item in user.outbox()] == [OutboxState.WAITING])


def test_required_a_withdrawal_during_the_recording_keeps_it_here(user, rules):
    rules(ConsentPolicy.REQUIRED)
    enters(user)
    consent(user).tick(True)
    user.records(16)
    user.workspace.library.withdraw_consent("ward4-0172")
    user.stops()
    check = user.page.check
    assert not check.send.isEnabled()
    assert "withdrawn" in check.reason.text()
    user.presses(Qt.Key.Key_Return)
    check.keep.click()
    user.waits_for(lambda: [item.state for item in user.outbox()] == [OutboxState.CHECKED])


def test_reminded_send_says_that_no_consent_is_noted_and_works(user):
    enters(user)
    user.records(16)
    user.stops()
    assert user.page.check.reason.text() == "No consent noted"
    user.presses(Qt.Key.Key_Return)
    user.waits_for(lambda: [item.state for item in user.outbox()] == [OutboxState.WAITING])


def test_off_nothing_is_asked_or_said(user, rules):
    rules(ConsentPolicy.OFF)
    enters(user)
    assert not user.page.ready.setup.consent.isVisible()
    user.records(16)
    user.stops()
    assert "consent" not in user.page.check.reason.text().lower()


def test_required_files_are_not_imported_before_the_tick(user, rules, speech_file):
    rules(ConsentPolicy.REQUIRED)
    enters(user)
    user.page.import_files([speech_file])
    user.waits_for_words("Tick the consent of the subject first")
    consent(user).tick(True)
    user.page.import_files([speech_file])
    user.sees_check()
    assert user.page.check.send.isEnabled()
    assert len(user.workspace.library.consents.of("ward4-0172").events) == 1


def test_required_a_list_says_in_each_row_whose_consent_is_missing(user, rules, speech_file, tmp_path):
    rules(ConsentPolicy.REQUIRED)
    user.workspace.library.consents.give("known", ConsentKind.CLINICAL)
    table = tmp_path / "list.csv"
    lines = [f"{speech_file},{name},2026-03-01T08:00:00Z" for name in ("known", "unknown")]
    table.write_text("path,group_id,recorded_at\n" + "\n".join(lines))
    user.page.import_files([table])
    user.waits_for(lambda: user.page.imports.preview is not None)
    found = {row.group_id: row.error for row in user.page.imports.preview.rows}
    assert found["known"] is None
    assert found["unknown"] is not None


def listed(user, speech_file, tmp_path, *subjects):
    """The table of a list with a recording of each of `subjects`."""
    samples, rate = sf.read(speech_file)
    lines = []
    for place, subject in enumerate(subjects):
        sf.write(tmp_path / f"{place}.wav", np.roll(samples, 1000 * place), rate)
        lines.append(f"{place}.wav,{subject},2026-03-0{place + 1}T08:00:00Z")
    table = tmp_path / "list.csv"
    table.write_text("path,group_id,recorded_at\n" + "\n".join(lines), encoding="utf-8")
    user.page.import_files([table])
    user.waits_for(lambda: user.page.imports.preview is not None)
    return user.page.importing


def test_required_the_consent_of_the_checked_subjects_of_a_table_is_noted_in_one_step(
    user, rules, speech_file, tmp_path, german
):
    rules(ConsentPolicy.REQUIRED, asked_by="Nurse Adler", valid_days=365)
    view = listed(user, speech_file, tmp_path, "a-1", "a-1", "b-2", "Übung 7", "--")
    card, notes = view.consent, user.workspace.library.subject_notes
    notes.store("a-1", SubjectNote(prompts="de"))
    words = "3 subjects have no consent noted, and this profile requires one. Tick the rows of those who agreed."
    assert card.sentence.text() == words
    assert not card.note.isEnabled()
    assert not view.send.isEnabled()
    assert notes.group_id_of("Übung 7") is None
    view.table.choose_keys(["2", "5"])  # lines of the list: the first one is its heading
    assert card.note.text() == "Note consent of 2 subjects"
    assert card.asked_by.text() == "Nurse Adler"
    card.kind.setCurrentIndex(card.kind.findData("research"))
    card.asked_by.setText("Dr Berg")
    card.note.click()
    user.waits_for_words("The consent of 2 subjects is noted.")
    assert card.sentence.text().startswith("1 subject has no consent noted")
    consents, alias_id = user.workspace.library.consents, notes.group_id_of("Übung 7")
    (event,) = consents.of(alias_id).events
    assert (event.kind, event.asked_by) == (ConsentKind.RESEARCH, "Dr Berg")
    assert (event.language, event.wording) == ("en", wordings.consent_wording("en").version)  # theirs differ
    assert event.expires - event.at == timedelta(days=365)
    assert (len(consents.of("a-1").events), consents.of("b-2").events) == (1, ())
    card.check.click()
    assert card.note.text() == "Note consent of 1 subject"
    card.note.click()
    user.waits_for(lambda: card.isHidden())
    view.keep.click()
    user.waits_for_words("Imported: 4. Not imported: 1;")
    assert {item.group_id for item in user.outbox()} == {"a-1", "b-2", alias_id}
    assert notes.note_of(alias_id).alias == "Übung 7"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (ConsentPolicy.REMINDED, "1 subject has no consent noted. Tick the rows of those who agreed."),
        (ConsentPolicy.OFF, ""),
    ],
)
def test_reminded_a_table_offers_the_consent_and_goes_on_without_it(user, rules, speech_file, tmp_path, policy, words):
    rules(policy)
    view = listed(user, speech_file, tmp_path, "a-1")
    assert (view.consent.sentence.text() if not view.consent.isHidden() else "") == words
    assert view.send.isEnabled()
