"""Encryption checks: whether stored data is encrypted, and whether the key opens it."""

from vbdesk.service.encryption.data_keys import DataKeys, is_encrypted
from vbdesk.service.encryption.keys import EncryptionKeys, KeyUnusable, find_keys
from vbdesk.service.encryption.progress import completed_at
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.encrypted_text import use_data_keys
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.maintenance.existing_data import count_plain_objects, count_plain_texts
from vbdesk.service.maintenance.orphans import EVERY_FOLDER
from vbdesk.service.storage.store import ObjectStore

TOPIC = "encryption"
KEY_WAYS = "--key-stdin, key_file or key_command"


def look_at_encryption(
    settings: Settings, database: Database, store: ObjectStore | None, given: EncryptionKeys
) -> Finding:
    """Check the key, which later checks use to read; with `store`, check its files too."""
    try:
        keys = find_keys(settings, given)
        if not is_encrypted(database):
            return _unencrypted(has_key=bool(keys))
        if not keys:
            return note(TOPIC, f"The data is encrypted. To check that the key opens it, give the key: {KEY_WAYS}.")
        data_keys = DataKeys(database, lambda: keys)
        data_keys.open()
        use_data_keys(database.engine, data_keys)
    except KeyUnusable as error:
        return action_needed(TOPIC, str(error))
    if completed_at(database) is not None:
        plain = 0 if store is None else count_plain_objects(store, EVERY_FOLDER)
        if plain:
            return action_needed(
                TOPIC,
                f"{plain} recordings in the store are not encrypted: they came there from elsewhere. Start the service "
                "again, and it encrypts them.",
            )
        return ok(TOPIC, "Recordings and results are encrypted, and the key opens them.")
    left = count_plain_texts(database)
    return note(
        TOPIC,
        f"The key opens the data. What was stored before is being encrypted while the service runs; texts left in the "
        f"database: {left}.",
    )


def _unencrypted(*, has_key: bool) -> Finding:
    if has_key:
        return note(TOPIC, "A key is given, and the data is not encrypted yet: start the service with this key.")
    return note(
        TOPIC, f"Recordings and results are not encrypted by the service. To have that done, give it a key: {KEY_WAYS}."
    )
