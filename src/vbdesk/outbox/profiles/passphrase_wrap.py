"""A key, encrypted with a passphrase.

Argon2id derives a key from the passphrase, with the second recommended parameters of RFC 9106, section 4 (3 passes, 4
lanes, 64 MiB, a salt of 128 bits). The OWASP Password Storage Cheat Sheet asks for less (19 MiB, 2 passes). The
parameters are stored with the key, so that a later release can raise them.
"""

import secrets as random
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

PASSES, LANES, MEMORY_KIB, SALT_BYTES = 3, 4, 64 * 1024, 16
_MOST_PASSES, _MOST_LANES, _MOST_MEMORY_KIB = 64, 64, 2 * 1024 * 1024  # bounds for a damaged file
_NONCE_BYTES = 12


class WrongPassphrase(Exception):
    """The passphrase does not decrypt the key."""


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """The key, encrypted with a passphrase."""

    salt: bytes
    passes: int
    lanes: int
    memory_kib: int
    sealed: bytes = field(repr=False)

    def derived(self, passphrase: str) -> bytes:
        """The key that the passphrase gives. Takes a tenth of a second of one core, and 64 MiB."""
        text = unicodedata.normalize("NFC", passphrase)  # keyboards compose accented letters differently
        argon2 = Argon2id(
            salt=self.salt, length=32, iterations=self.passes, lanes=self.lanes, memory_cost=self.memory_kib
        )
        return argon2.derive(text.encode())

    def document(self) -> dict[str, object]:
        """The form in which it is stored."""
        return {
            "function": "argon2id",
            "salt": self.salt.hex(),
            "passes": self.passes,
            "lanes": self.lanes,
            "memory_kib": self.memory_kib,
            "sealed": self.sealed.hex(),
        }


def read_wrapped(document: dict[str, Any]) -> WrappedKey:
    """Parse the stored form. Raises ValueError, KeyError, TypeError."""
    wrapped = WrappedKey(
        bytes.fromhex(document["salt"]),
        int(document["passes"]),
        int(document["lanes"]),
        int(document["memory_kib"]),
        bytes.fromhex(document["sealed"]),
    )
    if wrapped.passes > _MOST_PASSES or wrapped.lanes > _MOST_LANES or wrapped.memory_kib > _MOST_MEMORY_KIB:
        raise ValueError
    return wrapped


def wrap(key: bytes, key_id: str, passphrase: str) -> WrappedKey:
    """Encrypt `key` with `passphrase`; `key_id` is authenticated with it."""
    empty = WrappedKey(random.token_bytes(SALT_BYTES), PASSES, LANES, MEMORY_KIB, b"")
    nonce = random.token_bytes(_NONCE_BYTES)
    sealed = nonce + AESGCM(empty.derived(passphrase)).encrypt(nonce, key, key_id.encode())
    return replace(empty, sealed=sealed)


def unwrap(wrapped: WrappedKey, key_id: str, passphrase: str) -> bytes:
    """Decrypt the key.

    Raises:
        WrongPassphrase: the passphrase is wrong.
        ValueError: Argon2id refuses the stored parameters.
    """
    nonce, sealed = wrapped.sealed[:_NONCE_BYTES], wrapped.sealed[_NONCE_BYTES:]
    try:
        return AESGCM(wrapped.derived(passphrase)).decrypt(nonce, sealed, key_id.encode())
    except InvalidTag:
        raise WrongPassphrase from None
