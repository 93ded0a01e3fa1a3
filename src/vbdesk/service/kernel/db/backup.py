"""A copy of the embedded database in one file, which only its owner reads from the first byte on."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from vbdesk.privacy import create_private
from vbdesk.service.kernel.db.session import Database


class BackupFailed(Exception):
    """The copy could not be made; one sentence for the operator."""


def back_up(database: Database, data_dir: Path, target: Path) -> int:
    """Copy the embedded database to `target`, also while a service uses it; the size in bytes.

    SQLite opens files by their names, and in the target's folder somebody may put a link at such a name. So SQLite
    writes in the private data folder, to a file that has no name any more. The bytes go on to a new file beside the
    target, which then takes its place: a link there is replaced, and never followed.

    Raises:
        BackupFailed: it is no embedded database, or there is no room or no right to write.
    """
    if database.engine.dialect.name != "sqlite":
        raise BackupFailed("The database is on a server. Copy it with the server's own tools, such as pg_dump.")
    try:
        descriptor, name = tempfile.mkstemp(dir=data_dir, prefix=".backup-")
        with os.fdopen(descriptor, "rb") as copied:
            try:
                _copy_database(database, name)
                return _put_into_place(copied, target)
            finally:
                Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise BackupFailed(f"The database cannot be copied to {target}: {error.strerror}.") from None
    except sqlite3.Error as error:
        raise BackupFailed(f"The database cannot be copied to {target}: {error}.") from None


def _copy_database(database: Database, name: str) -> None:
    with closing(sqlite3.connect(name)) as copy, closing(database.engine.raw_connection()) as pooled:
        copy.execute("PRAGMA journal_mode = OFF")  # a copy that breaks off is thrown away
        with suppress(PermissionError):  # Windows removes no file that is open
            Path(name).unlink()  # a process that is killed leaves nothing behind
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
