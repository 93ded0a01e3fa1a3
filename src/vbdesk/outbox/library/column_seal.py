"""How a value of the database is sealed to its place, and how a row is proved to be as the desk wrote it."""

import hmac
import json
import os
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

__all__ = ["ColumnSeal", "InvalidTag", "open_sum", "seal_sum"]

NONCE_BYTES = 12
MAC_BYTES = 32
_to_json = json.JSONEncoder(separators=(",", ":")).encode
_MODULUS = 1 << (8 * MAC_BYTES)


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


def sum_of(macs: Iterable[object]) -> int:
    """All rows together, whatever their order; a row that comes or goes is added or taken away."""
    return sum(_number(mac) for mac in macs) % _MODULUS


def moved(total: int, before: object, after: object) -> int:
    """The sum once a row's MAC changes; None stands for no row."""
    return (total - _number(before) + _number(after)) % _MODULUS


def seal_sum(seal: ColumnSeal, total: int, version: int) -> bytes:
    """The sum of all rows as it is kept: nobody without the key can make another."""
    return total.to_bytes(MAC_BYTES, "big") + seal.mac_of(f"rows/{version}/{total}")


def open_sum(seal: ColumnSeal, kept: object, version: int) -> int | None:
    """The sum of all rows at `version`; None if somebody else wrote it."""
    if not isinstance(kept, bytes):
        return None
    total = int.from_bytes(kept[:MAC_BYTES], "big")
    return total if hmac.compare_digest(kept, seal_sum(seal, total, version)) else None


def _number(mac: object) -> int:
    """A MAC as a number; 0 for no row, and for what somebody else put in its place."""
    return int.from_bytes(mac, "big") if isinstance(mac, bytes) else 0
