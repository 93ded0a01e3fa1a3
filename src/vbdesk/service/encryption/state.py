"""What a process knows of encryption at rest, and says of it."""

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
    """Whether what is stored is encrypted."""

    OFF = "off"
    UNDER_WAY = "under_way"
    COMPLETE = "complete"


class Encryption:
    """The data keys of a process, and how far existing data is encrypted."""

    def __init__(self, database: Database, keys: DataKeys | None) -> None:
        self.keys = keys
        self._database = database
        self._complete = False
        self.is_checked = threading.Event()
        self.is_checked.set()

    @property
    def state(self) -> EncryptionState:
        """Asks the database until everything is encrypted, which stays so. Raises SQLAlchemyError.

        A process that clears `is_checked` looks at the store itself first: files may have come there from elsewhere.
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
    """The data keys of a service process; a key that is given for the first time begins the encryption.

    Args:
        settings: may name a place of the key.
        database: with the present tables; it encrypts and decrypts from now on.
        given: keys that came with the command.
        now: the time.

    Raises:
        KeyUnusable: the database is encrypted and no key fits, or the key cannot be had.
    """
    keys = open_data_keys(database, find_keys(settings, given), now)
    use_data_keys(database.engine, keys)
    return Encryption(database, keys)


def require_key(database: Database) -> None:
    """See that what is written now can be encrypted, if the database is. Raises KeyUnusable."""
    keys = data_keys_of(database.engine)
    if isinstance(keys, DataKeys):
        keys.open()
    elif keys is None and is_encrypted(database):
        raise KeyUnusable(NO_KEY)


def unlock(settings: Settings, database: Database, given: EncryptionKeys) -> None:
    """Let an operator's command decrypt, if it has a key. Without one it does what needs none; it begins nothing.

    The place that the settings name is asked once something is to be decrypted: a vault that is away stops nobody who
    suspends an account.

    Raises:
        KeyUnusable: the given key does not fit, or there are several places of keys.
    """
    if not is_encrypted(database):
        return
    if given or settings.key_file is not None or settings.key_command is not None:
        keys = DataKeys(database, partial(find_keys, settings, given))
        if given:
            keys.open()
        use_data_keys(database.engine, keys)
