"""Encryption of database values, each bound to its place, and MACs over rows."""

import hmac
import json
import os
from collections.abc import Iterable
from functools import cached_property

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

__all__ = ["MAC_BYTES", "NONCE_BYTES", "ColumnCipher", "InvalidTag"]

NONCE_BYTES = 12
MAC_BYTES = 32
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class ColumnCipher:
    """Encrypts a value for its row and column: moved elsewhere, it does not decrypt."""

    def __init__(self, key: bytes) -> None:
        self._key, self._cipher = key, AESGCM(key)

    def encrypt(self, plain: bytes, place: str) -> bytes:
        """Encrypt `plain` for `place`, such as a take id and a column."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def decrypt(self, sealed: bytes, place: str) -> bytes:
        """Decrypt what `encrypt` made; InvalidTag if it was changed or moved."""
        return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.encode())

    def mac(self, values: Iterable[object]) -> bytes:
        """MAC over the values of a row, in their order.

        An encrypted value counts by its nonce, which is random: no other text decrypts under it.
        """
        known = [value[:NONCE_BYTES].hex() if isinstance(value, bytes) else value for value in values]
        return self.mac_of(_to_json(known))

    def mac_of(self, text: str) -> bytes:
        """MAC of a text."""
        return hmac.digest(self._mac_key, text.encode(), "sha256")

    @cached_property
    def _mac_key(self) -> bytes:
        return HKDF(SHA256(), MAC_BYTES, None, b"vbdesk rows").derive(self._key)
