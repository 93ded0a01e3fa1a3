"""The blocks of an encrypted file: their encryption, and the search for them after damaged bytes.

A block is `kind (1 byte) | length of the plain text (4 bytes, little endian) | AES-256-GCM cipher text with its tag`.
Its index is the nonce and its kind is authenticated. So a block that decrypts is unchanged, and its place in the take
is known from its index, even if it was moved in the file.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

TAG_BYTES = 16
HEAD = struct.Struct("<BI")
BLOCK_OVERHEAD_BYTES = HEAD.size + TAG_BYTES  # overhead of a block
MAX_BLOCK_BYTES = 64 * 1024 * 1024

# bounds of the search for the next block that decrypts
LEAST_BYTES = 2  # of its content: one sample, or "{}"
MOST_BYTES = 1024 * 1024  # the recorder encrypts about a second at once
NEXT_TRIES = 8  # indexes to try at one place, even if the gap has room for more
LEAST_TRIES = 16
MOST_TRIES = 4096
TRIED_BYTES = 16 * 1024 * 1024  # to try at one place, if that allows more than the minimum
SEARCHED_BYTES = 8 * 1024 * 1024 * 1024  # of failed tries in one file: a few seconds
SEARCHED_FOR_FIRST_BYTES = 64 * 1024 * 1024  # the same if not even the first block decrypts
CHUNK_BYTES = 1024 * 1024


class BlockKind(IntEnum):
    """What a block holds."""

    ABOUT = 0  # JSON
    FRAMES = 1  # little-endian int16
    MARK = 2  # JSON
    FILE = 3  # bytes of an imported file
    END = 4  # JSON


@dataclass(frozen=True, slots=True)
class FoundBlock:
    """A block that decrypts; `begin` and `end` are its place in the file."""

    index: int
    kind: BlockKind
    begin: int
    end: int
    plain: bytes = field(repr=False)


def block_cipher(key: bytes, salt: bytes) -> AESGCM:
    """The cipher of a file's blocks."""
    return AESGCM(HKDF(SHA256(), 32, salt, b"vbdesk take").derive(key))


def block_nonce(index: int) -> bytes:
    """The nonce of the block with this index."""
    return index.to_bytes(12, "little")


def find_blocks(content: bytes, cipher: AESGCM, begin: int, index: int = 0) -> list[FoundBlock]:
    """Every block of a file that decrypts, by index, with or without damage between them.

    Args:
        content: the bytes of the file.
        cipher: of its blocks.
        begin: where a block should begin.
        index: the index of that block; earlier ones are not searched for.
    """
    return _Search(content, cipher, begin, index).run()


class _Search:
    """Reads block after block while they decrypt; after damage, searches byte by byte for the next one."""

    def __init__(self, content: bytes, cipher: AESGCM, begin: int, index: int) -> None:
        self._content, self._cipher, self._begin, self._first = content, cipher, begin, index
        self._bytes, self._view = np.frombuffer(content, np.uint8), memoryview(content)
        self._found: dict[int, FoundBlock] = {}
        self._left = SEARCHED_FOR_FIRST_BYTES

    def run(self) -> list[FoundBlock]:
        position, index = self._begin, self._first
        while position + BLOCK_OVERHEAD_BYTES <= len(self._content) and not self._is_whole():
            block = self._open(position, index) or self._after(position, index)
            block = block or self._next(position, index, len(self._content))
            if block is None:
                break
            if not self._found:
                self._left = SEARCHED_BYTES
            self._found[block.index] = block
            position, index = block.end, block.index + 1
        self._find_passed_over()
        self._find_beheaded()
        return [self._found[index] for index in sorted(self._found)]

    def _find_passed_over(self) -> None:
        """Find moved blocks in damaged bytes between two blocks that decrypt."""
        blocks = sorted(self._found.values(), key=lambda block: block.begin)
        starts = [(self._begin, self._first), *((block.end, block.index + 1) for block in blocks)]
        for start, after in zip(starts, blocks, strict=False):
            position, index = start
            while not self._is_whole() and (block := self._next(position, index, after.begin)) is not None:
                self._found[block.index] = block
                position, index = block.end, block.index + 1

    def _find_beheaded(self) -> None:
        """Find blocks with a damaged header: the next block shows where they end."""
        ends = [block.end for block in self._found.values()] or [self._begin]
        gaps = [(max(ends), len(self._content), max(self._found, default=self._first - 1) + 1)]
        for block in self._found.values():
            before = self._found.get(block.index - 2)
            if block.index - 1 not in self._found and (before or block.index - 1 == self._first):
                gaps.append((before.end if before else self._begin, block.begin, block.index - 1))
        for begin, end, index in gaps:
            if end - begin < BLOCK_OVERHEAD_BYTES or index in self._found or self._is_whole():
                continue
            for kind in BlockKind:
                block_found = self._decrypt(kind, begin, end, index)
                if block_found is not None:
                    self._found[index] = block_found

    def _is_whole(self) -> bool:
        """Whether the closing block and everything before it was found; what follows is no part of the take."""
        if not self._found:
            return False
        last = max(self._found)
        return self._found[last].kind is BlockKind.END and len(self._found) == last - self._first + 1

    def _next(self, position: int, index: int, limit: int) -> FoundBlock | None:
        """The first block between `position` and `limit` that decrypts, with an unused index."""
        for chunk in range(position, limit, CHUNK_BYTES):
            for offset in self._candidates(chunk, limit):
                for tried in self._indexes(int(offset), position, index):
                    block = self._open(int(offset), tried)
                    if block is not None:
                        return block
                    if self._left <= 0:
                        return None
        return None

    def _candidates(self, begin: int, limit: int) -> NDArray[np.int64]:
        """Places in the chunk from `begin` on that may hold the header of a block before `limit`."""
        heads = self._bytes[begin : min(begin + CHUNK_BYTES + HEAD.size - 1, limit)].astype(np.int64)
        count = len(heads) - HEAD.size + 1
        if count <= 0:
            return np.empty(0, np.int64)
        kinds, lengths = heads[:count], np.zeros(count, np.int64)
        for offset in range(4):
            lengths += heads[1 + offset : 1 + offset + count] << 8 * offset
        places = begin + np.arange(count, dtype=np.int64)
        fits = places + BLOCK_OVERHEAD_BYTES + lengths <= limit
        sized = (lengths >= LEAST_BYTES) & (lengths <= MOST_BYTES)
        likely = (kinds <= max(BlockKind)) & ((kinds != BlockKind.FRAMES) | (lengths % 2 == 0))
        found: NDArray[np.int64] = places[fits & sized & likely]
        return found

    def _indexes(self, offset: int, position: int, index: int) -> Iterator[int]:
        """Indexes that a block at `offset` may have, likeliest first: the next, and those the gap has room for."""
        yield from (tried for tried in range(index, index + NEXT_TRIES) if tried not in self._found)
        length = self._length(offset)
        tries = min(max(LEAST_TRIES, TRIED_BYTES // length), MOST_TRIES)
        likely = index + (offset - position) // (length + BLOCK_OVERHEAD_BYTES)
        most = self._first + len(self._content) // BLOCK_OVERHEAD_BYTES
        for away in range(most + 1):
            for tried in (likely + away, likely - away) if away else (likely,):
                if self._first <= tried <= most and tried not in self._found:
                    yield tried
                    tries -= 1
            if tries <= 0:
                return

    def _length(self, offset: int) -> int:
        return int.from_bytes(self._content[offset + 1 : offset + HEAD.size], "little")

    def _after(self, position: int, index: int) -> FoundBlock | None:
        """The block after a damaged one with an intact header: the usual damage, found with one try."""
        offset = position + BLOCK_OVERHEAD_BYTES + self._length(position)
        return self._open(offset, index + 1) if offset + BLOCK_OVERHEAD_BYTES <= len(self._content) else None

    def _open(self, offset: int, index: int) -> FoundBlock | None:
        """The block at `offset`, if it has this index and decrypts."""
        length = self._length(offset)
        end = offset + BLOCK_OVERHEAD_BYTES + length
        if length > MAX_BLOCK_BYTES or end > len(self._content) or index in self._found:
            return None
        return self._decrypt(self._content[offset], offset, end, index)

    def _decrypt(self, kind: int, begin: int, end: int, index: int) -> FoundBlock | None:
        try:
            sealed = self._view[begin + HEAD.size : end]
            plain = self._cipher.decrypt(block_nonce(index), sealed, bytes([kind]))
        except InvalidTag:
            self._left -= end - begin
            return None
        return FoundBlock(index, BlockKind(kind), begin, end, plain)
