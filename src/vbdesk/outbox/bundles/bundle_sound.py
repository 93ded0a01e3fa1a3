"""The sound of one recording in a bundle: the blocks of its sealed file, opened, one after another.

Each is `kind (1 byte) | length (4 bytes, little-endian) | content`. The computer that takes them in seals them anew
with a key of its own, so that a deletion there, or here, destroys one copy and no other.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from vbdesk.capture.sealed import MAX_BLOCK_BYTES, BlockKind, BlockWriter, read_blocks
from vbdesk.outbox.bundles.bundle_stream import Malformed

_HEAD = struct.Struct("<BI")
_KINDS = frozenset(kind.value for kind in BlockKind)


def pieces_of(path: Path, library_key: bytes, take_key: bytes | None) -> Iterator[bytes]:
    """The sound of a sealed file, block by block. Raises SealedError, OSError."""
    for kind, plain in read_blocks(path, library_key, take_key):
        yield _HEAD.pack(kind, len(plain)) + plain


class Arrival:
    """Seals a sound that comes in pieces into a new file."""

    def __init__(self, path: Path, take_key: bytes) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        self._writer = BlockWriter(path, take_key, None)
        self._waiting = bytearray()

    def take(self, piece: bytes) -> None:
        """The next piece. Raises Malformed, OSError."""
        self._waiting += piece
        while len(self._waiting) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._waiting)
            if kind not in _KINDS or length > MAX_BLOCK_BYTES:
                raise Malformed
            end = _HEAD.size + length
            if len(self._waiting) < end:
                return
            self._writer.write(BlockKind(kind), bytes(self._waiting[_HEAD.size : end]))
            del self._waiting[:end]

    def end(self) -> None:
        """All of it was there: bring it to the disk. Raises Malformed, OSError."""
        if self._waiting:
            raise Malformed
        self._writer.sync()
        self._writer.close()

    def drop(self) -> None:
        """Leave nothing of it."""
        self._writer.close()
        self.path.unlink(missing_ok=True)
