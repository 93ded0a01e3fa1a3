"""What a process knows of encryption at rest, and says of it."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from vbdesk.service.db.session import Database
from vbdesk.service.encryption.columns import data_keys_of, use_data_keys
from vbdesk.service.encryption.data_keys import DataKeys, is_encrypted, open_data_keys
from vbdesk.service.encryption.existing_data import completed_at
from vbdesk.service.encryption.keys import WAYS, EncryptionKeys, KeyUnusable, find_keys
from vbdesk.service.settings import Settings


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

    @property
    def state(self) -> EncryptionState:
        """Asks the database until everything is encrypted, which stays so. Raises SQLAlchemyError."""
        if self.keys is None:
            return EncryptionState.OFF
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
    if data_keys_of(database.engine) is None and is_encrypted(database):
        raise KeyUnusable(f"The data of this service is encrypted, and no key was given: give it by {WAYS}.")


def unlock(settings: Settings, database: Database, given: EncryptionKeys) -> None:
    """Let an operator's command decrypt, if it has a key. Without one it does what needs none; it begins nothing.

    Raises:
        KeyUnusable: the key does not fit, or it cannot be had.
    """
    keys = find_keys(settings, given)
    if keys and is_encrypted(database):
        use_data_keys(database.engine, DataKeys(database, keys))
