"""A separate key for every take, so that destroying 32 bytes destroys the sound.

An encrypted file begins with `8 bytes magic | 16 bytes salt | 60 bytes slot`. While a take is in the recorder's folder,
its key is in the slot, encrypted with the library's key: after any crash the take can be opened and rescued. When the
library takes it over, the key moves to the database and the slot is blanked. From then on neither the file nor a copy
of it opens with the library's key alone. Destroying the key in the database deletes the sound in all such copies.

Limits: a solid-state disk or a copy-on-write file system may keep an overwritten block. Every file system keeps the
blocks of a truncated or deleted file (the database's log, a migration's copy) until they are used again. A backup of
the disk keeps what it copied. A copy of the file from before the take-over, or of the database from before the
deletion, still opens with the library's key. Files of the first format (magic VBTAKE1, no slot) are encrypted with the
library's key itself, so deleting one is no more than deleting the file.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vbdesk.language import message

MAGIC_OF_OLD = b"VBTAKE1\n"
MAGIC = b"VBTAKE2\n"
SALT_BYTES = 16
KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
SLOT_BYTES = _NONCE_BYTES + KEY_BYTES + _TAG_BYTES
SLOT_BEGIN = len(MAGIC) + SALT_BYTES
BLANK = bytes(SLOT_BYTES)


class EncryptedFileError(Exception):
    """An encrypted file cannot be read; `str(error)` is one sentence for a person."""


class WrongKey(EncryptedFileError):
    """The file is encrypted with another key."""


class FileDamaged(EncryptedFileError):
    """The file was changed after it was encrypted, or is no encrypted file."""


class FileKeyMissing(EncryptedFileError):
    """The file's own key is not in it: it is in the library, or was destroyed."""


def new_key() -> bytes:
    """A random key."""
    return os.urandom(KEY_BYTES)


def new_head(take_key: bytes, library_key: bytes | None) -> tuple[bytes, bytes]:
    """The header of a new file and its salt; the slot is blank if `library_key` is None."""
    salt = os.urandom(SALT_BYTES)
    slot = BLANK if library_key is None else _fill(take_key, library_key, salt)
    return MAGIC + salt + slot, salt


def read_head(file: BinaryIO, library_key: bytes, take_key: bytes | None = None) -> tuple[bytes, bytes]:
    """Read the header of a file: the key of its blocks, and its salt.

    Args:
        file: at its start; left at the first block.
        library_key: decrypts the slot, and files of the first format.
        take_key: the file's own key from the library; None reads the slot.

    Raises:
        WrongKey: the slot is encrypted with another library's key.
        FileKeyMissing: the slot is blank, and no key was given.
        FileDamaged: this is no encrypted file.
    """
    magic, salt = file.read(len(MAGIC)), file.read(SALT_BYTES)
    if magic == MAGIC_OF_OLD and take_key is None:
        return library_key, salt
    slot = file.read(SLOT_BYTES)
    if magic != MAGIC or len(slot) != SLOT_BYTES:
        raise FileDamaged(message("This is not a recording of the desk."))
    if take_key is not None:
        return take_key, salt
    if slot == BLANK:
        raise FileKeyMissing(message("The key to this recording is not here any more, so nobody can open it."))
    try:
        opened = AESGCM(library_key).decrypt(slot[:_NONCE_BYTES], slot[_NONCE_BYTES:], _place(salt))
    except InvalidTag as error:
        raise WrongKey(message("This recording was sealed with another key. It is kept as it is.")) from error
    return opened, salt


def possible_keys(
    content: bytes, library_key: bytes, take_key: bytes | None = None
) -> Iterator[tuple[bytes, bytes, int]]:
    """Possible keys of a file with a damaged header: key, salt, place of the first block.

    Only a block that decrypts proves a key.
    """
    magic, salt = content[: len(MAGIC)], content[len(MAGIC) : SLOT_BEGIN]
    if magic != MAGIC_OF_OLD and len(content) >= SLOT_BEGIN + SLOT_BYTES:
        key = take_key or _key_in_slot(content, library_key)
        if key is not None:
            yield key, salt, SLOT_BEGIN + SLOT_BYTES
    if magic != MAGIC and take_key is None and len(salt) == SALT_BYTES:
        yield library_key, salt, SLOT_BEGIN


def first_block_at(content: bytes) -> int:
    """Place of the first block of a file whose header is undamaged."""
    return SLOT_BEGIN if content.startswith(MAGIC_OF_OLD) else SLOT_BEGIN + SLOT_BYTES


def why_nothing_opens(content: bytes, library_key: bytes, take_key: bytes | None = None) -> EncryptedFileError:
    """Why no block of a file decrypts, as far as that can be found out."""
    if not content:
        return FileDamaged(message("The file is empty."))
    if not content.startswith((MAGIC, MAGIC_OF_OLD)) or len(content) < SLOT_BEGIN + SLOT_BYTES:
        return FileDamaged(message("The file is not a recording of the desk, or its beginning is damaged."))
    if take_key is not None:
        return FileDamaged(message("The file holds another recording, or its beginning is damaged."))
    if content.startswith(MAGIC) and content[SLOT_BEGIN : SLOT_BEGIN + SLOT_BYTES] == BLANK:
        return FileKeyMissing(message("The key to this recording is not here any more, so nobody can open it."))
    if content.startswith(MAGIC) and _key_in_slot(content, library_key) is not None:
        return FileDamaged(message("All of it is damaged."))
    return WrongKey(message("It was sealed with another key, or its beginning is damaged."))


def _key_in_slot(content: bytes, library_key: bytes) -> bytes | None:
    salt, slot = content[len(MAGIC) : SLOT_BEGIN], content[SLOT_BEGIN : SLOT_BEGIN + SLOT_BYTES]
    try:
        return AESGCM(library_key).decrypt(slot[:_NONCE_BYTES], slot[_NONCE_BYTES:], _place(salt))
    except InvalidTag:
        return None


def own_key(path: Path, library_key: bytes) -> bytes | None:
    """The key in a file's slot; None for a file of the first format. Raises as `read_head`, and OSError."""
    with path.open("rb") as file:
        of_old = file.read(len(MAGIC_OF_OLD)) == MAGIC_OF_OLD
        file.seek(0)
        return None if of_old else read_head(file, library_key)[0]


def has_key(path: Path) -> bool:
    """Whether the library's key alone opens a file. Raises OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return True
        file.seek(SLOT_BEGIN)
        return file.read(SLOT_BYTES) != BLANK


def blank(path: Path) -> None:
    """Overwrite the key in a file's slot, and sync that to the disk; does nothing for the first format.

    Raises OSError.
    """
    with path.open("rb+") as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(SLOT_BEGIN)
            file.write(BLANK)
            file.flush()
            os.fsync(file.fileno())


def shred(path: Path) -> None:
    """Delete an encrypted file, its key first, if it exists. Raises OSError."""
    if path.exists():
        blank(path)
        path.unlink()


def _fill(take_key: bytes, library_key: bytes, salt: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(library_key).encrypt(nonce, take_key, _place(salt))


def _place(salt: bytes) -> bytes:
    return b"vbdesk take key" + salt
