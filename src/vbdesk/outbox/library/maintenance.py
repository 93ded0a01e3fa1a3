"""Maintenance of the database file: check that it is readable, and that deleted values are gone from it."""

import sqlite3
from collections.abc import Collection
from contextlib import suppress

from vbdesk.outbox.library.encrypted_sqlite import Connection, rewrite

_CHECKED = ("library", "recordings", "pending", "removed", "jobs", "settings")

_PIECE_BYTES = 8


def check_structure(connection: Connection) -> None:
    """Check that the tables are readable, and rebuild damaged indexes; 20 ms for 10,000 recordings.

    Values that somebody else changed are detected row by row; results are read one by one.

    Raises:
        sqlite3.DatabaseError: a table itself is damaged.
    """
    for table in _CHECKED:
        if _damage(connection, table):
            with suppress(sqlite3.IntegrityError):  # somebody else made duplicate rows
                connection.execute(f"REINDEX main.{table}")
            if damage := _damage(connection, table):
                raise sqlite3.DatabaseError(damage[0])


def scrub(connection: Connection, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
    """Write deletions to the database file and empty its log, so that neither holds deleted values.

    SQLite overwrites deleted values, but not copies that it leaves when it moves rows between pages (one key in a
    thousand), which may be half of a value. So pieces of what is `gone` are searched for, and the file is rewritten if
    any is found. If another process reads the log now, the next call empties it.

    Args:
        connection: outside a transaction.
        gone: values that were deleted.
        whole: rewrite the file in any case.
    """
    _empty_log(connection)
    pages = connection.serialize() if gone else b""
    if whole or any(piece in pages for value in gone for piece in _pieces(value)):
        rewrite(connection)
        _empty_log(connection)


def _pieces(value: bytes) -> list[bytes]:
    """Pieces of a value; any eleven bytes of it contain one."""
    return [value[begin : begin + _PIECE_BYTES] for begin in range(0, len(value) - _PIECE_BYTES + 1, _PIECE_BYTES // 2)]


def _empty_log(connection: Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _damage(connection: Connection, table: str) -> list[str]:
    found = [str(row[0]) for row in connection.execute(f"PRAGMA main.integrity_check({table})")]
    return [each for each in found if each != "ok" and "value in" not in each and "non-unique" not in each]
