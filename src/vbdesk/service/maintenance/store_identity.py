"""Shared id of a database and its store; prevents removal of another database's recordings."""

import logging
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from vbdesk.contract.ids import id_timestamp
from vbdesk.language import N_, joined, message, message_of, system_reason
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.kernel.db.session import Database, insert_into
from vbdesk.service.kernel.db.tables import store_identity
from vbdesk.service.maintenance.orphans import FOLDERS, find_mentioned
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore, StoreMismatch, StoreUnavailable

STORE_ID_KEY = "store-id"
ATTEMPTS, CHECK_INTERVAL_S = 4, 1.0
FIRST_START_ATTEMPTS = 30
SAMPLE = 100
"""Number of objects per folder to look up when a store has no id."""

_WAYS_OUT = N_(
    "Restore the part that is wrong from a backup, or, if the two do belong together, run vbdesk admin database "
    "adopt-store."
)
_IDS_DIFFER = N_("The database and the object store do not belong together: their ids differ.")
_NOT_SHARED = N_(
    "The folder of the recordings is not the one in which the API of this database keeps them. Give this process the "
    "data folder of vbdesk serve, and start that first; or keep recordings in a bucket (storage_url)."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sample:
    """Some objects of a store, looked up in a database.

    Attributes:
        objects: number of objects looked up.
        known: number of those that belong to a job or an upload of the database.
        audio_expected: whether any job of the database has a stored recording.
    """

    objects: int
    known: int
    audio_expected: bool

    @property
    def doubt(self) -> str | None:
        """Why the store is probably another database's, in a sentence; None if it may match."""
        if not self.objects and self.audio_expected:
            return message(
                "The database and the object store do not belong together: the store is empty, but jobs of the "
                "database have recordings."
            )
        if 2 * self.known < self.objects:
            return message(
                "The database and the object store do not belong together: of {objects} objects of the store the "
                "database knows {known}.",
                objects=self.objects,
                known=self.known,
            )
        return None


@dataclass(frozen=True, slots=True)
class Adoption:
    """The new shared id, and the sample taken before."""

    store_id: str
    objects_looked_at: int
    objects_known: int


def find_mismatch(database: Database, store: ObjectStore) -> str | None:
    """Return why database and store do not match; None if they do, or may. Changes nothing.

    Raises:
        StoreUnavailable: the store does not respond.
    """
    ours, theirs = _id_in(database), _read_id(store)
    if theirs is None:
        doubt = take_sample(database, store).doubt
    elif ours is None:
        doubt = message(
            "The database and the object store do not belong together: the store has the id of another database, and "
            "this database has none."
        )
    else:
        doubt = None if ours == theirs else _IDS_DIFFER
    return None if doubt is None else joined(doubt, _WAYS_OUT)


def is_paired(database: Database, store: ObjectStore) -> bool:
    """Return whether both have the same id. Raises StoreUnavailable."""
    ours = _id_in(database)
    return ours is not None and ours == _read_id(store)


def require_match(database: Database, store: ObjectStore) -> None:
    """Check that database and store match; give a store without an id the database's id.

    Raises:
        StoreMismatch: they do not match.
        StoreUnavailable: the store does not respond.
    """
    if is_paired(database, store):
        return
    mismatch = find_mismatch(database, store)
    if mismatch is not None:
        raise StoreMismatch(mismatch)
    store_id = _make_id(database)
    _write_id(store, store_id)
    if _read_id(store) != store_id:  # another database was faster
        raise StoreMismatch(joined(_IDS_DIFFER, _WAYS_OUT))


def require_no_other(database: Database, store: ObjectStore) -> None:
    """Check that the store has no other database's id; it may have none. Raises StoreMismatch."""
    ours, theirs = _id_in(database), _read_id(store)
    if theirs is not None and ours != theirs:
        raise StoreMismatch(joined(_IDS_DIFFER, _WAYS_OUT))


def may_remove(context: Context) -> bool:
    """Return whether objects may be removed from the store; log a mismatch and set the metric.

    Raises:
        StoreUnavailable: the store does not respond.
    """
    try:
        require_match(context.database, context.storage)
    except StoreMismatch as mismatch:
        log.error("%s Nothing is removed from the store meanwhile.", mismatch)
        context.metrics.store_mismatch.set(1)
        return False
    context.metrics.store_mismatch.set(0)
    return True


def require_match_at_start(database: Database, store: ObjectStore) -> None:
    """Check like `require_match` at a start; ignore an unreachable store. Raises StoreMismatch.

    Processes of a new installation start together: one of them writes the shared id while others check. So a mismatch
    only counts after some seconds of retries.
    """
    try:
        for _ in range(ATTEMPTS - 1):
            try:
                require_match(database, store)
            except StoreMismatch:
                time.sleep(CHECK_INTERVAL_S)
            else:
                return
        require_match(database, store)
    except StoreUnavailable as error:
        log.warning("%s Whether it belongs to the database is checked before anything is removed there.", error)


def require_shared_folder(database: Database, store: ObjectStore) -> None:
    """Check that this process and the API use the same folder of recordings.

    Only the API gives an empty folder the database's id. A worker with a folder of its own would find no recording and
    fail every job. Where the API has never run it may be starting now, so the check waits for it.

    Raises:
        StoreMismatch: it is another folder.
    """
    try:
        for attempt in range(FIRST_START_ATTEMPTS):
            if is_paired(database, store):
                return
            if take_sample(database, store).known:  # from a release without ids, or restored
                require_match_at_start(database, store)
                return
            if attempt >= ATTEMPTS and _id_in(database) is not None:
                break
            time.sleep(CHECK_INTERVAL_S)
        mismatch = find_mismatch(database, store)
    except StoreUnavailable as error:
        raise StoreMismatch(message_of(error)) from None
    raise StoreMismatch(mismatch or _NOT_SHARED)


def adopt_store(database: Database, store: ObjectStore, *, force: bool) -> Adoption:
    """Give both a new shared id; any other database, also a copy of this one, loses the store.

    Raises:
        StoreMismatch: the store looks like another database's, and `force` is not set; nothing was changed. Or a
            process with another database interfered.
        StoreUnavailable: the store does not respond; run it again.
    """
    sample = take_sample(database, store)
    if sample.doubt is not None and not force:
        raise StoreMismatch(
            joined(
                sample.doubt,
                message(
                    "Nothing was changed. Check --data-dir, database_url and storage_url. If this is the right store, "
                    "add --force: objects that the database does not know are then quarantined, not removed."
                ),
            )
        )
    store_id = _make_id(database, replace=True)
    store.delete(STORE_ID_KEY)
    _write_id(store, store_id)
    if _read_id(store) != store_id:
        raise StoreMismatch(
            message(
                "A process with another database gave the store its own id meanwhile. Stop that process and run this "
                "again."
            )
        )
    return Adoption(store_id, sample.objects, sample.known)


def take_sample(database: Database, store: ObjectStore) -> Sample:
    """Look up some objects of the store in the database; ignore names that are not the service's."""
    objects = [key for folder in FOLDERS for key in islice(filter(_is_ours, store.keys(folder)), SAMPLE)]
    with database.reading() as connection:
        known = find_mentioned(connection, objects)
        return Sample(len(objects), len(known), jobs.any_has_audio(connection))


def _is_ours(key: str) -> bool:
    try:
        id_timestamp(key.rpartition("/")[2])
    except ValueError:
        return False
    return True


def _id_in(database: Database) -> str | None:
    with database.reading() as connection:
        found: str | None = connection.execute(sa.select(store_identity.c.store_id)).scalar_one_or_none()
    return found


def _make_id(database: Database, *, replace: bool = False) -> str:
    """Return the id in the database; create it if there is none, or if `replace`.

    Of concurrent processes one creates it.
    """
    with database.writing() as connection:
        if replace:
            connection.execute(sa.delete(store_identity))
        insert = insert_into(connection, store_identity).values(only_row=1, store_id=str(uuid4()))
        connection.execute(insert.on_conflict_do_nothing())
        made: str = connection.execute(sa.select(store_identity.c.store_id)).scalar_one()
    return made


def _read_id(store: ObjectStore) -> str | None:
    try:
        with store.open(STORE_ID_KEY) as file:
            return file.read(100).decode("ascii", "replace").strip()
    except ObjectMissing:
        return None
    except OSError as error:
        raise StoreUnavailable(
            message("The store's id cannot be read: {reason}.", reason=system_reason(error))
        ) from None


def _write_id(store: ObjectStore, store_id: str) -> None:
    """Write the id to a store that has none, readable only by its owner."""
    try:
        descriptor, name = tempfile.mkstemp(dir=store.incoming)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(f"{store_id}\n")
            store.adopt(STORE_ID_KEY, Path(name))
        except ObjectExists:
            pass
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            message("The store's id cannot be written: {reason}.", reason=system_reason(error))
        ) from None
