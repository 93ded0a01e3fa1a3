"""Backup of the embedded database to one file that only its owner may read."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from vbdesk.language import N_, message, system_reason
from vbdesk.privacy import create_private
from vbdesk.service.kernel.db.session import Database


class BackupFailed(Exception):
    """The backup could not be made; the message is one sentence for the operator."""


def back_up(database: Database, data_dir: Path, target: Path) -> int:
    """Copy the embedded database to `target`, also while a service uses it; return its size in bytes.

    SQLite opens files by name, and an attacker could put a link at such a name in the target's folder. So SQLite writes
    to an unlinked file in the private data folder. The bytes then go to a new file next to the target, which replaces
    the target: a link there is replaced and never followed.

    Raises:
        BackupFailed: the database is not embedded, the disk is full, or a permission is missing.
    """
    if database.engine.dialect.name != "sqlite":
        raise BackupFailed(N_("The database is on a server. Copy it with the server's own tools, such as pg_dump."))
    try:
        descriptor, name = tempfile.mkstemp(dir=data_dir, prefix=".backup-")
        try:
            with os.fdopen(descriptor, "rb") as copied:
                _copy_database(database, name)
                return _put_into_place(copied, target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise BackupFailed(
            message("The database cannot be copied to {target}: {reason}.", target=target, reason=system_reason(error))
        ) from None
    except sqlite3.Error as error:
        raise BackupFailed(
            message("The database cannot be copied to {target}: {reason}.", target=target, reason=str(error))
        ) from None


def _copy_database(database: Database, name: str) -> None:
    with closing(sqlite3.connect(name)) as copy, closing(database.engine.raw_connection()) as pooled:
        copy.execute("PRAGMA journal_mode = OFF")  # an interrupted copy is discarded
        with suppress(PermissionError):  # Windows cannot remove an open file
            Path(name).unlink()  # a killed process leaves no file behind
        source: sqlite3.Connection = pooled.driver_connection  # type: ignore[assignment]
        source.backup(copy)


def _put_into_place(copied: BinaryIO, target: Path) -> int:
    unfinished = target.with_name(f".{target.name}.part")
    try:
        with create_private(unfinished) as file:
            shutil.copyfileobj(copied, file)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return size
