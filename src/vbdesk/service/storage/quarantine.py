"""The quarantine of an object store: a folder for objects that belong to nothing, from which they can come back."""

from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

QUARANTINE_FOLDER = "quarantine"


def quarantine_key(key: str) -> str:
    """Where the object `key` lies while it is in quarantine."""
    return f"{QUARANTINE_FOLDER}/{key}"


def original_key(key: str) -> str:
    """Where an object of the quarantine came from."""
    return key.removeprefix(f"{QUARANTINE_FOLDER}/")


def copy_whole(store: ObjectStore, source_key: str, key: str) -> bool:
    """Make sure that `key` holds what `source_key` holds, so that the source may be removed.

    False when the source is gone, or when another object lies under `key`. Buckets cannot rename: a move is this copy
    and then a removal, and a process that is killed between the two repeats both.
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
    """Remove the object, also from the quarantine: for retention and erasure, which wait for nothing."""
    store.delete(key)
    store.delete(quarantine_key(key))
