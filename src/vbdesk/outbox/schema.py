"""Tables of the library, and how its private columns are sealed.

What a person wrote and what an analysis found is sealed with the library's key; what the outbox must sort and search by
(the subject's caller-made id, times, states) is not.
"""

import os
import sqlite3
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SCHEMA_VERSION = 1
NONCE_BYTES = 12

_TABLES = """
CREATE TABLE library (
  schema_version INTEGER NOT NULL,
  version INTEGER NOT NULL,
  key_check BLOB NOT NULL
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
  result BLOB,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL,
  UNIQUE (group_id, recorded_at)
);
CREATE INDEX recordings_by_version ON recordings (version);
CREATE INDEX recordings_by_state ON recordings (state);
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
  asked_at TEXT
);
-- Every job that an answer has named, so that a search for a lost answer never takes an old job for a new one.
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY,
  take_id TEXT NOT NULL
);
"""


class LibraryLocked(Exception):
    """The library was made with another key; it is left as it is."""


class LibraryUnreadable(Exception):
    """The library's database is damaged or made by a newer version; it is left as it is."""


class ColumnSeal:
    """Seals a value to its row: a value moved to another row or column does not open."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, plain: bytes, place: str) -> bytes:
        """Seal `plain` for `place`, such as a take's id and a column."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Open what `seal` made; InvalidTag if it is another's."""
        return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.encode())


def open_database(path: Path, seal: ColumnSeal) -> sqlite3.Connection:
    """Open the library's database, made on first use.

    Raises:
        LibraryLocked: another key made it.
        LibraryUnreadable: damaged, or from a newer version of the desk.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        with_tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'library'").fetchone()
        if not with_tables:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
            row = (SCHEMA_VERSION, 0, seal.seal(b"vbdesk", "library"))
            connection.execute("INSERT INTO library VALUES (?, ?, ?)", row)
            connection.execute("COMMIT")
        _check(connection, seal)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise LibraryUnreadable(
            f"The list of recordings in {path.parent} cannot be read. The recordings are kept in its folder takes."
        ) from error
    except Exception:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, seal: ColumnSeal) -> None:
    row = connection.execute("SELECT schema_version, key_check FROM library").fetchone()
    if row["schema_version"] > SCHEMA_VERSION:
        raise LibraryUnreadable("The recordings here were made with a newer version of vbdesk. Install that version.")
    try:
        seal.open(row["key_check"], "library")
    except InvalidTag as error:
        raise LibraryLocked("The recordings here belong to another key. They are kept as they are.") from error
