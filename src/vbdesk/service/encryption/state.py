"""Encryption at rest of a process: its data keys and the state of existing data."""

import threading
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from functools import partial

from vbdesk.service.encryption.data_keys import DataKeys, is_encrypted, open_data_keys
from vbdesk.service.encryption.keys import EncryptionKeys, KeyUnusable, find_keys
from vbdesk.service.encryption.progress import completed_at
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.encrypted_text import NO_KEY, data_keys_of, use_data_keys
from vbdesk.service.kernel.settings import Settings


class EncryptionState(StrEnum):
    """How far the stored data is encrypted."""

    OFF = "off"
    UNDER_WAY = "under_way"
    COMPLETE = "complete"


class Encryption:
    """The data keys of a process, and the encryption state of existing data."""

    def __init__(self, database: Database, keys: DataKeys | None) -> None:
        self.keys = keys
        self._database = database
        self._complete = False
        self.is_checked = threading.Event()
        self.is_checked.set()

    @property
    def state(self) -> EncryptionState:
        """Read the state; the database is asked until everything is encrypted. Raises SQLAlchemyError.

        A process clears `is_checked` while it checks the store itself, since plain files may have been copied there.
        """
        if self.keys is None:
            return EncryptionState.OFF
        if not self.is_checked.is_set():
            return EncryptionState.UNDER_WAY
        self._complete = self._complete or completed_at(self._database) is not None
        return EncryptionState.COMPLETE if self._complete else EncryptionState.UNDER_WAY


def open_encryption(
    settings: Settings, database: Database, given: EncryptionKeys, now: Callable[[], datetime]
) -> Encryption:
    """Open the data keys of a service process; the first given key starts the encryption.

    Args:
        settings: may name the source of the key.
        database: with the current tables; from now on it encrypts and decrypts.
        given: keys from the command.
        now: the clock.

    Raises:
        KeyUnusable: the database is encrypted and no key decrypts it, or the key cannot be read.
    """
    keys = open_data_keys(database, find_keys(settings, given), now)
    use_data_keys(database.engine, keys)
    return Encryption(database, keys)


def require_key(database: Database) -> None:
    """Check that new data can be encrypted if the database is. Raises KeyUnusable."""
    keys = data_keys_of(database.engine)
    if isinstance(keys, DataKeys):
        keys.open()
    elif keys is None and is_encrypted(database):
        raise KeyUnusable(NO_KEY)


def unlock(settings: Settings, database: Database, given: EncryptionKeys) -> None:
    """Let an operator's command decrypt if it has a key; never start the encryption.

    The source that the settings name is only read when a value is to be decrypted. So an unreachable vault does not
    prevent, for example, suspending an account.

    Raises:
        KeyUnusable: the given key does not decrypt the data, or there are several sources of keys.
    """
    if not is_encrypted(database):
        return
    if given or settings.key_file is not None or settings.key_command is not None:
        keys = DataKeys(database, partial(find_keys, settings, given))
        if given:
            keys.open()
        use_data_keys(database.engine, keys)
