"""A disk that fails at any write, for any time: everything is sent once, and one sentence reports the fault."""

import errno
import socket
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault, file_sentence, stopped_sentence, waiting_sentence
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.library.states import Fix, OutboxState

sys.path.append(str(Path(__file__).parent))

from failing_disk import FailingDisk, sqlite_error

KEY = bytes(range(32))
MOMENT = datetime(2026, 3, 1, 8, 0, 12, 345678, tzinfo=UTC)
HOUR_S = 3600.0


@pytest.fixture
def disk(monkeypatch):
    """Put every database that is opened from now on onto this disk."""
    return FailingDisk().under_databases(monkeypatch)


def sends_each_once(service, library):
    """Whether each recording was requested once, and holds its own result."""
    moments = Counter(job["recorded_at"] for job in service.jobs.values())
    items = library.list()
    assert {item.state for item in items} == {OutboxState.DONE}, [(item.state, item.reason) for item in items]
    assert moments == Counter(item.recorded_at for item in items)
    assert service.credits == 1000 - 10 * len(items)
    assert all(service.jobs[item.job_id]["recorded_at"] == item.recorded_at for item in items)
    assert all(item.result is not None for item in items)
    assert library.store.rows("SELECT * FROM pending") == []
    assert library.warnings == ()


@pytest.fixture
def laptop(folder_in_memory, clock, service, new_sync_worker, drive, disk):
    """Send recordings and delete their sounds while the disk fails; returns the desk's statuses."""

    def go_through(fails_at, outage_s, *, recordings, restart, **how):
        folder = folder_in_memory / f"library-{fails_at}"
        library = Library(folder, KEY, clock)
        put_in_line(library, recordings)
        library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT))
        disk.__init__(fails_at=fails_at, **how)
        service.jobs.clear()
        service.credits = 1000
        said = []
        sync_worker = new_sync_worker(of=library, on_status=said.append)

        def over():
            return all(item.audio_gone_at is not None for item in library.list())

        drive(sync_worker, lambda: disk.full or over(), HOUR_S)
        if disk.full:
            asked = len(service.requests)
            drive(sync_worker, seconds=outage_s)
            if outage_s:
                assert sync_worker.status.on_hold is Fix.MAKE_ROOM
                assert len(service.requests) <= asked + 5, "the service is asked for what cannot be kept"
        disk.make_room()
        if restart:
            library.close()
            library = Library(folder, KEY, clock)
            sync_worker = new_sync_worker(of=library)
            sync_worker.recover()
        drive(sync_worker, over, HOUR_S)
        assert over()
        assert sync_worker.status.on_hold is None
        sends_each_once(service, library)
        library.close()
        return said

    return go_through


def put_in_line(library, recordings):
    for minute in range(recordings):
        path = library.recording_folder / f"{new_id()}.take"
        writer = EncryptedTakeWriter(path, KEY, 1000)
        writer.append(np.random.default_rng(minute).normal(0, 3000, 15_000).astype(np.int16))
        writer.close()
        facts = TakeMetadata("ward4-0172", MOMENT + timedelta(minutes=minute), RecordingTarget("model", "pulse"))
        library.queue(library.add_take(path, facts))


@pytest.mark.parametrize(
    ("recordings", "restart", "how"),
    [
        pytest.param(2, False, {}, id="refused"),
        pytest.param(1, True, {}, id="refused, and the program is started anew"),
        pytest.param(1, False, {"undoes": True}, id="undone by SQLite"),
        pytest.param(1, True, {"keeps": True, "error": "SQLITE_IOERR_FSYNC"}, id="kept and said to have failed"),
    ],
)
def test_whatever_write_of_the_database_fails_everything_is_sent_once(laptop, disk, recordings, restart, how):
    tried = 0
    for fails_at in count():
        outage_s = 0.0 if fails_at % 2 else 600.0
        said = laptop(fails_at, outage_s, recordings=recordings, restart=restart, **how)
        if not disk.refused:
            break
        tried += 1
        assert not outage_s or any(status.on_hold is Fix.MAKE_ROOM for status in said)
    assert tried > 50 * recordings  # each write failed once


@pytest.mark.parametrize(
    ("error", "fault", "words"),
    [
        (OSError(errno.ENOSPC, "full"), DiskFault.FULL, "The disk is full. Nothing is lost. Make room"),
        (OSError(errno.EDQUOT, "quota"), DiskFault.QUOTA, "quota"),
        (OSError(errno.EFBIG, "large"), DiskFault.QUOTA, "quota"),
        (OSError(errno.EROFS, "read-only"), DiskFault.READ_ONLY, "write-protected"),
        (OSError(errno.EIO, "gone"), DiskFault.GONE, "gone, damaged"),
        (sqlite_error("SQLITE_FULL"), DiskFault.FULL, "The disk is full."),
        (sqlite_error("SQLITE_READONLY_DBMOVED"), DiskFault.READ_ONLY, "write-protected"),
        (sqlite_error("SQLITE_IOERR_WRITE"), DiskFault.GONE, "gone, damaged or over its quota"),
        (sqlite_error("SQLITE_BUSY"), DiskFault.BUSY, "Another program holds"),
        (sqlite_error("SQLITE_CORRUPT"), DiskFault.UNKNOWN, "the list is damaged"),
    ],
)
def test_each_fault_of_a_disk_has_its_words(error, fault, words):
    assert disk_fault(error) is fault
    assert words in waiting_sentence(error)
    assert waiting_sentence(error).endswith("go on automatically.")
    assert words in stopped_sentence(fault)
    assert stopped_sentence(fault).endswith("then run the command again.")


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "none"), ConnectionResetError(), ValueError(), None])
def test_what_is_no_fault_of_a_disk_is_not_said_to_be_one(error):
    assert disk_fault(error) is None


def test_an_outage_of_hours_is_told_once_and_logged_once_an_hour(
    disk, library, waiting, new_sync_worker, drive, caplog
):
    waiting()
    said = []
    sync_worker = new_sync_worker(on_status=said.append)
    disk.full = True
    drive(sync_worker, seconds=2.5 * HOUR_S)
    assert [status.on_hold for status in said] == [Fix.MAKE_ROOM]
    assert said[0].sentence == waiting_sentence(sqlite_error())
    assert sync_worker.forecast().whole_s is None
    assert len([record for record in caplog.records if "library could not" in record.message]) == 3


def test_a_hold_of_another_kind_is_still_there_after_an_outage(disk, library, waiting, new_sync_worker, service, drive):
    waiting()
    sync_worker = new_sync_worker()
    service.key = "another"
    drive(sync_worker, lambda: sync_worker.status.on_hold is Fix.ENTER_KEY)
    library.change_settings(paused=False)
    disk.full = True
    service.key = "right-key"
    sync_worker.resume()
    drive(sync_worker, lambda: sync_worker.status.on_hold is Fix.MAKE_ROOM)
    disk.make_room()
    drive(sync_worker, lambda: library.counts()[OutboxState.DONE] == 1)
    assert library.counts()[OutboxState.DONE] == 1


def test_a_change_after_a_refused_beginning_is_a_transaction_of_its_own(disk, library, new_take, reopen):
    take_id = new_take()
    version = library.store.version()
    disk.full = True
    with pytest.raises(Exception, match="full"):
        library.queue(take_id)
    disk.make_room()
    library.queue(take_id)
    assert library.store.version() == version + 1
    library.close()
    again = reopen()
    assert again.warnings == ()
    assert again.get(take_id).state is OutboxState.WAITING


def test_a_probe_of_the_disk_leaves_nothing_and_is_refused_without_room(disk, library, monkeypatch):
    library.store.check_disk()
    version = library.store.version()
    left = {path.name for path in library.store.folder.iterdir()}
    monkeypatch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        library.store.check_disk()
    assert {path.name for path in library.store.folder.iterdir()} == left
    assert library.store.version() == version


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "is missing"),
        (PermissionError(errno.EACCES, "Permission denied"), "may not read or write"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full. Make room"),
        (OSError(errno.EROFS, "Read-only file system"), "write-protected"),
        (IsADirectoryError(errno.EISDIR, "Is a directory"), "A folder was expected"),
        (FileExistsError(errno.EEXIST, "File exists"), "there already"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset"), "The network did not answer"),
        (TimeoutError(), "The network did not answer"),
        (socket.gaierror(-2, "Name or service not known"), "The network did not answer"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "no way to the network"),
        (OSError(errno.EMFILE, "Too many open files"), "Close other programs"),
        (OSError(errno.ENOEXEC, "Exec format error"), "(Exec format error)"),
    ],
)
def test_each_kind_of_error_is_named_with_what_to_do(error, said):
    sentence = file_sentence(error)
    assert said in sentence
    assert "try again" in sentence.lower()
    assert "disk or the network" not in sentence
