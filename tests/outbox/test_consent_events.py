"""Consents are events of the journal: what an enemy, a careless person or a crash does to them is noticed.

| Who | What | Answer |
|---|---|---|
| an enemy | changes what a consent says, or puts an earlier event in its place | unreadable, and the log is broken |
| an enemy | gives it to another subject, or moves it to another number | nothing is read at another place |
| an enemy | removes a withdrawal, the last entry, or makes it an entry without content | a finding blocks sending |
| an enemy | copies an earlier consent behind the withdrawal | unreadable: it is bound to its number |
| an enemy | makes up an erasure that names the consent's subject | there is no key to destroy |
| an enemy | changes an event while the desk is open | the next look reads it again |
| a person | erases the subject, then sends what another computer still has | the consents stay, and count |
| a person | withdraws in one window while a second one shows the consent | the gate reads one journal |
| a person | imports the same bundle twice, or it names an event twice | one event for each id |
| a person | has a clock that runs years ahead, or behind | the newer entry of this computer counts |
| another process | notes a consent, or withdraws it | the next look has it |
| a refused change | had noted a consent | it is gone, and what takes its number is read |
| a crash | at any statement of a change | the consent is there with its effect, or neither is |
"""

import shutil
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from list_by_hand import list_by_hand, log_by_hand, trace_statements
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, ConsentState
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason
from vbdesk.outbox.library.integrity_check import ROWS_MISSING
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_erasure import erase_subject

A, B = "zq-4711", "ward4-0200"
GIVEN, WITHDRAWN, UNREADABLE = (
    ConsentState.IN_FORCE,
    ConsentState.WITHDRAWN,
    ConsentState.UNREADABLE,
)


def verified(library):
    return AuditReader(library.store.folder, library.store.key).verify()


def states(library):
    """Of both subjects, by each way to ask."""
    now = library.store.clock.now()
    found = [
        (library.consents.status(each).state, library.consent_gate.all().status(each, now).state) for each in (A, B)
    ]
    assert all(one is other for one, other in found)
    return tuple(one for one, _other in found)


@pytest.fixture
def asked(library):
    """Entry 1: A has consented; 2: B has; 3: A has withdrawn."""
    library.consents.give(A, ConsentKind.BOTH, asked_by="Dr Example")
    library.consents.give(B, ConsentKind.BOTH)
    library.consents.withdraw(A)
    assert states(library) == (WITHDRAWN, GIVEN)
    return library


# An enemy

CHANGED = {
    "content": ("UPDATE audit SET sealed = zeroblob(300) WHERE seq = 3", (UNREADABLE, GIVEN)),
    "an earlier content": ("UPDATE audit SET sealed = old.sealed FROM old WHERE old.seq = 1 AND audit.seq = 3",
                           (UNREADABLE, GIVEN)),
    "an earlier event": ("UPDATE audit SET sealed = old.sealed, subject_keys = old.subject_keys, what = old.what "
                         "FROM old WHERE old.seq = 1 AND audit.seq = 3", (UNREADABLE, GIVEN)),
    "another subject": ("UPDATE audit SET subject_keys = old.subject_keys FROM old WHERE old.seq = 2 AND audit.seq = 3",
                        (GIVEN, UNREADABLE)),
    "a subject of nobody": ("UPDATE audit SET subject_keys = 'outlasts:00' WHERE seq = 3", (GIVEN, GIVEN)),
    "a key of nobody": ("UPDATE audit SET subject_keys = 'x' WHERE seq = 3", (GIVEN, GIVEN)),
    "no subject": ("UPDATE audit SET subject_keys = NULL WHERE seq = 3", (GIVEN, GIVEN)),
    "no text": ("UPDATE audit SET subject_keys = X'00ff' WHERE seq = 3", (GIVEN, GIVEN)),
    "no content": ("UPDATE audit SET sealed = NULL WHERE seq = 3", (UNREADABLE, GIVEN)),
    "no event": ("UPDATE audit SET sealed = NULL, subject_keys = NULL WHERE seq = 3", (GIVEN, GIVEN)),
    "another action": ("UPDATE audit SET what = 'consent noted' WHERE seq = 3", (UNREADABLE, GIVEN)),
    "moved": ("UPDATE audit SET seq = 4 WHERE seq = 3", (UNREADABLE, GIVEN)),
    "removed": ("DELETE FROM audit WHERE seq = 3", (GIVEN, GIVEN)),
    "put back": ("INSERT INTO audit SELECT 4, at, who, what, take_id, detail, subject_keys, sealed, mac FROM old "
                 "WHERE seq = 1", (UNREADABLE, GIVEN)),
}  # fmt: skip


@pytest.mark.parametrize("how", CHANGED)
@pytest.mark.parametrize("while_open", [False, True])
def test_a_withdrawal_that_was_changed_moved_removed_or_undone_is_found_and_blocks(asked, reopen, how, while_open):
    statement, expected = CHANGED[how]
    if not while_open:
        asked.close()
    with log_by_hand(asked.store.folder, asked.store.key) as database:
        database.execute("CREATE TEMP TABLE old AS SELECT * FROM audit")
        database.execute(statement)
    assert not verified(asked).ok
    if while_open:
        assert states(asked) == expected, "what was read before is not believed"
        asked.consents.give(B, ConsentKind.CLINICAL)
    opened = asked if while_open else reopen()
    assert ROWS_MISSING in opened.findings
    assert opened.store.sending_blocked
    assert states(opened) == expected
    assert not verified(opened).ok


def test_an_erasure_that_somebody_made_up_takes_no_consent_away(asked, reopen):
    asked.close()
    with log_by_hand(asked.store.folder, asked.store.key) as database:
        database.execute(
            "INSERT INTO audit SELECT 4, at, who, ?, NULL, '', subject_keys, NULL, mac FROM audit WHERE seq = 2",
            (AuditAction.SUBJECT_ERASED,),
        )
    opened = reopen()
    assert ROWS_MISSING in opened.findings
    assert states(opened) == (WITHDRAWN, GIVEN)
    assert not verified(opened).ok


def test_the_subject_is_named_nowhere_in_clear(asked):
    """Neither in the file nor in the decrypted pages, and not in the log that is exported."""
    with list_by_hand(asked.store.folder, asked.store.key, read_only=True) as database:
        assert A.encode() not in database.serialize()
    entries = AuditReader(asked.store.folder, asked.store.key).entries()
    assert A not in repr(entries)
    assert "Dr Example" not in repr(entries)


# A person


def test_the_consents_outlast_an_erasure_and_count_for_what_arrives_later(asked, reopen):
    events = asked.consents.of(A).events
    erase_subject(asked, A)
    assert asked.consents.of(A).events == events
    assert verified(asked).ok
    asked.close()
    opened = reopen()
    assert (opened.warnings, opened.findings) == ((), ())
    assert opened.consents.of(A).events == events
    assert states(opened) == (WITHDRAWN, GIVEN)
    opened.consents.give(A, ConsentKind.BOTH)
    assert states(opened) == (GIVEN, GIVEN)


def test_the_same_bundle_twice_and_an_event_twice_in_it_add_one_event(asked):
    moment = asked.store.clock.now() - timedelta(days=9)
    there = ConsentEvent("e-1", "ward4-0300", ConsentChange.GIVEN, ConsentKind.BOTH, moment)
    known = asked.consents.of(A).events
    before = asked.store.rows("SELECT count(*) AS n FROM audit")[0]["n"]
    assert asked.consents.take_in([there, there, *known]) == 1
    assert asked.consents.take_in([there, *known]) == 0
    assert asked.store.rows("SELECT count(*) AS n FROM audit")[0]["n"] == before + 1
    assert asked.consents.of("ward4-0300").events == (there,)


@pytest.mark.parametrize("years", [-9, 9])
def test_the_newer_entry_here_counts_whatever_the_clock_says(asked, clock, years):
    asked.consents.take_in(
        [ConsentEvent("e-1", B, ConsentChange.GIVEN, ConsentKind.BOTH, datetime(2040, 1, 1, tzinfo=UTC))]
    )
    clock.advance(timedelta(days=365 * years).total_seconds())
    asked.consents.withdraw(B)
    assert states(asked) == (WITHDRAWN, WITHDRAWN)
    asked.consents.give(A, ConsentKind.BOTH)
    assert states(asked)[0] is GIVEN


def test_a_second_process_is_heard_at_the_next_look(asked):
    with closing(Library(asked.store.folder, asked.store.key, asked.store.clock)) as second:
        second.consents.withdraw(B)
        assert states(asked) == (WITHDRAWN, WITHDRAWN)
        asked.consents.give(B, ConsentKind.RESEARCH)
        assert states(second) == (WITHDRAWN, GIVEN)
        second.consents.give(A, ConsentKind.BOTH)
    assert states(asked) == (GIVEN, GIVEN)
    assert asked.findings == ()
    assert verified(asked).ok


@contextmanager
def refused(library):
    with pytest.raises(RuntimeError, match="refused"), library.store.changing():
        yield
        raise RuntimeError("refused")


def test_a_consent_of_a_refused_change_is_gone_and_what_takes_its_number_is_read(asked):
    with refused(asked):
        asked.consents.give(A, ConsentKind.BOTH)
        assert states(asked) == (GIVEN, GIVEN)
    asked.consents.withdraw(B)
    assert states(asked) == (WITHDRAWN, WITHDRAWN)
    with refused(asked):
        asked.consents.give(A, ConsentKind.BOTH)
        assert states(asked) == (GIVEN, WITHDRAWN)
    assert states(asked) == (WITHDRAWN, WITHDRAWN)
    assert verified(asked).ok


def test_an_erasure_that_is_undone_leaves_corrections_readable(asked):
    member = CorrectedRecording(None, A, asked.store.clock.now(), ("job",), "job", {})
    asked.corrections.exclude(member, CorrectionReason.TEST)
    made = asked.corrections.all()
    with refused(asked):
        asked.store.journal.erase_subject(A)
        assert asked.corrections.all() == []
    assert asked.corrections.all() == made


# A crash


def test_a_crash_at_any_statement_leaves_the_consent_with_its_effect_or_neither(asked, new_take, tmp_path):
    take_id = new_take(B)
    asked.queue(take_id)
    copies = []

    def copy(_statement):
        copies.append(tmp_path / f"crashed-{len(copies)}")
        shutil.copytree(asked.store.folder, copies[-1])

    trace_statements(asked.store._database, copy)
    asked.withdraw_consent(B)
    trace_statements(asked.store._database, None)
    copy("")
    assert len(copies) > 5
    found = set()
    for folder in copies[:: max(1, len(copies) // 8)] + copies[-1:]:
        with closing(Library(folder, asked.store.key, asked.store.clock)) as opened:
            assert opened.findings == ()
            assert verified(opened).ok
            found.add((states(opened)[1], opened.get(take_id).state.value))
    assert found == {(GIVEN, "waiting"), (WITHDRAWN, "checked")}
