"""Encryption of data from before the key: in the background, in small steps, repeatable."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from vbdesk.service.encryption.file_format import is_encrypted_file
from vbdesk.service.encryption.progress import completed_at, require_encryption_pass
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import cohort_snapshots, encryption_state, group_states
from vbdesk.service.kernel.encrypted_text import PREFIX
from vbdesk.service.storage.incoming import file_time_now
from vbdesk.service.storage.store import ObjectMissing, ObjectStore

ROWS_AT_ONCE = 100
_JUST_NOW_S = 5.0

_COLUMNS: tuple[tuple[tuple[sa.Column[Any], ...], sa.Column[str]], ...] = (
    ((jobs.c.job_id,), jobs.c.analysis),
    ((jobs.c.job_id,), jobs.c.reading),
    ((jobs.c.job_id,), jobs.c.result),
    ((jobs.c.job_id,), jobs.c.spoken),
    ((group_states.c.group_key, group_states.c.kind), group_states.c.body),
    ((cohort_snapshots.c.account_id, cohort_snapshots.c.taken_at), cohort_snapshots.c.body),
)
"""Every encrypted column, with its table's key."""

log = logging.getLogger(__name__)


class Interrupted(Exception):
    """The process ends; the next process continues."""


def encrypt_existing_data(
    database: Database, store: ObjectStore, folders: Sequence[str], now: datetime, ending: threading.Event
) -> bool:
    """Encrypt all objects of `folders` and all rows; return whether nothing plain is left.

    Passes repeat until one finds nothing: a recording may get a second name while the first one is encrypted. A
    database that was complete before has no plain rows, but plain files may have been copied into the store. At the end
    the database is rewritten, which removes old content from its free pages.

    Raises:
        Interrupted: `ending` was set.
        OSError, SQLAlchemyError, StoreUnavailable: a file or row cannot be read or written now.
    """
    changed = 0
    folders = () if store.checks_addresses_itself else folders
    while found := sum(_encrypt_objects(store, folder, ending) for folder in folders):
        changed += found
    if changed:
        require_encryption_pass(database)  # until a later pass completes
    was_complete = completed_at(database) is not None
    columns = () if was_complete else _COLUMNS
    while found := sum(_encrypt_column(database, key, column, ending) for key, column in columns):
        changed += found
    if changed:
        log.info("%d older recordings and texts are now encrypted.", changed)
    if not _remove_plain_leftovers(store.incoming):
        return False
    if was_complete:
        return True
    database.vacuum()
    with database.writing() as connection:
        connection.execute(sa.update(encryption_state).values(completed_at=now))
    database.scrub()
    log.info("All stored data is encrypted.")
    return True


def count_plain_texts(database: Database) -> int:
    """Count the plain texts in encrypted columns."""
    with database.reading() as connection:
        return sum(
            connection.execute(sa.select(sa.func.count()).where(_is_plain_text(column))).scalar_one()
            for _, column in _COLUMNS
        )


def _encrypt_objects(store: ObjectStore, folder: str, ending: threading.Event) -> int:
    return sum(store.encrypt_existing(key) for key in _until(ending, store.keys(folder)))


def _encrypt_column(
    database: Database, key: tuple[sa.Column[Any], ...], column: sa.Column[str], ending: threading.Event
) -> int:
    """Encrypt the plain values of one column; skip values that a process with the key changes meanwhile."""
    stored = sa.type_coerce(column, sa.Text)
    query = sa.select(*key, stored.label("text")).where(_is_plain_text(column))
    count = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(query.limit(ROWS_AT_ONCE)).all()
        if not rows:
            return count
        with database.writing() as connection:
            for row in _until(ending, iter(rows)):
                same = [part == value for part, value in zip(key, row, strict=False)]
                connection.execute(
                    sa.update(column.table).where(*same, stored == row.text).values({column.name: row.text})
                )
        count += len(rows)


def _is_plain_text(column: sa.Column[str]) -> sa.ColumnElement[bool]:
    return column.is_not(None) & ~sa.type_coerce(column, sa.Text).startswith(PREFIX)


def _until(ending: threading.Event, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if ending.is_set():
            raise Interrupted
        yield item


def count_plain_objects(store: ObjectStore, folders: Sequence[str]) -> int:
    """Count the plain recordings in files; the provider encrypts those in a bucket."""
    if store.checks_addresses_itself:
        return 0
    count = 0
    for key in (key for folder in folders for key in store.keys(folder)):
        with suppress(ObjectMissing, FileNotFoundError), store.local_copy(key) as copy:
            count += not is_encrypted_file(copy.path)
    return count


def _remove_plain_leftovers(folder: Path) -> bool:
    """Remove partly received plain files of killed processes; return whether none is left.

    Processes with the key write no plain files. A file a few seconds old may belong to a process that just ended.
    """
    left, now = False, file_time_now(folder)
    for path in folder.iterdir():
        if _is_plain(path):
            with suppress(FileNotFoundError):
                if now - path.stat().st_mtime < _JUST_NOW_S:
                    left = True
                else:
                    path.unlink()
    return not left


def _is_plain(path: Path) -> bool:
    try:
        return path.is_file() and not is_encrypted_file(path)
    except FileNotFoundError:
        return False
