"""Local data about a subject: notes, tags, opened results, and cached answers."""

import pytest

from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes


@pytest.fixture
def notes(library):
    return SubjectNotes(library.store)


@pytest.fixture
def with_result(library, new_take):
    """A recording with a result; returns its take id."""

    def make(group_id, job_id=None):
        take_id = new_take(group_id=group_id)
        with library.store.changing():
            for state in ("waiting", "uploading", "submitted", "done"):
                library.store.move(take_id, OutboxState(state))
            library.store.store_result(take_id, b"{}", library.store.clock.now())
            library.store.update(take_id, {"job_id": job_id})
        return take_id

    return make


def test_a_note_and_tags_are_there_after_a_restart(library, notes, reopen):
    notes.store("ward4-0172", SubjectNote(" Hoarse since May. ", ("follow-up", " follow-up", "ENT", "")))
    library.close()
    kept = SubjectNotes(reopen().store).all()
    assert kept == {"ward4-0172": SubjectNote("Hoarse since May.", ("follow-up", "ENT"))}


def test_an_emptied_note_is_deleted(notes):
    notes.store("ward4-0172", SubjectNote("Hoarse."))
    notes.store("ward4-0172", SubjectNote(" "))
    assert notes.all() == {}


def test_notes_are_sealed_to_their_subject(library, notes, tmp_path):
    notes.store("ward4-0172", SubjectNote("Hoarse.", ("ENT",)))
    library.close()
    folder = tmp_path / "library"
    assert b"Hoarse" not in b"".join(file.read_bytes() for file in folder.glob("library.sqlite*"))


def test_a_note_moved_to_another_subject_is_left_out(library, notes):
    notes.store("ward4-0172", SubjectNote("Hoarse."))
    with library.store.changing() as database:
        database.execute("UPDATE subjects SET group_id = 'ward4-0999'")
    assert notes.all() == {}


def test_results_are_unread_until_they_or_their_subject_are_opened(notes, with_result, new_take):
    first, _ = with_result("a-1", "job-1"), with_result("a-1", "job-2")
    with_result("b-1", "job-3")
    new_take(group_id="c-1")
    assert notes.unread() == {"a-1": 2, "b-1": 1}
    notes.open_result(take_id=first, job_id=None)
    notes.open_result(take_id=None, job_id="job-3")
    assert notes.unread() == {"a-1": 1}
    notes.open_subject("a-1")
    assert notes.unread() == {}


def test_opening_what_was_read_changes_nothing(library, notes, with_result):
    with_result("a-1")
    notes.open_subject("a-1")
    before = library.store.version()
    notes.open_subject("a-1")
    notes.open_result(take_id=None, job_id="job-of-somebody-else")
    assert library.store.version() == before


def test_a_deleted_recording_is_no_unread_result(library, notes, with_result):
    library.discard(with_result("a-1"), at_once=True)
    assert notes.unread() == {}


def test_a_kept_answer_comes_with_its_age(library, reopen, clock):
    ResponseCache(library.store).store("groups", b"[1, 2]", 0)
    kept_at = clock.now()
    clock.advance(3600)
    library.close()
    reads = ResponseCache(reopen().store)
    assert reads.read("groups") == (b"[1, 2]", kept_at)
    assert reads.read("another") is None


def test_keeping_an_answer_is_no_news_of_a_recording(library):
    heard = []
    library.subscribe(lambda: heard.append(1))
    ResponseCache(library.store).store("groups", b"[]", 0)
    assert not heard
