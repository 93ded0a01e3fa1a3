"""Format of an encrypted file: its own encrypted key, then the content in chunks.

    magic (8 bytes) | the file's key, encrypted by a data key (76 bytes) | chunk | chunk | ...

Each chunk is AES-256-GCM of 64 KiB; the last one may be shorter. The nonce is the chunk's number and whether it is the
last, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizar, 2015). So a truncated, extended, altered or
reassembled file does not decrypt. The key of a file is used for that file alone.
"""

import errno
import io
import os
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vbdesk.service.encryption.data_keys import DATA_KEY_BYTES, TAG_BYTES, WRAPPED_BYTES, Damaged
from vbdesk.service.kernel.encrypted_text import Keys

MAGIC = b"\x93VBENC1\n"
HEADER_BYTES = len(MAGIC) + WRAPPED_BYTES
CHUNK_BYTES = 64 * 1024
_STORED_BYTES = CHUNK_BYTES + TAG_BYTES


class DamagedFile(OSError):
    """An encrypted file was altered or truncated, or its key was destroyed."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "The encrypted file is damaged")


class EncryptingWriter(io.RawIOBase):
    """Encrypts to an open binary file, which it closes; without `finish` the file is unreadable."""

    def __init__(self, file: BinaryIO, keys: Keys) -> None:
        secret = os.urandom(DATA_KEY_BYTES)
        self._cipher = AESGCM(secret)
        self._file = file
        self._pending = bytearray()
        self._chunks = 0
        _write_all(file, MAGIC + keys.wrap(secret))

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Accept all of `data`; write a chunk once another one follows."""
        view = memoryview(data).cast("B")
        self._pending += view
        whole = (len(self._pending) - 1) // CHUNK_BYTES
        if whole > 0:
            end = whole * CHUNK_BYTES
            parts = [self._encrypted(self._pending[at : at + CHUNK_BYTES], b"\0") for at in range(0, end, CHUNK_BYTES)]
            _write_all(self._file, b"".join(parts))
            del self._pending[:end]
        return len(view)

    def finish(self) -> None:
        """Write the last chunk and close the file."""
        _write_all(self._file, self._encrypted(self._pending, b"\1"))
        self.close()

    def close(self) -> None:
        """Close the file; without `finish` it stays unreadable."""
        self._pending.clear()
        self._file.close()
        super().close()

    def _encrypted(self, chunk: bytearray, last: bytes) -> bytes:
        nonce = _nonce(self._chunks, last)
        self._chunks += 1
        return self._cipher.encrypt(nonce, bytes(chunk), None)


class DecryptingReader(io.RawIOBase):
    """Decrypts an encrypted file with random access, one chunk at a time."""

    def __init__(self, file: BinaryIO, keys: Keys) -> None:
        """Open `file`, which this reader closes.

        Raises:
            DamagedFile: its key cannot be decrypted.
        """
        header = file.read(HEADER_BYTES)
        try:
            self._cipher = AESGCM(keys.unwrap(header[len(MAGIC) :]))
        except (Damaged, ValueError):
            raise DamagedFile from None
        self._file = file
        self._stored = os.fstat(file.fileno()).st_size
        self._size = content_size(self._stored)
        self._last = max(0, -(-(self._stored - HEADER_BYTES) // _STORED_BYTES) - 1)
        self._at = 0
        self._chunk, self._content = -1, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position. Raises ValueError."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("A position before the beginning of the file")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._at

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill `buffer` from one chunk; return the number of bytes, 0 at the end.

        Raises:
            DamagedFile: the chunk was altered.
        """
        number, start = divmod(self._at, CHUNK_BYTES)
        if self._at >= self._size and self._chunk >= 0:
            return 0
        content = self._read_chunk(min(number, self._last))
        if self._at >= self._size:
            return 0
        part = content[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def close(self) -> None:
        """Close the underlying file too."""
        self._file.close()
        super().close()

    def _read_chunk(self, number: int) -> bytes:
        if number != self._chunk:
            self._file.seek(HEADER_BYTES + number * _STORED_BYTES)
            stored = self._file.read(_STORED_BYTES)
            last = b"\1" if number == self._last else b"\0"
            try:
                self._content = self._cipher.decrypt(_nonce(number, last), stored, None)
            except (InvalidTag, ValueError):
                raise DamagedFile from None
            self._chunk = number
        return self._content


def content_size(stored_bytes: int) -> int:
    """Return the content size of an encrypted file of this size."""
    body = max(0, stored_bytes - HEADER_BYTES)
    return max(0, body - TAG_BYTES * -(-body // _STORED_BYTES))


def is_encrypted_file(path: Path) -> bool:
    """Return whether the file is in this format. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def destroy_key(file: BinaryIO) -> None:
    """Overwrite the key of an open encrypted file; leave any other file unchanged."""
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        return
    file.seek(len(MAGIC))
    file.write(bytes(WRAPPED_BYTES))
    file.flush()
    os.fsync(file.fileno())


def _nonce(chunk: int, last: bytes) -> bytes:
    return chunk.to_bytes(11, "big") + last


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
