"""A library of version 1 opens, with all that was in it; a migration that fails or is killed leaves it working."""

import shutil
import sqlite3
from datetime import UTC, datetime

import pytest

from vbdesk.outbox.library.column_seal import ColumnSeal
from vbdesk.outbox.library.items import TakeMetadata, Target, details_json
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.migrations import MigrationFailed, migrate
from vbdesk.outbox.library.schema import LibraryLocked, LibraryUnreadable
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNotes

KEY = bytes(range(32))
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
RESULT = b'{"signal": {}}'

# Kept here as it was, since a library of that version will be opened for years.
TABLES_1 = """
CREATE TABLE library (schema_version INTEGER NOT NULL, version INTEGER NOT NULL, key_check BLOB NOT NULL);
CREATE TABLE recordings (
  take_id TEXT PRIMARY KEY, group_id TEXT NOT NULL, recorded_at TEXT NOT NULL, target TEXT NOT NULL,
  longitudinal INTEGER NOT NULL, duration_s REAL NOT NULL, imported INTEGER NOT NULL, details BLOB NOT NULL,
  state TEXT NOT NULL, reason TEXT, fix TEXT, job_id TEXT, result BLOB, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, version INTEGER NOT NULL, UNIQUE (group_id, recorded_at)
);
CREATE INDEX recordings_by_version ON recordings (version);
CREATE INDEX recordings_by_state ON recordings (state);
CREATE TABLE removed (take_id TEXT PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE pending (
  event_id TEXT PRIMARY KEY, take_id TEXT NOT NULL UNIQUE REFERENCES recordings (take_id) ON DELETE CASCADE,
  kind TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, not_before TEXT, upload_ref TEXT, asked_at TEXT
);
CREATE TABLE jobs (job_id TEXT PRIMARY KEY, take_id TEXT NOT NULL);
"""


@pytest.fixture
def folder_1(tmp_path):
    """A library of version 1: one recording that waits and was asked for, one with a result."""
    folder = tmp_path / "library"
    folder.mkdir()
    seal = ColumnSeal(KEY)
    database = sqlite3.connect(folder / "library.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(TABLES_1)
    database.execute("INSERT INTO library VALUES (1, 7, ?)", (seal.seal(b"vbdesk", "library"),))
    for take_id, state, result in (("t-1", "waiting", None), ("t-2", "done", seal.seal(RESULT, "t-2/result"))):
        metadata = TakeMetadata("ward4-0172", EIGHT, Target("model", "pulse"), note=f"note of {take_id}")
        details = seal.seal(details_json(metadata), f"{take_id}/details")
        moment = f"2026-03-01T08:00:0{take_id[-1]}.000000+00:00"
        row = (take_id, "ward4-0172", moment, "model:pulse", 1, 20.0, 0, details, state, None, None, "j-1", result)
        marks = ", ".join("?" * 16)
        database.execute(f"INSERT INTO recordings VALUES ({marks})", (*row, moment, moment, 3))
    database.execute(
        "INSERT INTO pending (event_id, take_id, kind, asked_at) VALUES ('e', 't-1', 'send', ?)", (moment,)
    )
    database.close()
    return folder


def table_shape(path):
    """Columns, indices and triggers, in no order."""
    database = sqlite3.connect(path)
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {(name, *row[1:]) for name in names for row in database.execute(f"PRAGMA table_info({name})")}
    others = set(database.execute("SELECT name, type, tbl_name FROM sqlite_master WHERE type <> 'table'"))
    database.close()
    return columns, others


def test_an_old_library_opens_with_all_that_was_in_it(folder_1, clock):
    library = Library(folder_1, KEY, clock)
    assert {item.take_id: item.note for item in library.list()} == {"t-1": "note of t-1", "t-2": "note of t-2"}
    assert library.get("t-2").result_json == RESULT
    assert library.store.asked("t-1")
    assert SubjectNotes(library.store).unread() == {}  # results of the time before are not news
    library.close()


def test_a_migrated_library_has_the_tables_of_a_new_one(folder_1, tmp_path):
    Library(folder_1, KEY).close()
    Library(tmp_path / "new", KEY).close()
    migrated, new = (table_shape(folder / "library.sqlite") for folder in (folder_1, tmp_path / "new"))
    assert {column[:3] for column in migrated[0]} == {column[:3] for column in new[0]}
    assert migrated[1] == new[1]


def test_a_copy_is_made_before_anything_changes(folder_1):
    Library(folder_1, KEY).close()
    copy = sqlite3.connect(folder_1 / "library.sqlite.v1.bak")
    assert copy.execute("SELECT schema_version, version FROM library").fetchone() == (1, 7)
    assert copy.execute("SELECT COUNT(*) FROM recordings WHERE result IS NOT NULL").fetchone() == (1,)
    copy.close()


def test_another_key_migrates_nothing(folder_1):
    with pytest.raises(LibraryLocked):
        Library(folder_1, bytes(32))
    assert not (folder_1 / "library.sqlite.v1.bak").exists()


def test_a_migration_that_fails_half_way_leaves_the_old_library(folder_1, clock):
    database = sqlite3.connect(folder_1 / "library.sqlite")
    database.execute("CREATE TABLE audit (seq INTEGER)")  # in the way of the step's last table
    database.close()
    before = table_shape(folder_1 / "library.sqlite")
    with pytest.raises(LibraryUnreadable, match="left as it was"):
        Library(folder_1, KEY, clock)
    assert table_shape(folder_1 / "library.sqlite") == before
    database = sqlite3.connect(folder_1 / "library.sqlite")
    assert database.execute("SELECT schema_version FROM library").fetchone() == (1,)
    database.execute("DROP TABLE audit")
    database.close()
    library = Library(folder_1, KEY, clock)
    assert library.counts()[OutboxState.DONE] == 1
    library.close()


def test_a_migration_killed_at_any_moment_can_begin_anew(folder_1, tmp_path, clock):
    """The kill is a copy of the files between two statements: what a computer without power would find."""
    for killed_after in range(1, 30, 3):
        victim, found = tmp_path / f"victim-{killed_after}", tmp_path / f"found-{killed_after}"
        shutil.copytree(folder_1, victim)
        statements = 0

        def count(_statement, victim=victim, found=found, killed_after=killed_after):
            nonlocal statements
            statements += 1
            if statements == killed_after:
                shutil.copytree(victim, found)

        database = sqlite3.connect(victim / "library.sqlite", isolation_level=None)
        database.row_factory = sqlite3.Row
        database.set_trace_callback(count)
        migrate(database, victim / "library.sqlite", ColumnSeal(KEY), 1, 2)
        database.close()
        library = Library(found if found.exists() else victim, KEY, clock)
        assert library.get("t-2").result_json == RESULT, killed_after
        assert library.get("t-1").note == "note of t-1", killed_after
        library.close()
    assert statements > killed_after  # so the last one was before the end


def test_no_room_for_the_copy_changes_nothing(folder_1):
    (folder_1 / "library.sqlite.v1.bak.new").mkdir()
    database = sqlite3.connect(folder_1 / "library.sqlite", isolation_level=None)
    with pytest.raises(MigrationFailed, match="Make room"):
        migrate(database, folder_1 / "library.sqlite", ColumnSeal(KEY), 1, 2)
    database.close()
    assert ("recordings", "result") in {column[:2] for column in table_shape(folder_1 / "library.sqlite")[0]}
