"""Encryption checks: whether stored data is encrypted, and whether the key opens it."""

from vbdesk.language import N_, message, plural_message
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

TOPIC = N_("encryption")


def check_encryption(
    settings: Settings, database: Database, store: ObjectStore | None, given: EncryptionKeys
) -> Finding:
    """Check the key, which later checks use to read; with `store`, check its files too."""
    try:
        keys = find_keys(settings, given)
        if not is_encrypted(database):
            return _unencrypted(has_key=bool(keys))
        if not keys:
            return note(
                TOPIC,
                message(
                    "The data is encrypted. To check that the key opens it, give the key by --key-stdin, key_file or "
                    "key_command."
                ),
            )
        data_keys = DataKeys(database, lambda: keys)
        data_keys.open()
        use_data_keys(database.engine, data_keys)
    except KeyUnusable as error:
        return action_needed(TOPIC, error)
    if completed_at(database) is not None:
        plain = 0 if store is None else count_plain_objects(store, EVERY_FOLDER)
        if plain:
            return action_needed(
                TOPIC,
                plural_message(
                    "{count} recording in the store is not encrypted, because it came there from elsewhere. Start the "
                    "service again, and it encrypts it.",
                    "{count} recordings in the store are not encrypted, because they came there from elsewhere. Start "
                    "the service again, and it encrypts them.",
                    plain,
                ),
            )
        return ok(TOPIC, message("Recordings and results are encrypted, and the key opens them."))
    left = count_plain_texts(database)
    return note(
        TOPIC,
        message(
            "The key opens the data. What was stored before is being encrypted while the service runs. Texts left in "
            "the database: {count}.",
            count=left,
        ),
    )


def _unencrypted(*, has_key: bool) -> Finding:
    if has_key:
        return note(
            TOPIC, message("A key is given, and the data is not encrypted yet. Start the service with this key.")
        )
    return note(
        TOPIC,
        message(
            "The service does not encrypt recordings and results. To have them encrypted, give it a key by "
            "--key-stdin, key_file or key_command."
        ),
    )
