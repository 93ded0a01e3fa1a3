"""What is left of a subject on this computer after an erasure."""

import pytest

from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.states import NotAllowed
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote

NOTE = SubjectNote("Hoarse since May.", ("ENT",), "Übung 7", "1956")


@pytest.fixture(autouse=True)
def known(library):
    """What the desk knows of a subject."""
    library.subject_notes.keep("ward4-0172", NOTE)
    library.responses.keep_trajectory("ward4-0172", b"{}")
    library.consents.give("ward4-0172", ConsentKind.CLINICAL)


def test_an_erasure_deletes_history_and_names_and_keeps_the_consent(library):
    erase_subject(library, "ward4-0172")
    assert library.responses.trajectory("ward4-0172") is None
    assert library.subject_notes.note_of("ward4-0172") == SubjectNote()
    assert library.subject_notes.group_id_of("Übung 7") is None
    assert len(library.consents.of("ward4-0172").events) == 1


def test_what_cannot_be_erased_keeps_its_names(library, monkeypatch):
    def refuse(take_id, **options):
        raise NotAllowed("It is being analysed.")

    monkeypatch.setattr("vbdesk.outbox.library.subject_erasure.recordings_to_erase", lambda *subject: ["take-1"])
    monkeypatch.setattr(library, "discard", refuse)
    assert erase_subject(library, "ward4-0172").left == ("It is being analysed.",)
    assert library.subject_notes.note_of("ward4-0172") == NOTE
