import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from list_by_hand import list_by_hand
from vbdesk.clock import ManualClock
from vbdesk.outbox.library.audit import AuditAction, AuditActor, AuditPart, AuditVerification
from vbdesk.outbox.library.audit_reader import AuditReader, AuditUnreadable
from vbdesk.outbox.library.settings import Retention, RetentionRule, SendRule
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import Store

KEY = bytes(range(32))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "library"


@pytest.fixture
def store(folder, clock):
    opened = Store(folder, KEY, clock, AuditActor(AuditPart.DESK, "acc-1"))
    yield opened
    opened.close()


@pytest.fixture
def log(folder, store):
    """A log of five entries, and how to read it."""
    for number in range(5):
        note(store, AuditAction.RECORDED, f"take-{number}")
    return AuditReader(folder, KEY)


def note(store, what, take_id=None, detail="", part=None):
    with store.changing():
        store.note(what, take_id, detail, part)


def tamper(folder, *statements):
    """Changes by somebody who has the file and knows its format, and the key of its pages."""
    with list_by_hand(folder) as database:
        database.execute("DROP TRIGGER IF EXISTS audit_is_never_changed")
        database.execute("DROP TRIGGER IF EXISTS audit_is_never_shortened")
        for statement in statements:
            database.execute(*statement) if isinstance(statement, tuple) else database.execute(statement)


def test_an_entry_says_who_did_what_with_which_recording_and_when(folder, store, clock):
    note(store, AuditAction.RECORDED, "take-1")
    clock.advance(60)
    note(store, AuditAction.SENT, "take-1", "job 12", AuditPart.SYNC_WORKER)
    recorded, sent = AuditReader(folder, KEY).entries()
    assert (recorded.seq, recorded.part, recorded.account_id, recorded.what) == (1, "desk", "acc-1", "recorded")
    assert (sent.seq, sent.part, sent.account_id, sent.what) == (2, "courier", "acc-1", "sent")
    assert (sent.take_id, sent.detail) == ("take-1", "job 12")
    assert (sent.moment - recorded.moment).total_seconds() == 60


def test_a_whole_log_is_said_to_be_whole(log):
    assert log.verify() == AuditVerification(
        5, None, "The audit log is whole: it runs from entry 1 to entry 5, and nothing was changed."
    )


def test_a_log_without_entries_is_whole(folder, store):
    assert AuditReader(folder, KEY).verify().ok


def test_other_changes_of_the_library_leave_the_log_whole(folder, store, log):
    for _ in range(3):
        with store.changing():
            pass
    assert log.verify().count == 5


def test_an_entry_goes_with_the_change_it_tells_of(folder, store, log):
    with pytest.raises(RuntimeError), store.changing():
        store.note(AuditAction.DELETED, "take-1")
        raise RuntimeError("the change did not succeed")
    note(store, AuditAction.RECORDED, "take-9")
    assert [entry.take_id for entry in log.entries()] == [*(f"take-{n}" for n in range(5)), "take-9"]
    assert log.verify().ok


@pytest.mark.parametrize("statement", ["UPDATE audit SET what = 'exported'", "DELETE FROM audit WHERE seq = 5"])
def test_the_database_itself_refuses_to_change_or_shorten_the_log(store, log, statement):
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), store.changing() as database:
        database.execute(statement)


@pytest.mark.parametrize(
    ("statement", "broken_at", "words"),
    [
        ("UPDATE audit SET what = 'exported' WHERE seq = 3", 3, "Entry 3 is not as vbdesk wrote it"),
        ("UPDATE audit SET at = '2020-01-01T00:00:00.000000+00:00' WHERE seq = 1", 1, "Entry 1 is not"),
        ("UPDATE audit SET who = 'desk/acc-2' WHERE seq = 5", 5, "Entry 5 is not"),
        ("UPDATE audit SET take_id = NULL WHERE seq = 2", 2, "Entry 2 is not"),
        ("UPDATE audit SET detail = X'00' WHERE seq = 2", 2, "Entry 2 is not"),
        ("UPDATE audit SET mac = zeroblob(32) WHERE seq = 4", 4, "Entry 4 is not"),
        ("DELETE FROM audit WHERE seq = 1", 1, "Entry 1 is missing"),
        ("DELETE FROM audit WHERE seq = 3", 3, "Entry 3 is missing"),
        ("DELETE FROM audit WHERE seq >= 4", 4, "Entries 4 to 5 are missing at its end"),
        ("DELETE FROM audit", 1, "Entries 1 to 5 are missing at its end"),
        (
            "INSERT INTO audit SELECT 6, at, who, what, take_id, detail, NULL, NULL, mac FROM audit WHERE seq = 5",
            6,
            "Entry 6 is not",
        ),
        ("UPDATE library SET audit_head = NULL", 6, "mark at the end of the log"),
        ("UPDATE library SET audit_head = zeroblob(72)", 6, "mark at the end of the log"),
        ("UPDATE library SET version = version + 1", 6, "mark at the end of the log"),
    ],
)
def test_each_way_to_change_the_log_is_found_at_its_place(folder, log, statement, broken_at, words):
    tamper(folder, statement)
    found = log.verify()
    assert not found.ok
    assert found.broken_at == broken_at
    assert words in found.sentence


def test_entries_that_change_places_are_found(folder, log):
    tamper(
        folder,
        "UPDATE audit SET seq = 100 WHERE seq = 2",
        "UPDATE audit SET seq = 2 WHERE seq = 3",
        "UPDATE audit SET seq = 3 WHERE seq = 100",
    )
    assert log.verify().broken_at == 2


def test_a_log_put_back_as_it_once_was_is_found_though_its_old_head_is_put_back_too(folder, store, log):
    old_head = store.rows("SELECT audit_head FROM library")[0]["audit_head"]
    note(store, AuditAction.EXPORTED)
    tamper(
        folder,
        "DELETE FROM audit WHERE seq = 6",
        ("UPDATE library SET audit_head = ?", (old_head,)),
    )
    assert log.verify().broken_at == 6


def test_what_was_found_broken_stays_so_while_the_log_goes_on(folder, store, log):
    tamper(folder, "DELETE FROM audit WHERE seq >= 4")
    note(store, AuditAction.EXPORTED)
    assert log.verify().broken_at == 4
    tamper(folder, "UPDATE library SET audit_head = NULL")
    note(store, AuditAction.EXPORTED)
    assert log.verify().broken_at == 4


def test_a_log_whose_end_was_tampered_with_never_hinders_work_and_never_turns_whole(folder, store, log):
    tamper(folder, "UPDATE library SET audit_head = zeroblob(72)")
    note(store, AuditAction.EXPORTED)
    tamper(
        folder, "INSERT INTO audit SELECT 7, at, who, what, take_id, detail, NULL, NULL, mac FROM audit WHERE seq = 5"
    )
    note(store, AuditAction.EXPORTED)
    assert len(log.entries()) == 8
    assert not log.verify().ok


def test_a_detail_takes_no_words_of_a_person(store):
    with pytest.raises(ValueError, match="small letters and digits"):
        note(store, AuditAction.TRIMMED, "take-1", "Frau Müller")


def test_another_key_or_no_library_is_said(folder, store, tmp_path):
    with pytest.raises(AuditUnreadable, match="another key"):
        AuditReader(folder, bytes(32))
    with pytest.raises(AuditUnreadable, match="no recordings here yet"):
        AuditReader(tmp_path / "nowhere", KEY)


def test_reading_does_not_wait_for_a_change_under_way(store, log):
    with store.changing():
        store.note(AuditAction.EXPORTED)
        assert log.verify().count == 5
    assert log.verify().count == 6


def test_what_a_person_does_with_recordings_is_noted_in_order_and_nothing_of_what_they_say(library, new_take, folder):
    from_group = "marker-group"
    first = new_take(from_group, seconds=30, note="marker note", tags=("marker-tag",))
    library.set_trim(first, (0.0, 20.0))
    library.queue(first)
    library.send_now([first])
    library.cancel(first)
    library.discard(first)
    library.trash.restore(first)
    library.change_settings(send_rule=SendRule.BY_HAND, retention=Retention(RetentionRule.AFTER_RESULT, 30))
    library.note(AuditAction.EXPORTED, first, "csv")
    library.discard(first, at_once=True)
    log = AuditReader(folder, KEY)
    assert [(entry.what, entry.take_id, entry.detail) for entry in log.entries()] == [
        ("recorded", first, ""),
        ("trimmed", first, ""),
        ("queued", first, ""),
        ("released to be sent", first, ""),
        ("called back", first, ""),
        ("moved to the trash", first, ""),
        ("restored from the trash", first, ""),
        ("settings changed", None, "send=by_hand, sound=30 days, paused=no, consent=reminded, trash=7"),
        ("exported", first, "csv"),
        ("deleted", first, ""),
    ]
    assert log.verify().ok
    assert "marker" not in repr(log.entries())


def test_what_the_sync_worker_does_is_noted_too(library, new_take, sync_worker, drive, service, folder):
    sent, lost = new_take(), new_take("ward4-0173")
    service.faults["analyze"].append("lost")
    for take_id in (sent, lost):
        library.queue(take_id)
    drive(sync_worker, lambda: library.counts()[OutboxState.DONE] == 2)
    log = AuditReader(folder, KEY)
    found = {sent: [], lost: []}
    for entry in log.entries():
        if entry.part == "courier":
            found[entry.take_id].append((entry.what, entry.detail))
    done = ("result received", "done")
    assert sorted(found.values()) == sorted(
        [
            [("sound uploaded", ""), ("sent", ""), done],
            [("sound uploaded", ""), ("sent", "found at the service"), done],
        ]
    )
    assert log.verify().ok


@settings(max_examples=40)
@given(data=st.data())
def test_any_other_value_in_any_column_of_any_entry_is_found(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("library")
    store = Store(folder, KEY, ManualClock(), AuditActor(AuditPart.DESK, "acc-1"))
    for number in range(3):
        note(store, data.draw(st.sampled_from(AuditAction)), f"take-{number}", f"{number}")
    store.close()
    log = AuditReader(folder, KEY)
    assert log.verify().ok
    column = data.draw(st.sampled_from(["seq", "at", "who", "what", "take_id", "detail", "mac"]))
    values = {"seq": st.integers(-9, 9), "mac": st.binary(max_size=40)}.get(column, st.text(max_size=8) | st.none())
    seq, value = data.draw(st.integers(1, 3)), data.draw(values)
    before = log.entries()
    try:
        tamper(folder, (f"UPDATE audit SET {column} = ? WHERE seq = ?", (value, seq)))
    except sqlite3.IntegrityError:
        return  # the table itself refuses it
    assert log.verify().ok is (log.entries() == before)
