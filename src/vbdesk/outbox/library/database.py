"""Open the library's database, after checking its structure.

What a person wrote and what an analysis found is encrypted with the library's key. What the outbox sorts and searches
by (the subject's id, times, states) is not. But nobody without the key can change it unnoticed: see `rows` and
`table_checksums` for rows, `structure` for tables and triggers.
"""

import sqlite3
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.language import message, message_of
from vbdesk.outbox.library.audit import AuditHead, seal_head
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.repair import RepairFailed, repair
from vbdesk.outbox.library.structure import TableMissing
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, RECORDINGS, seal_sums
from vbdesk.outbox.library.tables import TABLES
from vbdesk.privacy import FILE_MODE
from vbdesk.sqlite_files import orphaned_log

__all__ = ["DAMAGE", "SCHEMA_VERSION", "ColumnCipher", "LibraryKeyWrong", "LibraryUnreadable", "open_database"]

SCHEMA_VERSION = 7

DAMAGE = (sqlite3.DatabaseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions on damaged database bytes: from SQLite, or from parsing a value."""

_OF_THE_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_PERM")


class LibraryKeyWrong(Exception):
    """The library was made with another key; it is left as it is."""


class LibraryUnreadable(Exception):
    """The library's database is damaged or made by another version; it is left as it is."""


def open_database(path: Path, cipher: ColumnCipher) -> tuple[sqlite3.Connection, bool]:
    """Open the library's database; create it if needed.

    Returns:
        The connection, and whether somebody else had changed a table, index, trigger or view, which is repaired.

    Raises:
        LibraryKeyWrong: another key made it.
        LibraryUnreadable: it is damaged, or from another version of the desk.
    """
    log = orphaned_log(path)
    if log is not None:
        raise LibraryUnreadable(
            message(
                "The list of recordings {path} is missing or empty, but its log {log} is there. Put the list "
                "back beside the log, or a copy of the whole folder; nothing was changed.",
                path=path,
                log=log.name,
            )
        )
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
            _create(connection, cipher)
        _check(connection, cipher, path.parent)
        changed = repair(connection, path, SCHEMA_VERSION)
    except TableMissing as error:
        connection.close()
        raise unreadable(path.parent) from error
    except RepairFailed as error:
        connection.close()
        raise LibraryUnreadable(message_of(error)) from error
    except DAMAGE as error:
        connection.close()
        raise unreadable(path.parent, error) from error
    except BaseException:
        connection.close()
        raise
    return connection, bool(changed)


def unreadable(folder: Path, error: Exception | None = None) -> LibraryUnreadable:
    """The error for a database that is damaged, or whose disk fails."""
    if isinstance(error, sqlite3.Error) and is_disk_error(error):
        return LibraryUnreadable(
            message(
                "The recordings in {folder} cannot be opened: the disk is full, write-protected or gone, or "
                "another program holds the list. Nothing is lost and nothing was changed; make room and start "
                "again.",
                folder=folder,
            )
        )
    return LibraryUnreadable(
        message(
            "The list of recordings in {folder} cannot be read. The recordings in its folder takes are kept, "
            "and nothing was changed; put back a copy of the whole folder to open them.",
            folder=folder,
        )
    )


def is_disk_error(error: sqlite3.Error) -> bool:
    """Whether the disk fails, while the database itself may be intact."""
    return getattr(error, "sqlite_errorname", "").startswith(_OF_THE_DISK)


def _create(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")
    sums = seal_sums(cipher, dict.fromkeys((RECORDINGS, *PROVED_TABLES), 0), 0)
    row = (SCHEMA_VERSION, 0, cipher.encrypt(b"vbdesk", "library"), sums, seal_head(cipher, AuditHead(), 0))
    connection.execute("INSERT INTO library VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection, cipher: ColumnCipher, folder: Path) -> None:
    """Check the version and the key."""
    rows = connection.execute("SELECT schema_version, key_check FROM library").fetchall()
    if len(rows) != 1 or not isinstance(rows[0]["schema_version"], int) or rows[0]["schema_version"] < 1:
        raise unreadable(folder)
    if rows[0]["schema_version"] < SCHEMA_VERSION:
        raise LibraryUnreadable(
            message(
                "The recordings here were made with vbdesk from before its first release, and this version cannot open "
                "them. Nothing was changed."
            )
        )
    if rows[0]["schema_version"] > SCHEMA_VERSION:
        raise LibraryUnreadable(
            message("The recordings here were made with a newer version of vbdesk. Install that version.")
        )
    try:
        cipher.decrypt(rows[0]["key_check"], "library")
    except InvalidTag as error:
        raise LibraryKeyWrong(
            message("The recordings here belong to another key. They are kept as they are.")
        ) from error
