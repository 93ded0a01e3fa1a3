"""Withdrawal of a signed upload address, so that no upload restores an erased recording.

The embedded store asks the database before it accepts a file. A bucket checks signatures itself, and its addresses
cannot be revoked. But each is signed to write only a missing object. So an empty object occupies the key until the
address expires, and the bucket refuses the upload, also one in progress.
"""

import os
import tempfile
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.language import N_
from vbdesk.service.kernel.db.session import insert_into
from vbdesk.service.kernel.db.tables import erased_objects, quarantined_objects
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore, StoreUnavailable

_TRIES = 5


def withdraw(store: ObjectStore, key: str) -> None:
    """Remove the object, also from the quarantine, and prevent a new upload.

    Raises:
        StoreUnavailable: the store is unreachable, or uploads arrive repeatedly; retry later.
    """
    delete_everywhere(store, key)
    if not store.checks_addresses_itself:
        return
    for _ in range(_TRIES):
        if _put_empty(store, key) or is_withdrawn(store, key):
            return
        store.delete(key)  # an upload in progress came first
    raise StoreUnavailable(N_("An upload to be erased is written repeatedly. Try again later."))


def is_withdrawn(store: ObjectStore, key: str) -> bool:
    """Return whether the object is removed and cannot be uploaded again. Raises StoreUnavailable."""
    if not store.checks_addresses_itself:
        return not store.exists(key)
    try:
        return store.size(key) == 0
    except ObjectMissing:
        return False


def _put_empty(store: ObjectStore, key: str) -> bool:
    descriptor, name = tempfile.mkstemp(dir=store.incoming)
    os.close(descriptor)
    try:
        store.adopt(key, Path(name))
    except ObjectExists:
        return False
    finally:
        Path(name).unlink(missing_ok=True)
    return True


def owe_removal(connection: Connection, object_keys: Collection[str], erased_at: datetime) -> None:
    """Store objects to be removed, until they are gone."""
    for key in object_keys:
        insert = insert_into(connection, erased_objects).values(object_key=key, erased_at=erased_at)
        connection.execute(insert.on_conflict_do_nothing())


def list_due(connection: Connection) -> list[str]:
    """Return all objects that erasures still have to remove, or to keep from being uploaded again."""
    return list(connection.execute(sa.select(erased_objects.c.object_key)).scalars())


def list_due_later(connection: Connection, object_keys: Collection[str], now: datetime) -> set[str]:
    """Return those of these objects that are owed after `now`: an upload may still arrive there."""
    later = erased_objects.c.object_key.in_(object_keys) & (erased_objects.c.erased_at > now)
    return set(connection.execute(sa.select(erased_objects.c.object_key).where(later)).scalars())


def forget_removed(connection: Connection, object_keys: Collection[str], now: datetime) -> None:
    """Delete the entries of removed objects, except where an address is still open."""
    still_open = erased_objects.c.erased_at > now
    connection.execute(sa.delete(erased_objects).where(erased_objects.c.object_key.in_(object_keys), ~still_open))
    connection.execute(sa.delete(quarantined_objects).where(quarantined_objects.c.object_key.in_(object_keys)))
