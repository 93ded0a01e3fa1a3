"""The trash: a deleted recording comes back as it was, or its keys are gone from the disk after some days."""

import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import vbdesk
from days_of_use import use_daily
from list_by_hand import everything_under, list_by_hand
from vbdesk.capture.encrypted_take import FileKeyMissing, read_take
from vbdesk.clock import ManualClock
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.encrypted_sqlite import Connection, open_to_read
from vbdesk.outbox.library.integrity_check import ROWS_MISSING, STRUCTURE_CHANGED
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.recording_time import ServiceTime
from vbdesk.outbox.library.rows import ROW_CHANGED
from vbdesk.outbox.library.settings import LONGEST_TRASH_DAYS, LibrarySettings
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.store import SEND
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.tables import VIEWS
from vbdesk.outbox.library.trash import AT_ONCE_MOST, ENTRY_CHANGED
from vbdesk.outbox.sync.network import NetworkState
from vbdesk.outbox.sync.upload_queue import UploadQueue

KEY = bytes(range(32))
DAY_S = 86_400.0
MICROSECOND = timedelta(microseconds=1)
FILE = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.mp3"


def put_result(library, take_id, opened=True):
    library.queue(take_id)
    with library.store.changing():
        library.store.add("jobs", f"job-{take_id}", take_id)
        library.store.update(take_id, {"job_id": f"job-{take_id}"})
        for state in (OutboxState.SUBMITTED, OutboxState.DONE):
            library.store.move(take_id, state)
        library.store.store_result(take_id, b'{"a": 1}', None)
        library.store.remove_event(take_id)
    if opened:
        library.subject_notes.open_result(take_id=take_id, job_id=None)


def stop(library, take_id):
    library.queue(take_id)
    with library.store.changing():
        library.store.write_event_of(take_id, {"attempts": 3, "upload_ref": "up-1", "uploaded_at": library.store.now()})
        library.store.move(take_id, OutboxState.NEEDS_ATTENTION, "It is too short.", Fix.REVIEW_TAKE)


def fail(library, take_id):
    library.queue(take_id)
    with library.store.changing():
        library.store.move(take_id, OutboxState.SUBMITTED)
        library.store.move(take_id, OutboxState.FAILED, "The analysis failed.", Fix.TRY_AGAIN)
        library.store.remove_event(take_id)


WAYS = {
    "checked": lambda library, take_id: None,
    "waiting": lambda library, take_id: library.queue(take_id),
    "released": lambda library, take_id: (library.queue(take_id), library.send_now([take_id])),
    "stopped": stop,
    "failed": fail,
    "done": put_result,
    "unread": lambda library, take_id: put_result(library, take_id, opened=False),
    "without sound": lambda library, take_id: (put_result(library, take_id), library.remove_sounds([take_id])),
}


def all_of(library, take_id):
    """Everything that the library knows of a recording."""
    events = [tuple(row) for row in library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))]
    item = replace(library.get(take_id), version=0)
    sound = library.whole_audio(take_id).samples.tobytes() if item.audio_gone_at is None else b""
    return replace(item, encrypted_result=None), item.result_json, events, sound, library.subject_notes.unread()


@pytest.mark.parametrize("way", WAYS)
def test_a_recording_comes_back_as_it_was_also_after_a_restart(library, new_take, reopen, way):
    others = [new_take(seconds=1), new_take(seconds=1)]
    take_id = new_take(seconds=1, note="after lunch", tags=("visit 2",))
    WAYS[way](library, take_id)
    before, version = all_of(library, take_id), library.store.version()
    library.discard(take_id)
    with pytest.raises(UnknownTake):
        library.get(take_id)
    assert library.changes_since(version).removed == [take_id]
    assert UploadQueue(library.store).events() == []
    library.close()
    again = reopen()
    assert again.warnings == ()
    (trashed,) = again.trash.items()
    assert (trashed.take_id, trashed.fault, trashed.item.note) == (take_id, None, "after lunch")
    version = again.store.version()
    again.trash.restore(take_id)
    assert all_of(again, take_id) == before
    assert [item.take_id for item in again.changes_since(version).items] == [take_id]
    assert again.changes_since(version).removed == []
    assert again.trash.items() == []
    again.close()
    last = reopen()
    assert last.warnings == ()
    assert all_of(last, take_id) == before
    assert {item.take_id for item in last.list()} == {take_id, *others}


def test_nothing_of_a_recording_in_the_trash_is_readable_on_the_disk(library, new_take):
    take_id = new_take("ward4-marker", seconds=1, note="marker-note")
    library.discard(take_id)
    library.store.scrub()
    files = [path.read_bytes() for path in library.store.folder.rglob("*") if path.is_file()]
    assert b"marker" not in b"".join(files)
    assert b"marker-note" not in everything_under(library.store.folder), "nor in the decrypted pages"
    with pytest.raises(FileKeyMissing):
        read_take(library.store.takes_folder / f"{take_id}.take", KEY)


def test_after_its_days_the_keys_are_nowhere_on_the_disk(library, new_take, clock, tmp_path):
    chosen = [new_take(seconds=1) for _ in range(12)]
    for take_id in chosen[::2]:
        put_result(library, take_id)
    keys = {take_id: library.store.row(take_id)["take_key"] for take_id in chosen}
    copies = {take_id: shutil.copy(library.store.path(take_id), tmp_path / f"{take_id}.copy") for take_id in chosen}
    kept, gone = chosen[:6], chosen[6:]
    for take_id in gone:
        library.discard(take_id)
    rows = [library.store.row(take_id) for take_id in gone]
    sealed = [row[name] for row in rows for name in ("details", "result_nonce") if row[name] is not None]
    assert len(sealed) > len(gone), "some have a result"
    use_daily(library, 6)
    clock.advance(DAY_S - 1)
    assert not library.trash.destroy_due()
    found = everything_under(library.store.folder)
    assert all(keys[take_id] in found for take_id in chosen)
    assert all(each in found for each in sealed)
    clock.advance(1)
    assert library.trash.destroy_due()
    assert library.trash.items() == []
    found = everything_under(library.store.folder)
    assert all(keys[take_id] in found for take_id in kept), "the search finds keys"
    for secret in [keys[take_id] for take_id in gone] + [each[:12] for each in sealed]:
        assert not any(secret[begin : begin + 12] in found for begin in range(0, len(secret) - 11, 4))
    for take_id in gone:
        assert not list(library.store.takes_folder.glob(f"{take_id}*"))
        with pytest.raises(FileKeyMissing):
            read_take(Path(copies[take_id]), KEY)
        with pytest.raises(UnknownTake, match="no longer in the trash"):
            library.trash.restore(take_id)
    notes = [(row["what"], row["detail"]) for row in library.store.rows("SELECT * FROM audit WHERE what = 'deleted'")]
    assert notes == [(AuditAction.DELETED, "from the trash, after 7 days")] * 6


def test_a_deletion_for_good_and_an_erasure_bypass_the_trash(library, new_take):
    straight, trashed, other = new_take("ward4", seconds=1), new_take("ward4", seconds=1), new_take("ward5", seconds=1)
    keys = [library.store.row(take_id)["take_key"] for take_id in (straight, trashed)]
    library.discard(trashed)
    library.discard(other)
    library.discard(straight, at_once=True)
    assert erase_subject(library, "ward4").erased == 1
    assert [each.take_id for each in library.trash.items()] == [other]
    found = everything_under(library.store.folder)
    assert not any(key in found for key in keys)
    library.discard(other, at_once=True)  # from the trash
    assert library.trash.items() == []
    assert erase_subject(library, "ward4").erased == 0


@pytest.mark.parametrize("at_once", [False, True])
def test_recordings_leave_together_or_not_at_all(library, new_take, at_once):
    first, second, sent = (new_take(seconds=1) for _ in range(3))
    library.queue(sent)
    with library.store.changing():
        library.store.move(sent, OutboxState.SUBMITTED)
    before = {take_id: all_of(library, take_id) for take_id in (first, second, sent)}
    with pytest.raises(NotAllowed):
        library.discard(first, second, sent, at_once=at_once)
    assert {take_id: all_of(library, take_id) for take_id in before} == before
    assert library.trash.items() == []
    library.discard(first, second, at_once=at_once)
    assert [item.take_id for item in library.list()] == [sent]
    assert {each.take_id for each in library.trash.items()} == (set() if at_once else {first, second})


def test_the_number_of_days_is_a_setting(library, new_take, clock, reopen):
    library.discard(new_take(seconds=1))
    library.change_settings(trash_days=30)
    use_daily(library, 29)
    assert not library.trash.destroy_due()
    library.close()
    again = reopen()
    assert again.settings().trash_days == 30
    again.change_settings(trash_days=3)
    assert again.trash.destroy_due()
    for days in (0, LONGEST_TRASH_DAYS + 1):
        with pytest.raises(ValueError, match="1 to 90 days"):
            LibrarySettings(trash_days=days)


def test_the_sync_worker_destroys_without_a_network_and_in_steps(library, new_take, new_sync_worker, clock):
    class NoNetwork:
        def state(self):
            return NetworkState(reachable=False)

    worker = new_sync_worker(network=NoNetwork())
    for _ in range(AT_ONCE_MOST + 2):
        library.discard(new_take(seconds=1))
    worker.step()
    assert len(library.trash.items()) == AT_ONCE_MOST + 2
    use_daily(library, 8)
    worker.step()
    assert len(library.trash.items()) == 2
    worker.step()
    assert library.trash.items() == []
    notes = library.store.rows("SELECT who FROM audit WHERE what = 'deleted'")
    assert {row["who"].partition("/")[0] for row in notes} == {"courier"}


def test_a_restored_recording_is_sent_once_and_under_its_own_key(
    library, waiting, service, sync_worker, drive, all_done
):
    first, second = waiting(), waiting(recorded_at=datetime(2026, 3, 1, 8, 10, tzinfo=UTC))
    service.online = False
    drive(sync_worker, seconds=30)  # it may have been uploaded; it was not asked for
    service.online = True
    (event,) = library.store.rows("SELECT event_id FROM pending WHERE take_id = ?", (first,))
    library.discard(first)
    drive(sync_worker, lambda: library.get(second).state is OutboxState.DONE)
    assert len(service.jobs) == 1
    library.trash.restore(first)
    assert library.store.rows("SELECT event_id FROM pending")[0]["event_id"] == event["event_id"]
    drive(sync_worker, all_done)
    assert all_done()
    assert len(service.jobs) == 2
    library.discard(first)
    library.trash.restore(first)
    drive(sync_worker, seconds=30)
    assert len(service.jobs) == 2


def test_after_an_older_list_was_accepted_the_service_is_asked_first(
    library, waiting, service, tmp_path, clock, new_sync_worker, drive
):
    """The newer list had restored the recording and sent it; the older one has it in the trash, still waiting."""
    take_id = waiting()
    library.discard(take_id)
    folder = tmp_path / "library"
    library.store.scrub()
    older = (folder / "library.sqlite").read_bytes()
    library.trash.restore(take_id)
    drive(new_sync_worker(), lambda: library.get(take_id).state is OutboxState.DONE)
    assert len(service.jobs) == 1
    library.close()
    (folder / "library.sqlite").write_bytes(older)
    with closing(Library(folder, KEY, clock)) as again:
        clock.advance(8 * DAY_S)
        assert not again.trash.destroy_due(), "not before somebody has looked at the list"
        again.accept_copy()
        again.trash.restore(take_id)
        assert again.store.asked(take_id)
        drive(new_sync_worker(again), lambda: again.get(take_id).state is OutboxState.DONE, seconds=4000)
        assert again.get(take_id).state is OutboxState.DONE
    assert len(service.jobs) == 1


def test_what_is_at_the_service_or_handed_over_does_not_go_to_the_trash(library, waiting):
    asked = waiting()
    queue = UploadQueue(library.store)
    (event,) = queue.events()
    assert queue.begin_upload(event)
    with pytest.raises(NotAllowed, match="being analysed"):
        library.discard(asked)
    assert queue.mark_asked(event)
    queue.requeue(event)
    with pytest.raises(NotAllowed, match="may have this recording already"):
        library.discard(asked)
    assert library.trash.items() == []
    assert library.get(asked).state is OutboxState.WAITING


def test_a_recording_in_the_trash_keeps_its_time(library, new_take):
    taken = datetime(2026, 3, 1, 8, 30, 0, 5, tzinfo=UTC)
    take_id = new_take(seconds=1, recorded_at=taken)
    library.discard(take_id)
    other, corrected = new_take("ward5", seconds=1, recorded_at=taken), new_take(seconds=1)
    library.set_recorded_at(corrected, taken)
    library.trash.restore(take_id)
    assert library.whole_audio(take_id).duration_s == 1.0
    assert library.get(take_id).recorded_at == taken
    assert [library.get(each).recorded_at - taken for each in (other, corrected)] == [MICROSECOND, 2 * MICROSECOND]


def test_no_recording_is_moved_to_the_subject_and_time_of_one_in_the_trash(library, new_take):
    taken = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    kept, moved = new_take("ward4", seconds=1, recorded_at=taken), new_take("ward5", seconds=1)
    with library.store.changing():
        library.store.update(moved, {"recorded_at": library.store.row(kept)["recorded_at"]})
    library.discard(kept)
    with pytest.raises(NotAllowed, match="exactly this time already"):
        library.corrections.move(library.corrections.member(moved), "ward4", CorrectionReason.WRONG_PERSON)
    library.trash.restore(kept)
    assert [library.get(each).group_id for each in (kept, moved)] == ["ward4", "ward5"]


def test_a_file_that_was_imported_again_is_not_there_twice(library):
    metadata = TakeMetadata("ward4", datetime(2026, 3, 1, 8, 30, tzinfo=UTC), RecordingTarget("model", "pulse"))
    first = library.import_file(FILE, metadata)
    library.discard(first)
    assert library.list() == [], "so the import does not know the file any more"
    second = library.import_file(FILE, metadata)
    with pytest.raises(NotAllowed, match="imported again"):
        library.trash.restore(first)
    library.discard(second)
    library.trash.restore(first)
    assert library.original(first) == FILE.read_bytes()


def test_an_event_of_another_recording_is_not_replaced(library, new_take):
    take_id, other = new_take(seconds=1), new_take(seconds=1)
    library.queue(take_id)
    event_id = library.store.rows("SELECT event_id FROM pending")[0]["event_id"]
    library.discard(take_id)
    with pytest.raises(sqlite3.IntegrityError), library.store.changing():
        library.store.add_event(other, SEND, {"event_id": event_id})
    library.trash.restore(take_id)
    assert [(row["take_id"], row["event_id"]) for row in library.store.rows("SELECT * FROM pending")] == [
        (take_id, event_id)
    ]


def by_hand(folder, statement, *values):
    with list_by_hand(folder) as database:
        assert database.execute(statement, values).rowcount == 1


@pytest.mark.parametrize("column", ["deleted_at", "take_key", "details", "group_id", "state"])
def test_a_changed_entry_is_neither_restored_nor_destroyed_early(library, new_take, reopen, tmp_path, clock, column):
    take_id, other = new_take(seconds=1), new_take(seconds=1)
    library.discard(take_id)
    library.discard(other)
    forged = {"deleted_at": "2020-01-01T00:00:00.000000+00:00", "group_id": "x", "state": "done"}.get(
        column, library.store.row(other)[column]
    )
    library.close()
    by_hand(tmp_path / "library", f"UPDATE recordings SET {column} = ? WHERE take_id = ?", forged, take_id)
    again = reopen()
    assert any("1 recording was changed" in sentence for sentence in again.warnings), "before anybody opens the trash"
    faults = {each.take_id: each.fault for each in again.trash.items()}
    assert faults == {take_id: ENTRY_CHANGED, other: None}
    with pytest.raises(NotAllowed, match="changed by something other"):
        again.trash.restore(take_id)
    use_daily(again, 1)
    assert not again.trash.destroy_due()
    use_daily(again, 7)
    assert again.trash.destroy_due()
    assert [each.take_id for each in again.trash.items()] == [take_id]
    again.trash.destroy([take_id])
    assert again.trash.items() == []
    assert list(again.store.takes_folder.iterdir()) == []


def test_a_removed_entry_is_noticed(library, new_take, reopen, tmp_path):
    take_id = new_take(seconds=1)
    library.discard(take_id)
    library.close()
    by_hand(tmp_path / "library", "DELETE FROM recordings WHERE take_id = ?", take_id)
    assert reopen().findings


def test_a_recording_that_somebody_else_takes_out_of_the_trash_is_not_sent(library, waiting, reopen, tmp_path):
    take_id, other = waiting(), waiting()
    library.discard(take_id)
    library.close()
    by_hand(tmp_path / "library", "UPDATE recordings SET deleted_at = NULL WHERE take_id = ?", take_id)
    again = reopen()
    assert {item.take_id: item.fault for item in again.list()} == {take_id: ROW_CHANGED, other: None}
    assert [event.take_id for event in UploadQueue(again.store).events()] == [other]
    assert any("1 recording was changed" in sentence for sentence in again.warnings)
    with pytest.raises(NotAllowed, match="delete it for good"):
        again.discard(take_id)


def test_a_recording_that_somebody_else_hides_in_the_trash_is_named(library, waiting, reopen, tmp_path, clock):
    take_id = waiting()
    library.close()
    long_ago = "2020-01-01T00:00:00.000000+00:00"
    by_hand(tmp_path / "library", "UPDATE recordings SET deleted_at = ? WHERE take_id = ?", long_ago, take_id)
    again = reopen()
    assert any("1 recording was changed" in sentence for sentence in again.warnings)
    assert [(each.take_id, each.fault) for each in again.trash.items()] == [(take_id, ENTRY_CHANGED)]
    assert UploadQueue(again.store).events() == []
    use_daily(again, 100)
    assert not again.trash.destroy_due()
    assert again.store.path(take_id).exists()


@pytest.mark.parametrize("older", ["from before the deletion", "in the trash"])
def test_an_older_row_that_somebody_puts_back_is_noticed(library, waiting, reopen, tmp_path, older):
    """Each row is genuine; the list as a whole is not."""
    take_id = waiting()
    if older == "in the trash":
        library.discard(take_id)
    row = library.store.row(take_id)
    if older == "in the trash":
        library.trash.restore(take_id)
    else:
        library.discard(take_id)
    library.close()
    columns = ", ".join(f"{name} = ?" for name in row)
    by_hand(tmp_path / "library", f"UPDATE recordings SET {columns} WHERE take_id = ?", *row.values(), take_id)
    again = reopen()
    assert ROWS_MISSING in again.findings
    assert UploadQueue(again.store).events() == [], "nothing is sent"


def test_nobody_else_changes_what_a_query_sees(library, waiting, reopen, tmp_path):
    """The views belong to the connection: one in the file is foreign, and is dropped."""
    take_id = waiting()
    library.discard(take_id)
    library.close()
    with list_by_hand(tmp_path / "library") as database:
        database.execute("CREATE VIEW seen AS SELECT * FROM recordings")
    again = reopen()
    assert STRUCTURE_CHANGED in again.findings
    assert again.list() == []


def test_a_second_window_that_deletes_or_restores_too_changes_nothing(library, waiting):
    take_id = waiting()
    library.discard(take_id)
    with pytest.raises(UnknownTake):
        library.discard(take_id)
    library.trash.restore(take_id)
    before = all_of(library, take_id)
    with pytest.raises(UnknownTake, match="no longer in the trash"):
        library.trash.restore(take_id)
    library.trash.destroy([take_id])  # it is not there any more
    assert all_of(library, take_id) == before
    with pytest.raises(UnknownTake):
        library.discard(take_id, take_id)
    assert all_of(library, take_id) == before


def test_what_is_deleted_and_restored_while_it_is_sent_is_sent_once(library, waiting, service, new_sync_worker, drive):
    """A sync worker has read the queue; a person deletes the recording and restores it before the upload begins."""
    take_id = waiting()
    queue = UploadQueue(library.store)
    (event,) = queue.events()
    library.discard(take_id)
    assert not queue.begin_upload(event)
    queue.requeue(event, failed=True)
    assert not queue.is_wanted(event)
    assert not queue.mark_asked(event)
    with pytest.raises(UnknownTake):
        queue.store_digest(event, "0" * 64)
    library.trash.restore(take_id)
    (again,) = queue.events()
    assert again.event_id == event.event_id
    assert queue.begin_upload(again)
    queue.requeue(again)
    drive(new_sync_worker(), lambda: library.get(take_id).state is OutboxState.DONE)
    assert len(service.jobs) == 1


def test_a_crash_of_the_list_between_views_leaves_none_open(library, new_take, monkeypatch):
    """The rewriting of the file needs a connection without the views: it never stays so."""
    library.discard(new_take(seconds=1))
    library.store.scrub(whole=True)
    assert library.list() == []
    execute = Connection.execute

    def fail(self, statement, values=()):
        if statement == VIEWS:
            raise sqlite3.OperationalError("out of memory")
        return execute(self, statement, values)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "execute", fail)
        with pytest.raises(sqlite3.OperationalError):
            library.store.scrub(whole=True)
    with pytest.raises(sqlite3.ProgrammingError):
        library.list()


# Every query sees no recording of the trash, unless it says so


WITH_TRASH = {
    "integrity_check.py": 6,
    "library_facts.py": 1,
    "pending_erasures.py": 1,
    "rows.py": 4,
    "sound_files.py": 2,
    "store.py": 21,
    "table_checksums.py": 1,
    "tables.py": 5,
}
"""How often each file names the tables with the trash; a new place is a decision, see `tables.VIEWS`."""


def test_every_query_that_sees_the_trash_is_known():
    source = Path(vbdesk.__file__).parent
    named = {
        path.name: len(re.findall(r"main\.(?:recordings|pending|results|opened)\b", path.read_text(encoding="utf-8")))
        for path in source.rglob("*.py")
    }
    assert {name: count for name, count in named.items() if count} == WITH_TRASH


def test_every_connection_to_a_list_hides_the_trash():
    """Only what makes, checks, copies or converts a file has a connection without the views, and only for that."""
    source = Path(vbdesk.__file__).parent
    imports = re.compile(r"from vbdesk\.outbox\.library\.encrypted_sqlite import (?:\([^)]*\)|[^\n]*)")
    raw = {
        path.name
        for path in source.rglob("*.py")
        if any(re.search(r"\bconnect\b", found) for found in imports.findall(path.read_text(encoding="utf-8")))
    }
    assert raw == {"database.py", "list_check.py", "repair.py", "structure.py"}


def test_what_a_query_sees_is_what_is_not_deleted(library, new_take):
    kept, deleted = new_take("ward4", seconds=1), new_take("ward5", seconds=1)
    for take_id in (kept, deleted):
        put_result(library, take_id)
        with library.store.changing():
            library.store.add_event(take_id, SEND)
    library.discard(deleted)
    with closing(open_to_read(library.store.folder / "library.sqlite", KEY)) as reader:
        for rows in (library.store.rows, reader.rows):
            for table in ("recordings", "pending", "results", "opened"):
                assert [row["take_id"] for row in rows(f"SELECT take_id FROM {table}")] == [kept], table
                assert len(rows(f"SELECT take_id FROM main.{table}")) == 2, table
            assert [row["take_id"] for row in rows("SELECT take_id FROM trash")] == [deleted]
    for statement in ("DELETE FROM recordings", "UPDATE pending SET attempts = 9", "INSERT INTO opened VALUES ('x')"):
        with pytest.raises(sqlite3.OperationalError, match="view"):
            library.store.rows(statement)
    assert library.groups() == ("ward4",)
    assert sum(library.counts().values()) == 1


def test_the_trash_does_not_make_a_changed_entry_genuine(library, new_take, reopen, tmp_path):
    take_id = new_take(seconds=1)
    library.close()
    by_hand(tmp_path / "library", "UPDATE recordings SET group_id = 'somebody-else' WHERE take_id = ?", take_id)
    again = reopen()
    with pytest.raises(NotAllowed, match="delete it for good"):
        again.discard(take_id)
    assert again.get(take_id).fault == ROW_CHANGED
    again.discard(take_id, at_once=True)
    assert again.list() == again.trash.items() == []


@pytest.mark.parametrize("wrong", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)])
def test_a_clock_that_was_set_back_destroys_nothing(library, new_take, tmp_path, wrong):
    library.discard(new_take(seconds=1))
    library.close()
    with closing(Library(tmp_path / "library", KEY, ManualClock(wrong))) as again:
        assert not again.trash.destroy_due()
        assert len(again.trash.items()) == 1


def test_a_clock_that_was_ahead_at_the_deletion_does_not_keep_it_for_years(tmp_path, library, new_take):
    ahead, right = ManualClock(datetime(2035, 1, 1, tzinfo=UTC)), ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    take_id = new_take(seconds=1)
    library.close()
    with closing(Library(tmp_path / "library", KEY, ahead)) as wrong:
        wrong.discard(take_id)
    with closing(Library(tmp_path / "library", KEY, right)) as again:
        assert not again.trash.destroy_due()
        use_daily(again, 6)
        assert not again.trash.destroy_due()
        use_daily(again, 1)
        assert again.trash.destroy_due()


def test_what_is_restored_while_the_trash_is_dated_again_is_no_longer_in_it(library, new_take, clock, meanwhile):
    take_id = new_take(seconds=1)
    clock.advance(100 * DAY_S)  # a clock that is ahead
    library.discard(take_id)
    clock.advance(-100 * DAY_S)
    meanwhile(library, lambda: library.trash.restore(take_id))
    assert not library.trash.destroy_due()
    assert library.trash.items() == []
    use_daily(library, 8)
    assert not library.trash.destroy_due()
    assert library.whole_audio(take_id).duration_s == 1


def test_what_is_destroyed_while_the_trash_is_dated_again_does_not_come_back(library, new_take, clock, meanwhile):
    take_id = new_take(seconds=1)
    key = library.store.row(take_id)["take_key"]
    clock.advance(100 * DAY_S)
    library.discard(take_id)
    clock.advance(-100 * DAY_S)
    meanwhile(library, lambda: library.discard(take_id, at_once=True))
    assert not library.trash.destroy_due()
    assert library.trash.items() == []
    assert key not in everything_under(library.store.folder)


def test_what_is_deleted_again_while_its_days_end_is_kept_for_its_days(library, new_take, clock, meanwhile):
    take_id = new_take(seconds=1)
    library.discard(take_id)
    use_daily(library, 7)

    def change_of_mind():
        library.trash.restore(take_id)
        library.discard(take_id)

    meanwhile(library, change_of_mind)
    library.trash.destroy_due()
    library.trash.restore(take_id)
    assert library.whole_audio(take_id).duration_s == 1


def test_a_clock_ahead_of_the_service_destroys_nothing_early(library, new_take, clock):
    library.times.confirm(ServiceTime(clock.boot(), clock.now()))
    library.discard(new_take(seconds=1))
    clock._start += timedelta(days=30)  # a person sets the clock
    assert not library.trash.destroy_due()
    clock.advance(7 * DAY_S)
    assert library.trash.destroy_due()


def test_a_sound_that_is_missing_does_not_keep_the_rest_in_the_trash(library, new_take):
    take_id = new_take(seconds=1)
    put_result(library, take_id)
    library.discard(take_id)
    (library.store.takes_folder / f"{take_id}.take").unlink()
    library.trash.restore(take_id)
    assert library.get(take_id).result_json == b'{"a": 1}'


def test_a_file_of_the_trash_that_no_list_knows_is_left_alone(library, tmp_path, clock, new_take):
    """An older list was put back; the newer one may come again."""
    folder = tmp_path / "library"
    before = shutil.copytree(folder, tmp_path / "before")
    take_id = new_take(seconds=1)
    library.discard(take_id)
    library.close()
    for name in ("library.sqlite", "library.sqlite-wal", "library.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
        if (before / name).exists():
            shutil.copy(before / name, folder / name)
    with closing(Library(folder, KEY, clock)) as again:
        assert again.trash.items() == []
        assert any("1 file in the folder takes" in sentence for sentence in again.warnings)
    assert (folder / "takes" / f"{take_id}.take").exists()


def test_the_samples_are_the_same_after_a_restore(library, new_take):
    take_id = new_take(seconds=2)
    before = library.whole_audio(take_id).samples
    library.discard(take_id)
    library.trash.restore(take_id)
    assert np.array_equal(library.whole_audio(take_id).samples, before)
