"""Text column that encrypts its values where the process has a key."""

from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from vbdesk.language import N_

PREFIX = "enc1:"
"""Prefix of an encrypted text. All of these columns hold JSON, which never begins so."""

_ATTRIBUTE = "vbdesk_data_keys"

NO_KEY = N_(
    "The data of this service is encrypted, and no key was given: give it by --key-stdin, key_file or key_command."
)


class Keys(Protocol):
    """Encrypts and decrypts texts and file keys."""

    def encrypt_text(self, text: str, purpose: str) -> str:
        """Encrypt `text` for a column, which `purpose` names."""
        ...

    def decrypt_text(self, stored: str, purpose: str) -> str:
        """Decrypt the result of `encrypt_text` for the same purpose. Raises Damaged."""
        ...

    def wrap(self, file_key: bytes) -> bytes:
        """Encrypt a file's own key to `WRAPPED_BYTES` bytes."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt the result of `wrap`. Raises Damaged."""
        ...


class KeyMissing(Exception, sa.exc.DontWrapMixin):
    """An encrypted value was read without the key; the message is one sentence for the operator."""


class EncryptedText(TypeDecorator[str]):
    """Text encrypted with the data keys of its engine, if any; not comparable or sortable."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, purpose: str) -> None:
        """Create a column type.

        Args:
            purpose: names table and column; an encrypted value copied from another column does not decrypt.
        """
        super().__init__()
        self.purpose = purpose

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Encrypt a value to store."""
        keys = _keys_of(dialect)
        return value if value is None or keys is None else keys.encrypt_text(value, self.purpose)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Decrypt a stored value; return plain text from before the encryption unchanged.

        Raises:
            KeyMissing: the value is encrypted and the process has no key.
            Damaged: the value was altered.
        """
        if value is None or not value.startswith(PREFIX):
            return value
        keys = _keys_of(dialect)
        if keys is None:
            raise KeyMissing(NO_KEY)
        return keys.decrypt_text(value, self.purpose)


def use_data_keys(engine: sa.Engine, keys: Keys | None) -> None:
    """Make the columns of `engine` encrypt and decrypt with these keys."""
    setattr(engine.dialect, _ATTRIBUTE, keys)


def data_keys_of(engine: sa.Engine) -> Keys | None:
    """Return the keys that `use_data_keys` set."""
    return _keys_of(engine.dialect)


def _keys_of(dialect: sa.Dialect) -> Keys | None:
    return getattr(dialect, _ATTRIBUTE, None)
