"""How a value of the database is sealed to its place, and the MACs that prove rows."""

import hmac
import json
import os
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

__all__ = ["MAC_BYTES", "NONCE_BYTES", "ColumnSeal", "InvalidTag"]

NONCE_BYTES = 12
MAC_BYTES = 32
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class ColumnSeal:
    """Seals a value to its row: a value moved to another row or column does not open."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._mac_key = HKDF(SHA256(), MAC_BYTES, None, b"vbdesk rows").derive(key)

    def seal(self, plain: bytes, place: str) -> bytes:
        """Seal `plain` for `place`, such as a take's id and a column."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Open what `seal` made; InvalidTag if it is another's."""
        return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.encode())

    def mac(self, values: Iterable[object]) -> bytes:
        """MAC over the values of a row, in their order.

        A sealed value counts by its nonce: it was made at random, and no other text opens under it.
        """
        known = [value[:NONCE_BYTES].hex() if isinstance(value, bytes) else value for value in values]
        return self.mac_of(_to_json(known))

    def mac_of(self, text: str) -> bytes:
        """MAC of a text."""
        return hmac.digest(self._mac_key, text.encode(), "sha256")
