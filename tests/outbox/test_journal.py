"""Events of subjects: what an enemy, a person or a crash does to them is noticed, and an erasure ends them."""

import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from list_by_hand import log_by_hand
from vbdesk.outbox.library import maintenance
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason, CorrectionStep
from vbdesk.outbox.library.integrity_check import ROWS_MISSING
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import NotAllowed
from vbdesk.outbox.library.subject_erasure import erase_subject

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
SUBJECT, OTHER, THIRD = "zq-4711-subject", "ward4-0200", "ward4-0300"
NEEDLES = (SUBJECT, "zq-job", "zq-reading", (EIGHT + timedelta(minutes=7)).isoformat())
WRONG = CorrectionReason.WRONG_PERSON


def of_service(group_id=SUBJECT, job="zq-job"):
    """A recording that only the service has."""
    return CorrectedRecording(None, group_id, EIGHT + timedelta(minutes=7), (job,), job, {"f0": "zq-reading"})


def by_hand(library, *statements):
    """Changes by somebody who has the file and the key of its pages; the structure stays."""
    with log_by_hand(library.store.folder, library.store.key) as database:
        for statement in statements:
            database.execute(*statement) if isinstance(statement, tuple) else database.execute(statement)


def verified(library):
    return AuditReader(library.store.folder, library.store.key).verify()


def key_rows(library):
    return [tuple(row) for row in library.store.rows("SELECT * FROM subject_keys ORDER BY key_id")]


def raw(library):
    return b"".join(path.read_bytes() for path in library.store.folder.glob("library.sqlite*"))


@pytest.fixture
def moved(library):
    """A library with two corrections, of two pairs of subjects: entries 1 and 2."""
    library.corrections.move(of_service(), OTHER, WRONG)
    library.corrections.move(of_service("ward4-0500", "job-2"), THIRD, WRONG)
    return library


# An enemy

CHANGED = {
    "content": "UPDATE audit SET sealed = zeroblob(200) WHERE seq = 1",
    "keys": "UPDATE audit SET subject_keys = (SELECT subject_keys FROM audit WHERE seq = 2) WHERE seq = 1",
    "no content": "UPDATE audit SET sealed = NULL WHERE seq = 1",
    "no event": "UPDATE audit SET subject_keys = NULL, sealed = NULL WHERE seq = 1",
    "another action": "UPDATE audit SET what = 'recorded' WHERE seq = 1",
    "moved": "UPDATE audit SET seq = 3 WHERE seq = 1",
    "removed": "DELETE FROM audit WHERE seq = 1",
    "removed at the end": "DELETE FROM audit WHERE seq = 2",
    "exchanged": "UPDATE audit SET sealed = old.sealed FROM old WHERE old.seq = 3 - audit.seq",
    "exchanged with their keys": "UPDATE audit SET sealed = old.sealed, subject_keys = old.subject_keys FROM old "
    "WHERE old.seq = 3 - audit.seq",
}


@pytest.mark.parametrize("how", CHANGED)
def test_an_event_that_was_changed_moved_removed_or_exchanged_is_found_and_says_nothing(moved, reopen, how):
    moved.close()
    by_hand(moved, "CREATE TEMP TABLE old AS SELECT * FROM audit", CHANGED[how])
    assert not verified(moved).ok
    opened = reopen()
    assert ROWS_MISSING in opened.findings
    left = {(each.number, each.source, each.target) for each in opened.corrections.all()}
    assert left < {(1, SUBJECT, OTHER), (2, "ward4-0500", THIRD), (1, "ward4-0500", THIRD)}
    assert not left or not how.startswith("exchanged"), "nothing is read at another place"
    assert not verified(opened).ok, "accepting the list does not make the log whole"


def test_a_key_that_was_deleted_does_not_look_like_an_erasure(moved, reopen):
    [key_id] = moved.store.rows("SELECT subject_keys FROM audit WHERE seq = 2")[0]["subject_keys"].split()[:1]
    moved.close()
    by_hand(moved, ("DELETE FROM subject_keys WHERE key_id = ?", (key_id,)))
    found = verified(moved)
    assert (found.broken_at, found.count) == (2, 2)
    assert "The key of entry 2 is missing" in found.sentence
    opened = reopen()
    assert ROWS_MISSING in opened.findings
    assert [entry.number for entry in opened.corrections.all()] == [1]
    assert not verified(opened).ok


def test_a_destroyed_key_that_was_put_back_is_destroyed_again(moved, reopen):
    rows = key_rows(moved)
    erase_subject(moved, SUBJECT)
    moved.corrections.advance(moved.corrections.due()[0], CorrectionStep.SETTLED)
    [gone] = [row for row in rows if row not in key_rows(moved)]
    moved.close()
    by_hand(moved, ("INSERT INTO subject_keys VALUES (?, ?, ?)", gone))
    entries = AuditReader(moved.store.folder, moved.store.key).entries()
    erased = next(each.seq for each in entries if each.what == AuditAction.SUBJECT_ERASED)
    found = verified(moved)
    assert found.broken_at == erased
    assert f"entry {erased} has destroyed was put back" in found.sentence
    opened = reopen()
    assert ROWS_MISSING in opened.findings
    assert gone not in key_rows(opened)
    assert [entry.number for entry in opened.corrections.all()] == [2]
    assert verified(opened).ok
    opened.close()
    assert gone[2] not in raw(opened)


def test_an_erasure_that_somebody_made_up_destroys_no_key(moved, reopen):
    rows = key_rows(moved)
    moved.close()
    by_hand(
        moved,
        (
            "INSERT INTO audit SELECT 3, at, who, ?, NULL, '', ?, NULL, mac FROM audit WHERE seq = 1",
            (AuditAction.SUBJECT_ERASED, rows[0][0]),
        ),
    )
    opened = reopen()
    assert ROWS_MISSING in opened.findings
    assert key_rows(opened) == rows
    assert len(opened.corrections.all()) == 2
    assert not verified(opened).ok


def test_nobody_without_the_key_finds_whom_a_key_belongs_to(moved):
    moved.close()
    assert not [needle for needle in NEEDLES if needle.encode() in raw(moved)]


# A person


def test_an_undo_is_refused_after_a_later_correction(library):
    first = library.corrections.move(of_service(), OTHER, WRONG)
    library.corrections.exclude(of_service(OTHER), CorrectionReason.TEST)
    with pytest.raises(NotAllowed):
        library.corrections.put_back(first.number)


def test_the_reason_of_a_correction_is_shown_until_an_erasure_and_never_in_clear(moved):
    log = AuditReader(moved.store.folder, moved.store.key)
    stored = moved.store.rows("SELECT detail FROM audit")
    assert [entry.detail for entry in log.entries()] == ["wrong person", "wrong person"]
    assert [row["detail"] for row in stored] == ["", ""]
    erase_subject(moved, SUBJECT)
    assert [entry.detail for entry in log.entries()[:2]] == ["", "wrong person"]
    assert log.verify().ok


def test_a_subject_that_is_recorded_again_gets_a_new_key(moved):
    before = key_rows(moved)
    erase_subject(moved, SUBJECT)
    again = moved.corrections.exclude(of_service(job="zq-job-2"), CorrectionReason.TEST)
    moved.corrections.advance(moved.corrections.due()[0], CorrectionStep.SETTLED)
    assert again.number == 3
    assert [entry.number for entry in moved.corrections.all()] == [2, 3]
    assert len([row for row in key_rows(moved) if row not in before]) == 1
    assert verified(moved).ok


def test_a_step_that_ends_after_the_erasure_writes_nothing_of_the_subject(moved):
    entry = moved.corrections.due()[0]
    erase_subject(moved, SUBJECT)
    keys = key_rows(moved)
    moved.corrections.advance(entry, CorrectionStep.ADD)
    moved.corrections.postpone(entry, EIGHT, "The service did not answer.")
    assert moved.corrections.due()[0].member.reading is None
    moved.corrections.advance(entry, CorrectionStep.SETTLED)
    assert key_rows(moved) == keys
    assert [entry.number for entry in moved.corrections.all()] == [2]


def test_after_an_erasure_no_file_has_anything_of_the_subject(moved):
    """Also with the library's key: neither in the file, nor in what opens with any key that is left."""
    old = moved.store.rows("SELECT sealed FROM subject_keys")
    stored = moved.store.rows("SELECT seq, subject_keys FROM audit WHERE seq = 1")[0]
    erase_subject(moved, SUBJECT)
    gone = [row["sealed"] for row in old if row["sealed"] not in {row[2] for row in key_rows(moved)}]
    assert len(gone) == 1
    moved.corrections.advance(moved.corrections.due()[0], CorrectionStep.SETTLED)
    moved.close()
    found = raw(moved)
    assert not [needle for needle in NEEDLES if needle.encode() in found]
    pieces = [gone[0][begin : begin + 8] for begin in range(len(gone[0]) - 7)]
    assert not [piece for piece in pieces if piece in found]
    with closing(Library(moved.store.folder, moved.store.key, moved.store.clock)) as opened:
        assert opened.warnings == ()
        first = opened.store.journal.events(AuditAction.MOVED)[0]
        assert (first.seq, first.content) == (stored["seq"], None)
        left = {row[0] for row in key_rows(opened)}
        assert len(left & set(stored["subject_keys"].split())) == 1, "the key of the other subject alone opens nothing"
        assert verified(opened).ok


# A crash


def test_a_crash_before_the_database_is_rewritten_is_made_good_at_the_opening(moved, reopen, monkeypatch, tmp_path):
    whole = []
    scrub = maintenance.scrub

    def die(*_args, **_kwargs):
        shutil.copytree(moved.store.folder, tmp_path / "crashed")
        raise OSError("the power failed")

    with monkeypatch.context() as patched:
        patched.setattr(maintenance, "scrub", die)
        with pytest.raises(OSError, match="the power failed"):
            erase_subject(moved, SUBJECT)

    def counted(connection, gone=(), **how):
        whole.append(how["whole"])
        scrub(connection, gone, **how)

    monkeypatch.setattr(maintenance, "scrub", counted)
    for expected in ([False, True], [False]):
        whole.clear()
        with closing(Library(tmp_path / "crashed", moved.store.key, moved.store.clock)) as opened:
            assert opened.warnings == ()
            assert [entry.number for entry in opened.corrections.in_force()] == [2]
        assert whole == expected


def test_progress_that_somebody_removed_begins_again_and_one_who_wrote_it_is_not_believed(library, reopen):
    library.corrections.move(of_service(), OTHER, WRONG)
    library.corrections.advance(library.corrections.due()[0], CorrectionStep.VERIFY)
    library.close()
    by_hand(library, "UPDATE corrections_due SET sealed = zeroblob(300)")
    opened = reopen()
    assert [entry.step for entry in opened.corrections.due()] == [CorrectionStep.CREATE]
    assert ROWS_MISSING in opened.findings
