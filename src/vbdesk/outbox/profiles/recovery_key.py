"""The recovery key: the key of the service on this computer in a form that a person can write down."""

import hashlib

from vbdesk.language import message

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: without I, L, O and U, which are misread."""
GROUP = 7
CHARACTERS = 56  # 32 bytes of key and 3 of checksum, 5 bits per character

_KEY_BYTES, _CHECK_BYTES = 32, 3
_READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1"})
_BETWEEN = " -\N{EN DASH}\t\r\n"


class RecoveryKeyMistyped(Exception):
    """The input is not a recovery key; `str(error)` is for a person and contains no part of the input."""


def recovery_key_of(key: bytes) -> str:
    """Encode `key`, 32 bytes, as groups of characters with a checksum at the end."""
    number = int.from_bytes(key + _checksum(key), "big")
    characters = "".join(ALPHABET[number >> 5 * position & 31] for position in reversed(range(CHARACTERS)))
    return "-".join(characters[start : start + GROUP] for start in range(0, CHARACTERS, GROUP))


def key_of_recovery(typed: str) -> bytes:
    """Decode what a person typed; ignores case, spaces and dashes.

    Raises:
        RecoveryKeyMistyped: a character is missing, wrong or too many.
    """
    characters = "".join(each for each in typed.upper() if each not in _BETWEEN).translate(_READ_AS)
    if len(characters) != CHARACTERS:
        raise RecoveryKeyMistyped(
            message(
                "This is not the whole recovery key: it has {length} characters, and a recovery key has "
                "{whole}. Compare it with your copy.",
                length=len(characters),
                whole=CHARACTERS,
            )
        )
    try:
        number = 0
        for each in characters:
            number = number << 5 | ALPHABET.index(each)
    except ValueError:
        raise RecoveryKeyMistyped(
            message("A recovery key has only digits and letters, and no U. Compare it with your copy.")
        ) from None
    content = number.to_bytes(_KEY_BYTES + _CHECK_BYTES, "big")
    key = content[:_KEY_BYTES]
    if content[_KEY_BYTES:] != _checksum(key):
        raise RecoveryKeyMistyped(
            message("A character of the recovery key is wrong, or two are exchanged. Compare it with your copy.")
        )
    return key


def _checksum(key: bytes) -> bytes:
    return hashlib.sha256(b"vbdesk recovery key" + key).digest()[:_CHECK_BYTES]
