"""Open the library's database, after checking its structure.

What a person wrote and what an analysis found is encrypted with the library's key. What the outbox sorts and searches
by (the subject's id, times, states) is not. But nobody without the key can change it unnoticed: see `rows` and
`table_checksums` for rows, `structure` for tables and triggers.
"""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.capture.encrypted_take import sync_folder
from vbdesk.language import message, message_of
from vbdesk.outbox.library.audit import OTHER_KEY, AuditHead, seal_head
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.conversion import FIRST_VERSION, convert
from vbdesk.outbox.library.encrypted_sqlite import (
    Connection,
    connect,
    has_mark,
    hide_trash,
    is_plain,
    write_encrypted,
)
from vbdesk.outbox.library.repair import RepairFailed, repair
from vbdesk.outbox.library.rollback_detection import MarkFile
from vbdesk.outbox.library.structure import TableMissing
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, RECORDINGS, seal_sums
from vbdesk.outbox.library.tables import TABLES
from vbdesk.privacy import FILE_MODE
from vbdesk.sqlite_files import orphaned_log

__all__ = ["DAMAGE", "SCHEMA_VERSION", "ColumnCipher", "LibraryKeyWrong", "LibraryUnreadable", "open_database"]

SCHEMA_VERSION = 10

DAMAGE = (sqlite3.DatabaseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions on damaged database bytes: from SQLite, or from parsing a value."""

_OF_THE_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_PERM")


class LibraryKeyWrong(Exception):
    """The library was made with another key; it is left as it is."""


class LibraryUnreadable(Exception):
    """The library's database is damaged or made by another version; it is left as it is."""


def open_database(path: Path, key: bytes, cipher: ColumnCipher, now: str) -> tuple[Connection, bool]:
    """Open the library's database; create it if needed, and encrypt or convert that of an earlier version.

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
        if is_plain(path):
            _encrypt(path, key, cipher)
        connection = connect(path, key)
    except (sqlite3.Error, OSError) as error:
        raise unreadable(path.parent, error) from error
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -32768")  # KiB of decrypted pages: the rows of 10,000 recordings
        with_tables = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'library'")
        if not with_tables.fetchone():
            _create(connection, cipher)
        version = _check(connection, cipher, path.parent)
        changed = version < SCHEMA_VERSION and not convert(connection, cipher, path, key, version, now)
        changed |= repair(connection, path, key, SCHEMA_VERSION)
        hide_trash(connection)
    except TableMissing as error:
        connection.close()
        raise unreadable(path.parent) from error
    except RepairFailed as error:
        connection.close()
        raise LibraryUnreadable(message_of(error)) from error
    except DAMAGE as error:
        connection.close()
        if is_of_another_key(path, key):
            raise LibraryKeyWrong(OTHER_KEY) from error
        raise unreadable(path.parent, error) from error
    except BaseException:
        connection.close()
        raise
    return connection, changed


def unreadable(folder: Path, error: Exception | None = None) -> LibraryUnreadable:
    """The error for a database that is damaged, or whose disk fails."""
    if isinstance(error, OSError) or (isinstance(error, sqlite3.Error) and is_disk_error(error)):
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


def _create(connection: Connection, cipher: ColumnCipher) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")
    sums = seal_sums(cipher, dict.fromkeys((RECORDINGS, *PROVED_TABLES), 0), 0)
    row = (SCHEMA_VERSION, 0, cipher.encrypt(b"vbdesk", "library"), sums, seal_head(cipher, AuditHead(), 0))
    connection.execute("INSERT INTO library VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")


def _check(connection: Connection, cipher: ColumnCipher, folder: Path) -> int:
    """Check the version and the key. Returns the version."""
    rows = connection.execute("SELECT schema_version, key_check FROM library").fetchall()
    if len(rows) != 1 or not isinstance(rows[0]["schema_version"], int) or rows[0]["schema_version"] < 1:
        raise unreadable(folder)
    version: int = rows[0]["schema_version"]
    if version < FIRST_VERSION:
        raise LibraryUnreadable(
            message(
                "The recordings here were made with vbdesk from before its first release, and this version cannot open "
                "them. Nothing was changed."
            )
        )
    if version > SCHEMA_VERSION:
        raise LibraryUnreadable(
            message("The recordings here were made with a newer version of vbdesk. Install that version.")
        )
    try:
        cipher.decrypt(rows[0]["key_check"], "library")
    except InvalidTag as error:
        raise LibraryKeyWrong(OTHER_KEY) from error
    return version


def is_of_another_key(path: Path, key: bytes) -> bool:
    """Whether an unreadable database belongs to another key, and is not damaged.

    A damaged first page and another key look the same, so the mark beside it decides: it belongs to the same key.
    """
    return not has_mark(path, key) and MarkFile(path.parent, ColumnCipher(key)).is_of_another_key()


def _encrypt(path: Path, key: bytes, cipher: ColumnCipher) -> None:
    """Encrypt a database of the version that had encrypted columns only; it stays as it is until its copy is verified.

    Raises:
        LibraryKeyWrong: another key made it.
        LibraryUnreadable: it is damaged, or from another version of the desk.
        sqlite3.Error, OSError: there is no room, or another program has it open.
    """
    target = path.with_name(f"{path.name}.encrypted")
    target.unlink(missing_ok=True)
    target.touch(mode=FILE_MODE)
    with closing(connect(path, None)) as plain:
        try:
            _check(plain, cipher, path.parent)
            plain.execute("PRAGMA journal_mode = DELETE")  # fails while another program has it open
        except DAMAGE as error:
            raise unreadable(path.parent, error) from error
    write_encrypted(path, target, key)
    with closing(connect(path, None)) as plain, closing(connect(target, key)) as copy:
        for query in ("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name", *_all_rows(plain)):
            if [tuple(row) for row in plain.rows(query)] != [tuple(row) for row in copy.rows(query)]:
                raise OSError(errno.EIO, "the encrypted copy of the list differs")
    with target.open("rb+") as file:
        os.fsync(file.fileno())
    target.replace(path)
    sync_folder(path.parent)


def _all_rows(connection: Connection) -> list[str]:
    """Queries for every row of every table."""
    tables = connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [f'SELECT * FROM "{row["name"]}" ORDER BY rowid' for row in tables]  # noqa: S608 - read from the database
