"""A stream of bytes into a temporary file, without blocking the event loop and with a hard stop."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool

_FLUSH_BYTES = 1024 * 1024


TakeBytes = Callable[[int], None]
"""Asked before so many bytes are written. Raises the refusal when there is no room for them."""


class StreamTooLong(Exception):
    """More bytes came than allowed."""


def take_all(_count: int) -> None:
    """Refuse nothing."""


class Spool:
    """Collects a stream in a file; memory stays at about one MiB however long the stream.

    Attributes:
        path: The temporary file; whoever calls `discard` or moves it away ends it.
        size: Bytes so far.
    """

    def __init__(self, folder: Path, limit: int, take: TakeBytes = take_all) -> None:
        descriptor, name = tempfile.mkstemp(dir=folder)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._pending = bytearray()
        self._limit = limit
        self._take = take
        self.path = Path(name)
        self.size = 0

    async def write(self, data: bytes) -> None:
        """Append `data`. Raises StreamTooLong when it goes past the limit, and what `take` raises."""
        self.size += len(data)
        if self.size > self._limit:
            raise StreamTooLong
        self._pending += data
        if len(self._pending) >= _FLUSH_BYTES:
            await self._flush()

    async def finish(self) -> None:
        """Write what is pending and close the file."""
        await self._flush()
        self._file.close()

    def discard(self) -> None:
        """Close and remove the file; one that was moved away is fine."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    async def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        self._take(len(pending))
        await run_in_threadpool(_write_all, self._file.fileno(), pending)


def _write_all(descriptor: int, data: bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
