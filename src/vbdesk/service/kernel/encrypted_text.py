"""A text column whose values are encrypted where the process has a key."""

from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

PREFIX = "enc1:"
"""How an encrypted text begins. JSON, which all of these columns hold, never does."""

_ATTRIBUTE = "vbdesk_data_keys"

KEY_WAYS = "--key-stdin, key_file or key_command"
NO_KEY = f"The data of this service is encrypted, and no key was given: give it by {KEY_WAYS}."


class Keys(Protocol):
    """What encrypts and decrypts."""

    def encrypt_text(self, text: str, purpose: str) -> str:
        """Encrypt `text` for a column, which `purpose` names."""
        ...

    def decrypt_text(self, stored: str, purpose: str) -> str:
        """Decrypt what `encrypt_text` made for the same purpose. Raises Damaged."""
        ...

    def wrap(self, file_key: bytes) -> bytes:
        """Encrypt a file's own key: `WRAPPED_BYTES` bytes."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt what `wrap` made. Raises Damaged."""
        ...


class KeyMissing(Exception, sa.exc.DontWrapMixin):
    """An encrypted value was read in a process without the key; one sentence for the operator."""


class EncryptedText(TypeDecorator[str]):
    """Text that is encrypted with the data keys of its engine, if it has any; it cannot be compared or sorted."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, purpose: str) -> None:
        """Make a column type.

        Args:
            purpose: names table and column, so that no encrypted value of another column passes for one of this.
        """
        super().__init__()
        self.purpose = purpose

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Encrypt."""
        keys = _keys_of(dialect)
        return value if value is None or keys is None else keys.encrypt_text(value, self.purpose)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Decrypt; what was stored before there was a key is as it is.

        Raises:
            KeyMissing: it is encrypted, and the process has no key.
            Damaged: it was altered.
        """
        if value is None or not value.startswith(PREFIX):
            return value
        keys = _keys_of(dialect)
        if keys is None:
            raise KeyMissing(NO_KEY)
        return keys.decrypt_text(value, self.purpose)


def use_data_keys(engine: sa.Engine, keys: Keys | None) -> None:
    """Have the columns of `engine` encrypted with these keys."""
    setattr(engine.dialect, _ATTRIBUTE, keys)


def data_keys_of(engine: sa.Engine) -> Keys | None:
    """The keys that `use_data_keys` gave the engine."""
    return _keys_of(engine.dialect)


def _keys_of(dialect: sa.Dialect) -> Keys | None:
    return getattr(dialect, _ATTRIBUTE, None)
