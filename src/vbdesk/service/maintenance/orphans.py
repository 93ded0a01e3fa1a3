"""Orphans: objects of no job or upload. They are quarantined first, removed later.

With a wrong or outdated database recordings look like orphans. So one sweep moves few of them, or none. A moved object
is restored as soon as the database contains its job or upload.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.ids import id_timestamp
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.service import AUDIO_FOLDER
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import erased_objects, quarantined_objects
from vbdesk.service.storage.quarantine import (
    QUARANTINE_FOLDER,
    copy_whole,
    delete_everywhere,
    original_key,
    quarantine_key,
)
from vbdesk.service.storage.store import ObjectStore
from vbdesk.service.uploads import repository as uploads
from vbdesk.service.uploads.service import UPLOADS_FOLDER

AT_ONCE = 200
SAFE_AGE = timedelta(hours=1)
"""A younger object may belong to a submit that has not committed yet."""

FEW = 20
LARGEST_SHARE = 0.05
MOST = 1000
RETENTION = timedelta(days=14)
RETENTION_DAYS = 14
A_DAY = timedelta(hours=20)  # sweeps run once a day, but not to the minute

FOLDERS = (AUDIO_FOLDER, UPLOADS_FOLDER)
EVERY_FOLDER = (*FOLDERS, QUARANTINE_FOLDER)
"""Objects of each folder are named by the id of their job or upload."""

_Lookup = Callable[[Connection, Collection[str]], set[str]]
_MENTIONED: dict[str, _Lookup] = {AUDIO_FOLDER: jobs.existing, UPLOADS_FOLDER: uploads.existing}
_OWNED: dict[str, _Lookup] = {AUDIO_FOLDER: jobs.with_audio, UPLOADS_FOLDER: uploads.existing}

log = logging.getLogger(__name__)


class StoreContext(Protocol):
    """The part of the service's context that a sweep needs."""

    @property
    def database(self) -> Database:
        """The database of jobs and uploads."""
        ...

    @property
    def storage(self) -> ObjectStore:
        """The store to sweep."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock for ages."""
        ...


@dataclass(frozen=True, slots=True)
class SweptStore:
    """A `StoreContext` without a service, for the operator's commands."""

    database: Database
    storage: ObjectStore
    clock: Clock


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """Result of a search through the whole store.

    Attributes:
        objects: number of recordings and uploads in the store.
        orphans: keys of orphans older than an hour.
    """

    objects: int
    orphans: Sequence[str]

    @property
    def too_many(self) -> bool:
        """Whether the number suggests a wrong database rather than leftovers of crashes."""
        count = len(self.orphans)
        return count > MOST or (count > FEW and count > LARGEST_SHARE * self.objects)


@dataclass(frozen=True, slots=True)
class OrphanSweep:
    """Result of a sweep: objects quarantined, restored, removed, and orphans left in place."""

    quarantined: int = 0
    put_back: int = 0
    removed: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An object in quarantine.

    Attributes:
        key: its key from before the quarantine.
        since: when a sweep first found it in quarantine; None before that.
        days_seen: number of days on which sweeps found it there.
        known: whether it belongs to a job or an upload, so that the next sweep restores it.
    """

    key: str
    since: datetime | None
    days_seen: int
    known: bool


def _never() -> bool:
    return False


def sweep_orphans(context: StoreContext, is_stopping: Callable[[], bool] = _never) -> OrphanSweep:
    """Update the quarantine, then quarantine orphans, unless there are too many.

    Listing a large store takes minutes; a stopping process leaves the search to the next sweep.
    """
    put_back = put_back_known(context)
    removed = _remove_past(context)
    search = search_orphans(context, is_stopping)
    if search is None:
        return OrphanSweep(0, put_back, removed)
    if search.too_many:
        log.error(
            "%d of %d objects in the store belong to no job or upload. So many are not quarantined: the database may "
            "be the wrong one or an old one. See 'Recordings without a job' in the runbook.",
            len(search.orphans),
            search.objects,
        )
        return OrphanSweep(0, put_back, removed, len(search.orphans))
    return OrphanSweep(quarantine(context, search.orphans), put_back, removed)


def search_orphans(context: StoreContext, is_stopping: Callable[[], bool] = _never) -> OrphanSearch | None:
    """List the whole store and look up every object; None when the process stops meanwhile."""
    before = context.clock.now() - SAFE_AGE
    count, orphans = 0, list[str]()
    for folder in FOLDERS:
        keys = context.storage.keys(folder)
        while some := list(islice(keys, AT_ONCE)):
            if is_stopping():
                return None
            count += len(some)
            old = [key for key in some if _is_older(key, before)]
            with context.database.reading() as connection:
                owned = find_owned(connection, old)
                owned |= _find_erased(connection, old)  # last: an erasure ends after its job is deleted
            orphans += [key for key in old if key not in owned]
    return OrphanSearch(count, orphans)


def quarantine(context: StoreContext, keys: Sequence[str]) -> int:
    """Move orphans into quarantine and return how many; skip those that have an owner now."""
    moved = 0
    for start in range(0, len(keys), AT_ONCE):
        copied = [key for key in keys[start : start + AT_ONCE] if copy_whole(context.storage, key, quarantine_key(key))]
        with context.database.reading() as connection:
            owned = find_owned(connection, copied)  # a submit may have committed meanwhile
        now = context.clock.now()
        with context.database.writing() as connection:
            _note(connection, [key for key in copied if key not in owned], now)
        for key in copied:
            context.storage.delete(quarantine_key(key) if key in owned else key)
        moved += len(copied) - len(owned)
    return moved


def list_quarantine(context: StoreContext) -> list[Quarantined]:
    """Return every object in quarantine, by key, with the ages that the database stores."""
    notes = _read_notes(context)
    found: list[Quarantined] = []
    for keys in _in_quarantine(context):
        with context.database.reading() as connection:
            owned = find_owned(connection, keys)
        for key in keys:
            since, _, days_seen = notes.get(key, (None, None, 0))
            found.append(Quarantined(key, since, days_seen, key in owned))
    return found


def put_back_known(context: StoreContext) -> int:
    """Restore objects that belong to a job or an upload; return how many."""
    count = 0
    for keys in _in_quarantine(context):
        with context.database.reading() as connection:
            owned = find_owned(connection, keys)
        count += put_back(context, [key for key in keys if key in owned])
        with context.database.reading() as connection:
            erased = owned - find_owned(connection, owned)
        for key in erased:  # meanwhile; the erasure may have looked for it before it was back
            delete_everywhere(context.storage, key)
    return count


def put_back(context: StoreContext, keys: Sequence[str]) -> int:
    """Move objects from the quarantine back; return how many."""
    moved = [key for key in keys if copy_whole(context.storage, quarantine_key(key), key)]
    for key in moved:
        context.storage.delete(quarantine_key(key))
    return len(moved)


def find_owned(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return the objects that belong to a job or upload; not those past a job's retention."""
    return _look_up(_OWNED, connection, keys)


def find_mentioned(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return the objects named after a job or an upload of the database, also after erased ones."""
    return _look_up(_MENTIONED, connection, keys) | _find_erased(connection, keys)


def _look_up(lookups: dict[str, _Lookup], connection: Connection, keys: Collection[str]) -> set[str]:
    found: set[str] = set()
    for folder, look_up in lookups.items():
        names = [key.removeprefix(f"{folder}/") for key in keys if key.startswith(f"{folder}/")]
        found |= {f"{folder}/{name}" for name in look_up(connection, names)}
    return found


def _find_erased(connection: Connection, keys: Collection[str]) -> set[str]:
    query = sa.select(erased_objects.c.object_key).where(erased_objects.c.object_key.in_(keys))
    return set(connection.execute(query).scalars())


def _remove_past(context: StoreContext) -> int:
    """Remove objects after 14 days in quarantine, both by the clock and by days seen."""
    now, removed = context.clock.now(), 0
    notes, present = _read_notes(context), set[str]()
    for keys in _in_quarantine(context):
        present.update(keys)
        past = [key for key in keys if key in notes and _is_past(notes[key], now)]
        for key in past:
            context.storage.delete(quarantine_key(key))
        removed += len(past)
        with context.database.writing() as connection:
            _forget(connection, past)
            _note(connection, [key for key in keys if key not in notes or _is_from_future(notes[key], now)], now)
            _count_day(connection, [key for key in keys if key in notes and key not in past], now)
    with context.database.writing() as connection:
        _forget(connection, [key for key in notes if key not in present])
    return removed


_Note = tuple[datetime, datetime, int]
"""`noted_at`, `seen_at` and `days_seen`."""


def _is_past(note: _Note, now: datetime) -> bool:
    noted_at, _, days_seen = note
    return days_seen >= RETENTION_DAYS and now - noted_at >= RETENTION


def _is_from_future(note: _Note, now: datetime) -> bool:
    """Return whether the clock was wrong then or is wrong now; the age then restarts."""
    return now < note[1] - A_DAY


def _read_notes(context: StoreContext) -> dict[str, _Note]:
    with context.database.reading() as connection:
        return {row[0]: (row[1], row[2], row[3]) for row in connection.execute(sa.select(quarantined_objects))}


def _note(connection: Connection, keys: Collection[str], now: datetime) -> None:
    """Restart the age of these objects."""
    _forget(connection, keys)
    if keys:
        rows = [{"object_key": key, "noted_at": now, "seen_at": now, "days_seen": 0} for key in keys]
        connection.execute(sa.insert(quarantined_objects), rows)


def _count_day(connection: Connection, keys: Collection[str], now: datetime) -> None:
    due = quarantined_objects.c.object_key.in_(keys) & (quarantined_objects.c.seen_at <= now - A_DAY)
    days = quarantined_objects.c.days_seen + 1
    connection.execute(sa.update(quarantined_objects).where(due).values(seen_at=now, days_seen=days))


def _forget(connection: Connection, keys: Sequence[str] | Collection[str]) -> None:
    listed = list(keys)
    for start in range(0, len(listed), AT_ONCE):
        some = listed[start : start + AT_ONCE]
        connection.execute(sa.delete(quarantined_objects).where(quarantined_objects.c.object_key.in_(some)))


def _in_quarantine(context: StoreContext) -> Iterator[list[str]]:
    """Yield the original keys of all quarantined objects in batches."""
    keys = map(original_key, context.storage.keys(QUARANTINE_FOLDER))
    while some := list(islice(keys, AT_ONCE)):
        yield some


def _is_older(key: str, before: datetime) -> bool:
    """Return whether the object is older; False for names that are not the service's."""
    try:
        return id_timestamp(key.rpartition("/")[2]) < before
    except ValueError:
        return False
