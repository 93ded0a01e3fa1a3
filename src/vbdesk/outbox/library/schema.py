"""Opens the library's database, and sees first that its structure is ours.

What a person wrote and what an analysis found is sealed with the library's key; what the outbox must sort and search by
(the subject's caller-made id, times, states) is not, but nobody without the key can change it unnoticed: see `rows` and
`table_sums` for the rows, `structure` for tables and triggers.
"""

import sqlite3
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.outbox.library.audit import Head, seal_head
from vbdesk.outbox.library.column_encryption import ColumnSeal
from vbdesk.outbox.library.migrations import MigrationFailed, migrate, repair
from vbdesk.outbox.library.structure import TableLost
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, RECORDINGS, seal_sums
from vbdesk.outbox.library.tables import TABLES
from vbdesk.privacy import FILE_MODE

__all__ = ["DAMAGE", "SCHEMA_VERSION", "ColumnSeal", "LibraryLocked", "LibraryUnreadable", "open_database"]

SCHEMA_VERSION = 3

DAMAGE = (sqlite3.DatabaseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading raises where bytes of the database are damaged: by SQLite, or since a value is not what it should be."""

_OF_THE_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_PERM")


class LibraryLocked(Exception):
    """The library was made with another key; it is left as it is."""


class LibraryUnreadable(Exception):
    """The library's database is damaged or made by a newer version; it is left as it is."""


def open_database(path: Path, seal: ColumnSeal) -> tuple[sqlite3.Connection, bool]:
    """Open the library's database, made on first use and brought up to date.

    Returns:
        The connection, and whether somebody else had changed a table, index, trigger or view. It has its form again.

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
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        with_tables = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'library'")
        if not with_tables.fetchone():
            _create(connection, seal)
        found = _check(connection, seal, path.parent)
        migrate(connection, path, seal, found, SCHEMA_VERSION)
        changed = repair(connection, path, SCHEMA_VERSION)
    except TableLost as error:
        connection.close()
        raise unreadable(path.parent) from error
    except MigrationFailed as error:
        connection.close()
        raise LibraryUnreadable(str(error)) from error
    except DAMAGE as error:
        connection.close()
        raise unreadable(path.parent, error) from error
    except BaseException:
        connection.close()
        raise
    return connection, bool(changed)


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


def _create(connection: sqlite3.Connection, seal: ColumnSeal) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")
    sums = seal_sums(seal, dict.fromkeys((RECORDINGS, *PROVED_TABLES), 0), 0)
    row = (SCHEMA_VERSION, 0, seal.seal(b"vbdesk", "library"), sums, seal_head(seal, Head(), 0))
    connection.execute("INSERT INTO library VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection, seal: ColumnSeal, folder: Path) -> int:
    """The version that it was made with, once it is known to be ours."""
    rows = connection.execute("SELECT schema_version, key_check FROM library").fetchall()
    if len(rows) != 1 or not isinstance(rows[0]["schema_version"], int) or rows[0]["schema_version"] < 1:
        raise unreadable(folder)
    found: int = rows[0]["schema_version"]
    if found > SCHEMA_VERSION:
        raise LibraryUnreadable("The recordings here were made with a newer version of vbdesk. Install that version.")
    try:
        seal.open(rows[0]["key_check"], "library")
    except InvalidTag as error:
        raise LibraryLocked("The recordings here belong to another key. They are kept as they are.") from error
    return found
