"""SQL of objects that must still be removed from the store."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.kernel.db.stores import erased_objects, quarantined_objects
from vbdesk.service.kernel.db.upsert import insert_into


def owe_removal(connection: Connection, object_keys: Collection[str], erased_at: datetime) -> None:
    """Store objects to be removed, until they are gone."""
    for key in object_keys:
        insert = insert_into(connection, erased_objects).values(object_key=key, erased_at=erased_at)
        connection.execute(insert.on_conflict_do_nothing())


def list_owed(connection: Connection) -> list[str]:
    """Return all objects that erasures still have to remove, or to keep from being uploaded again."""
    return list(connection.execute(sa.select(erased_objects.c.object_key)).scalars())


def list_owed_later(connection: Connection, object_keys: Collection[str], now: datetime) -> set[str]:
    """Return those of these objects that are owed after `now`: an upload may still arrive there."""
    later = erased_objects.c.object_key.in_(object_keys) & (erased_objects.c.erased_at > now)
    return set(connection.execute(sa.select(erased_objects.c.object_key).where(later)).scalars())


def forget_removed(connection: Connection, object_keys: Collection[str], now: datetime) -> None:
    """Delete the entries of removed objects, except where an address is still open."""
    still_open = erased_objects.c.erased_at > now
    connection.execute(sa.delete(erased_objects).where(erased_objects.c.object_key.in_(object_keys), ~still_open))
    connection.execute(sa.delete(quarantined_objects).where(quarantined_objects.c.object_key.in_(object_keys)))
