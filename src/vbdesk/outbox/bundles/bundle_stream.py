"""Streams between the age library and the content of a bundle; memory holds one piece at a time."""

import hashlib
import io
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from vbdesk.clock import CancelFlag
from vbdesk.language import message
from vbdesk.outbox.bundles.bundle_errors import BundleCancelled, MalformedBundle
from vbdesk.outbox.bundles.bundle_manifest import BundledTake, BundleManifest
from vbdesk.outbox.bundles.manifest_parser import LARGEST_MANIFEST, ManifestParser

PIECE_BYTES = 1024 * 1024
LENGTH = struct.Struct(">I")

Progress = Callable[[int, int], None]
"""Called with the bytes done and all bytes."""


class BundleReceiver(Protocol):
    """Receives the content of a bundle, piece by piece; an exception of a method ends the reading."""

    def begin(self, manifest: BundleManifest) -> None:
        """Receive the manifest."""

    def sound(self, take: BundledTake, piece: bytes) -> None:
        """Receive a piece of the sound of a recording."""

    def end(self, take: BundledTake) -> None:
        """Receive the end of the sound of a recording, whose digest is right."""


class ByteProgress:
    """Reports progress, and cancels the work if a person wants."""

    def __init__(self, progress: Progress | None = None, cancel: CancelFlag | None = None) -> None:
        self._progress, self._cancel = progress, cancel
        self.done = self.total = 0

    def advance(self, count: int) -> None:
        """Add `count` bytes to the progress. Raises BundleCancelled."""
        if self._cancel is not None and self._cancel.is_set():
            raise BundleCancelled(message("Stopped. Nothing was changed."))
        self.done += count
        if self._progress is not None:
            self._progress(self.done, self.total)


class PieceReader(io.RawIOBase):
    """A readable stream of pieces; stores an exception, since the age library keeps only its text."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")
        self.fault: BaseException | None = None

    def readable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end."""
        try:
            while not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    return b""
                self._rest = memoryview(piece)
        except BaseException as error:
            self.fault = error
            raise
        count = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:count], self._rest[count:]
        return bytes(taken)


class HashingStream(io.RawIOBase):
    """Passes bytes to or from a file and hashes them; stores an exception."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.digest = hashlib.sha256()
        self.fault: BaseException | None = None

    def readable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end."""
        try:
            piece = self._file.read(size)
        except BaseException as error:
            self.fault = error
            raise
        self.digest.update(piece)
        return piece

    def write(self, piece: bytes) -> int:  # type: ignore[override]  # the library gives bytes
        """Write all of `piece`."""
        try:
            self._file.write(piece)
        except BaseException as error:
            self.fault = error
            raise
        self.digest.update(piece)
        return len(piece)

    def digest_of_all(self) -> bytes:
        """The digest, after reading the rest of the file."""
        while self.read(PIECE_BYTES):
            pass
        return self.digest.digest()


class ContentParser(io.RawIOBase):
    """Parses the content as it arrives."""

    def __init__(self, taker: BundleReceiver, watch: ByteProgress) -> None:
        super().__init__()
        self._taker, self._watch = taker, watch
        self._length = bytearray()
        self._manifest_left = 0
        self._parser = ManifestParser()
        self._takes: Iterator[BundledTake] | None = None
        self._take: BundledTake | None = None
        self._left = 0
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, piece: bytes) -> int:  # type: ignore[override]  # the library gives bytes
        """Parse all of `piece`."""
        rest = piece
        if self._takes is None:
            rest = self._read_manifest(piece)
        while rest:
            rest = self._read_sound(rest)
        return len(piece)

    def close_content(self) -> None:
        """Whether the content is complete."""
        if self._takes is None or self._take is not None:
            raise MalformedBundle

    def _read_manifest(self, piece: bytes) -> bytes:
        if len(self._length) < LENGTH.size:
            missing = LENGTH.size - len(self._length)
            self._length += piece[:missing]
            piece = piece[missing:]
            if len(self._length) < LENGTH.size:
                return b""
            self._manifest_left = LENGTH.unpack(self._length)[0]
            if self._manifest_left > LARGEST_MANIFEST:
                raise MalformedBundle(message("Its list of recordings is too long to be read safely."))
        mine, rest = piece[: self._manifest_left], piece[self._manifest_left :]
        self._manifest_left -= len(mine)
        self._parser.feed(mine)
        if not self._manifest_left:
            manifest = self._parser.manifest()
            self._taker.begin(manifest)
            self._takes = iter(manifest.takes)
            self._next()
        return rest

    def _read_sound(self, piece: bytes) -> bytes:
        if self._take is None:
            raise MalformedBundle  # more content than announced
        mine, rest = piece[: self._left], piece[self._left :]
        self._watch.advance(len(mine))
        self._digest.update(mine)
        self._taker.sound(self._take, mine)
        self._left -= len(mine)
        if not self._left:
            if self._digest.hexdigest() != self._take.sha256:
                raise MalformedBundle
            self._taker.end(self._take)
            self._next()
        return rest

    def _next(self) -> None:
        self._take = None if self._takes is None else next(self._takes, None)
        self._left = 0 if self._take is None else self._take.size
        self._digest = hashlib.sha256()
