"""Taking back an upload address that is signed already, so that nobody brings an erased recording back.

The embedded store asks the database before it takes a file. A bucket checks signatures itself, and its addresses cannot
be recalled. But each is signed to write only where nothing lies yet. So an empty object lies at the key until the
address has ended, and the bucket itself refuses, also a file that is on its way.
"""

import os
import tempfile
from pathlib import Path

from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore, StoreUnavailable

_TRIES = 5


def withdraw(store: ObjectStore, key: str) -> None:
    """Remove the object, also from the quarantine, and let nobody write it again.

    Raises:
        StoreUnavailable: the store is away, or somebody writes the object again and again; try again later.
    """
    delete_everywhere(store, key)
    if not store.checks_addresses_itself:
        return
    for _ in range(_TRIES):
        if _put_empty(store, key) or is_withdrawn(store, key):
            return
        store.delete(key)  # a file that was on its way came first
    raise StoreUnavailable("An upload that is to be erased is written again and again.")


def is_withdrawn(store: ObjectStore, key: str) -> bool:
    """Whether nothing is left of the object, and nobody can write it again. Raises StoreUnavailable."""
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
