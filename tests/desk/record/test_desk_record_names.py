"""Names in any script on the Record page."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from vbdesk.contract.groups import group_id_fault
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.library.items import ItemFilter, metadata_of
from vbdesk.outbox.library.settings import LibrarySettings, SubjectDetail
from vbdesk.outbox.library.subject_notes import SubjectNote


def recorded_as(user, typed):
    """The id and the shown name of a subject whose recording was kept."""
    before = {item.take_id for item in user.outbox()}
    user.enters_subject(typed)
    user.records(20)
    user.stops()
    user.page.check.keep.click()
    user.waits_for(lambda: len(user.outbox()) > len(before) and user.page.review.review is None)
    (group_id,) = (item.group_id for item in user.outbox() if item.take_id not in before)
    return group_id, user.workspace.library.subject_notes.shown(group_id).name


def test_a_name_becomes_an_id_and_the_same_name_finds_the_subject_again(user):
    group_id, name = recorded_as(user, "Übung 7")
    assert group_id_fault(group_id) is None
    assert "bung" not in group_id
    assert name == "\u2068Übung 7\u2069"
    again, _ = recorded_as(user, "ÜBUNG  7")
    assert again == group_id
    other, _ = recorded_as(user, "مريم")
    assert other != group_id
    third, _ = recorded_as(user, "ward4-0172")
    assert third == "ward4-0172"


def test_the_page_says_what_is_sent_and_what_is_known(user):
    setup, field = user.page.model.setup, user.page.ready.setup.subject_field
    notes = user.workspace.library.subject_notes
    user.enters_subject("مريم")
    user.waits_for(lambda: "Sent as" in field.below_text())
    assert setup.subject.group_id in field.below_text()
    assert notes.note_of(setup.subject.group_id) == SubjectNote()  # nothing is stored while a person types
    group_id, _ = recorded_as(user, "Übung 7")
    notes.store(group_id, SubjectNote(alias="Übung 7", detail="1956"))
    user.page.opened(group_id)  # as from the page of the subject
    assert user.page.ready.setup.subject.text() == "Übung 7"
    user.waits_for(lambda: field.below_text().startswith("1956 · Known subject · 1 recording, last "))
    library = user.workspace.library
    [item] = library.list(ItemFilter(group_id=group_id))
    with library.store.changing():
        library.store.store_details(item.take_id, replace(metadata_of(item), excluded=True))
    user.page.opened("ward4-0172")
    user.page.opened(group_id)
    user.waits_for(lambda: field.below_text().startswith("1956 · Known subject · 1 recording · Sent as"))


def test_a_consent_that_is_noted_before_an_import_stays_with_the_name(user, tmp_path):
    user.enters_subject("Übung 7")
    setup, library = user.page.model.setup, user.workspace.library
    user.waits_for(lambda: setup.consent.status is not None)
    setup.consent.tick(True)
    user.page.import_files([tmp_path])  # an empty folder
    user.waits_for_words("There is no WAV, FLAC, MP3 or M4A file in it.")
    group_id = setup.subject.group_id
    assert library.subject_notes.group_id_of("Übung 7") == group_id
    assert len(library.consents.of(group_id).events) == 1


def test_a_known_name_is_completed(user):
    recorded_as(user, "Übung 7")
    completer = user.page.ready.setup.subject.completer()
    user.waits_for(lambda: "Übung 7" in user.page.ready.setup._known.stringList())
    completer.setCompletionPrefix("übung")
    assert completer.currentCompletion() == "Übung 7"


def test_typing_is_not_disturbed_by_spaces_case_or_a_known_name(user, qtbot):
    recorded_as(user, "Übung 7")
    field = user.page.ready.setup.subject
    field.clear()
    qtbot.keyClicks(field, "ÜBUNG 7 b")
    assert field.text() == "ÜBUNG 7 b"
    field.clear()
    qtbot.keyClicks(field, "ward4")
    qtbot.keyClick(field, Qt.Key.Key_Space)
    assert field.text() == "ward4 "


@pytest.mark.parametrize("typed", ["--", "x\x07é", "é" * 200])
def test_what_is_no_name_is_refused_in_words(user, typed):
    user.page.ready.setup.subject.setText(typed)
    assert user.page.ready.setup.subject_field.below_text().startswith("A subject's name has")
    assert not user.page.model.setup.ready


@pytest.fixture
def second_line(user):
    """The profile chooses a second line, as the account page does."""

    def use(kind):
        user.workspace.library.change_settings(detail=kind)
        user.workspace.sync.set_counts(user.workspace.sync.counts, LibrarySettings(detail=kind))

    return use


def test_a_new_subject_gets_its_second_line_on_record(user, second_line):
    card, setup = user.page.ready.setup, user.page.model.setup
    user.enters_subject("Übung 7")
    assert not card.detail_field.isVisible()
    second_line(SubjectDetail.BIRTH_YEAR)
    assert card.detail_field.isVisible()
    card.detail.setText("56")
    assert card.detail_field.below_text() == "A birth year has four digits, as in 1956."
    assert setup.missing == "A birth year has four digits, as in 1956."
    user.page.model.press()
    assert user.page.model.phase is RecordPhase.READY
    card.detail.setText("1956")
    assert user.page.ready.stage.title.text().endswith("1956")
    notes = user.workspace.library.subject_notes
    assert notes.note_of(setup.subject.group_id) == SubjectNote()  # nothing is stored while a person types
    group_id, _ = recorded_as(user, "Übung 7")
    assert notes.note_of(group_id) == SubjectNote(alias="Übung 7", detail="1956")
    user.enters_subject("Übung 7")
    assert not card.detail_field.isVisible()
    assert setup.subject_name(group_id).endswith("1956")


def test_a_second_line_is_that_of_one_subject_and_is_never_asked_without_being_chosen(user, second_line):
    card, setup = user.page.ready.setup, user.page.model.setup
    second_line(SubjectDetail.INITIALS)
    user.enters_subject("a-1")
    card.detail.setText("M. M.")
    user.enters_subject("a-2")
    assert (setup.detail, card.detail.text()) == ("", "")
    group_id, _ = recorded_as(user, "a-2")
    assert user.workspace.library.subject_notes.note_of(group_id) == SubjectNote()
    user.enters_subject("a-1")
    card.detail.setText("M. M.")
    second_line(SubjectDetail.NONE)
    assert not card.detail_field.isVisible()
    group_id, _ = recorded_as(user, "a-1")
    assert user.workspace.library.subject_notes.note_of(group_id) == SubjectNote()


def test_what_is_noted_elsewhere_while_a_name_is_stored_stays(user, monkeypatch):
    user.enters_subject("山田太郎")
    setup, library = user.page.model.setup, user.workspace.library
    changing, group_id = library.store.changing, setup.subject.group_id

    def after_another():
        monkeypatch.setattr(library.store, "changing", changing)
        library.subject_notes.store(group_id, SubjectNote(text="after lunch"))
        return changing()

    monkeypatch.setattr(library.store, "changing", after_another)
    entered = setup.entered()
    setup.set_subject("ward4-0172")  # the next person
    user.workspace.tasks.start(lambda context: entered.store(library))
    user.waits_for(lambda: not user.workspace.tasks.busy)
    assert library.subject_notes.note_of(group_id) == SubjectNote(text="after lunch", alias="山田太郎")
