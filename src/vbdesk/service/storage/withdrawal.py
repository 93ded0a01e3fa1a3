"""Withdrawal of a signed upload address, so that no upload restores an erased recording.

The embedded store asks the database before it accepts a file. A bucket checks signatures itself, and its addresses
cannot be revoked. But each is signed to write only a missing object. So an empty object occupies the key until the
address expires, and the bucket refuses the upload, also one in progress.
"""

import os
import tempfile
from pathlib import Path

from vbdesk.language import N_
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
