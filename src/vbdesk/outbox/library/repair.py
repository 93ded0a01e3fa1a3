"""Restore the structure of a library's database: copy it first, then one transaction."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vbdesk.language import message
from vbdesk.outbox.library.encrypted_sqlite import Connection, connect
from vbdesk.outbox.library.structure import TableMissing, check_columns, is_ours, rebuild
from vbdesk.privacy import FILE_MODE


class RepairFailed(Exception):
    """The library is unchanged; `str(error)` is one sentence for a person."""


def repair(connection: Connection, path: Path, key: bytes, version: int) -> bool:
    """Restore the structure of a database of the present version; False if it is intact already.

    Raises:
        TableMissing: a table or a column is missing.
        RepairFailed: there is no room for the copy, or a row does not fit; the database is unchanged.
    """
    if is_ours(connection):
        return False
    check_columns(connection)
    with whole_or_not(connection, path, key, version):
        connection.execute("BEGIN IMMEDIATE")
        rebuild(connection)
        connection.execute("COMMIT")
    return True


@contextmanager
def whole_or_not(connection: Connection, path: Path, key: bytes, version: int) -> Iterator[None]:
    """Copy the database of `version` first; undo a change of its structure that fails.

    Raises:
        RepairFailed: as for `repair`.
    """
    try:
        back_up(connection, backup_path(path, version), key)
        connection.execute("PRAGMA foreign_keys = OFF")  # else dropping a table deletes rows of others
        connection.execute("PRAGMA legacy_alter_table = ON")  # else renaming a table renames references to it
        yield
    except (sqlite3.Error, OSError, TableMissing) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise RepairFailed(
            message(
                "The list of recordings could not be brought up to date, so it was left as it was. "
                "Make room on the disk and start again."
            )
        ) from error
    finally:
        connection.execute("PRAGMA legacy_alter_table = OFF")
        connection.execute("PRAGMA foreign_keys = ON")


def backup_path(path: Path, version: int) -> Path:
    """Path of the copy of a database of `version`."""
    return path.with_name(f"{path.name}.v{version}.bak")


def backups(folder: Path) -> list[Path]:
    """Every copy that a repair or a migration left, unfinished ones too.

    They hold what was deleted since, so they are deleted with the first deletion, or after some days (`SoundFiles`).
    """
    return sorted(folder.glob("*.sqlite.v*.bak*"))


def back_up(connection: Connection, target: Path, key: bytes) -> None:
    """Write a consistent copy to the disk before it gets its name, even during other writes."""
    unfinished = target.with_name(f"{target.name}.new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=FILE_MODE)
    copy = connect(unfinished, key)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    unfinished.replace(target)
