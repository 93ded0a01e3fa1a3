"""Tables of the library, and how its private columns are sealed.

What a person wrote and what an analysis found is sealed with the library's key; what the outbox must sort and search by
(the subject's caller-made id, times, states) is not, but nobody without the key can change it unnoticed: every row of
`recordings` carries a MAC over its columns, and the row of `library` one over all those MACs.
"""

import sqlite3
from functools import cache
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.outbox.library.audit import Head, seal_head
from vbdesk.outbox.library.column_seal import ColumnSeal, seal_sum
from vbdesk.outbox.library.migrations import MigrationFailed, migrate
from vbdesk.privacy import FILE_MODE

__all__ = ["SCHEMA_VERSION", "ColumnSeal", "LibraryLocked", "LibraryUnreadable", "open_database"]

SCHEMA_VERSION = 2

_OF_THE_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_PERM")

_TABLES = """
CREATE TABLE library (
  schema_version INTEGER NOT NULL,
  version INTEGER NOT NULL,
  key_check BLOB NOT NULL,
  rows_sum BLOB,
  audit_head BLOB
);
CREATE TABLE recordings (
  take_id TEXT PRIMARY KEY,
  group_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  target TEXT NOT NULL,
  longitudinal INTEGER NOT NULL,
  duration_s REAL NOT NULL,
  imported INTEGER NOT NULL,
  details BLOB NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  fix TEXT,
  job_id TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL,
  take_key BLOB, -- the key of this take's sound, sealed; NULL: sealed with the library's key itself, or gone
  sound_sha256 TEXT, -- of the samples as they were taken in; NULL: not known
  sent_sha256 TEXT, -- of the bytes that were uploaded
  result_at TEXT, -- when the service had the result, by the service's clock; NULL: not known
  audio_gone_at TEXT, -- when retention removed the sound
  bundle_id TEXT, -- the bundle in which it was handed over
  mac BLOB,
  UNIQUE (group_id, recorded_at)
);
CREATE INDEX recordings_by_version ON recordings (version);
CREATE INDEX recordings_by_state ON recordings (state);
CREATE INDEX recordings_by_time ON recordings (recorded_at);
CREATE INDEX recordings_with_result_and_sound ON recordings (result_at) WHERE state = 'done' AND audio_gone_at IS NULL;
CREATE TABLE results (
  take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE,
  sealed BLOB NOT NULL
);
CREATE TABLE removed (
  take_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL
);
-- What is still to be done. A row leaves only together with the change of state that it stood for.
CREATE TABLE pending (
  event_id TEXT PRIMARY KEY,
  take_id TEXT NOT NULL UNIQUE REFERENCES recordings (take_id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before TEXT,
  upload_ref TEXT,
  uploaded_at TEXT,
  asked_at TEXT,
  released INTEGER NOT NULL DEFAULT 0 -- a person said to send it now, where recordings are sent by hand
);
-- Every job that an answer has named, so that a search for a lost answer never takes an old job for a new one.
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY,
  take_id TEXT NOT NULL
);
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
);
-- Requests of the last minute, so that a restart keeps inside the plan's limits too.
CREATE TABLE requests (
  bucket TEXT NOT NULL,
  at TEXT NOT NULL
);
-- The last read of each subject's history at the service.
CREATE TABLE trajectories (
  group_id TEXT PRIMARY KEY,
  read_at TEXT NOT NULL,
  sealed BLOB NOT NULL
);
-- What a person wrote of a subject, and the tags; both stay on this computer.
CREATE TABLE subjects (
  group_id TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
);
-- Recordings whose result was opened here; the results of all others are unread.
CREATE TABLE opened (
  take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE
);
-- Last answers of the service that pages show before it has answered again.
CREATE TABLE reads (
  name TEXT PRIMARY KEY,
  read_at TEXT NOT NULL,
  sealed BLOB NOT NULL
);
-- Every bundle that recordings of this library were handed over in; settled: its file is finished, or given up.
CREATE TABLE bundles (
  bundle_id TEXT PRIMARY KEY,
  made_at TEXT NOT NULL,
  settled INTEGER NOT NULL,
  sealed BLOB NOT NULL
);
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  take_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  mac BLOB NOT NULL
);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
"""


class LibraryLocked(Exception):
    """The library was made with another key; it is left as it is."""


class LibraryUnreadable(Exception):
    """The library's database is damaged or made by a newer version; it is left as it is."""


def open_database(path: Path, seal: ColumnSeal) -> sqlite3.Connection:
    """Open the library's database, made on first use and brought up to date.

    Raises:
        LibraryLocked: another key made it.
        LibraryUnreadable: damaged, from a newer version of the desk, or not to be brought up to date.
    """
    try:
        path.touch(mode=FILE_MODE)  # SQLite gives its log files the same mode
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    except sqlite3.Error as error:
        raise unreadable(path.parent, error) from error
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        with_tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'library'").fetchone()
        if not with_tables:
            _create(connection, seal)
        found = _check(connection, seal)
        migrate(connection, path, seal, found, SCHEMA_VERSION)
        if not _columns(connection) >= _expected_columns():
            raise unreadable(path.parent)
    except MigrationFailed as error:
        connection.close()
        raise LibraryUnreadable(str(error)) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        connection.close()
        raise unreadable(path.parent, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def unreadable(folder: Path, error: Exception | None = None) -> LibraryUnreadable:
    """What to say of a database that is damaged, or whose disk does not do its part."""
    if isinstance(error, sqlite3.Error) and is_of_the_disk(error):
        return LibraryUnreadable(
            f"The recordings in {folder} cannot be opened: the disk is full, write-protected or gone, or another "
            "program holds the list. Nothing is lost and nothing was changed; make room and start again."
        )
    return LibraryUnreadable(
        f"The list of recordings in {folder} cannot be read. The recordings in its folder takes are kept, and "
        "nothing was changed; put back a copy of the whole folder to open them."
    )


def is_of_the_disk(error: sqlite3.Error) -> bool:
    """Whether it is the disk that fails, and the database itself may well be whole."""
    return getattr(error, "sqlite_errorname", "").startswith(_OF_THE_DISK)


def _columns(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Every column with its table."""
    query = "SELECT m.name, i.name FROM sqlite_master AS m, pragma_table_info(m.name) AS i WHERE m.type = 'table'"
    return frozenset((table, column) for table, column in connection.execute(query))


@cache
def _expected_columns() -> frozenset[tuple[str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_TABLES)
        return _columns(connection)
    finally:
        connection.close()


def _create(connection: sqlite3.Connection, seal: ColumnSeal) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
    row = (SCHEMA_VERSION, 0, seal.seal(b"vbdesk", "library"), seal_sum(seal, 0, 0), seal_head(seal, Head(), 0))
    connection.execute("INSERT INTO library VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection, seal: ColumnSeal) -> int:
    """The version that it was made with, once it is known to be ours."""
    row = connection.execute("SELECT schema_version, key_check FROM library").fetchone()
    found: int = row["schema_version"]
    if found > SCHEMA_VERSION:
        raise LibraryUnreadable("The recordings here were made with a newer version of vbdesk. Install that version.")
    try:
        seal.open(row["key_check"], "library")
    except InvalidTag as error:
        raise LibraryLocked("The recordings here belong to another key. They are kept as they are.") from error
    return found
