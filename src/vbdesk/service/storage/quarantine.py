"""Quarantine of an object store: a folder for orphaned objects, which can be restored."""

from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

QUARANTINE_FOLDER = "quarantine"


def quarantine_key(key: str) -> str:
    """Return the key of an object while it is in quarantine."""
    return f"{QUARANTINE_FOLDER}/{key}"


def original_key(key: str) -> str:
    """Return the key from before the quarantine."""
    return key.removeprefix(f"{QUARANTINE_FOLDER}/")


def copy_whole(store: ObjectStore, source_key: str, key: str) -> bool:
    """Copy `source_key` to `key` so that the source may be removed; return whether `key` holds it.

    False when the source is missing, or when `key` holds another object. Buckets cannot rename: a move is this copy and
    then a removal. After a crash between the two, both are repeated.
    """
    try:
        store.link(source_key, key)
    except ObjectMissing:
        return False
    except ObjectExists:
        try:
            return store.size(source_key) == store.size(key)
        except ObjectMissing:
            return False
    return True


def delete_everywhere(store: ObjectStore, key: str) -> None:
    """Remove the object, also from the quarantine: retention and erasure do not wait."""
    store.delete(key)
    store.delete(quarantine_key(key))
