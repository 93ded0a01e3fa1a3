"""Streams bytes into a temporary file without blocking the event loop, up to a limit."""

from collections.abc import Callable
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool

from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles, finish_writing

_FLUSH_BYTES = 1024 * 1024


TakeBytes = Callable[[int], None]
"""Called with the number of bytes before they are written; raises when there is no room."""


class StreamTooLong(Exception):
    """The stream is longer than the limit."""


def take_all(_count: int) -> None:
    """Accept any number of bytes."""


class Spool:
    """Collects a stream in a file; memory use stays at about 1 MiB for any length.

    Attributes:
        path: The temporary file, encrypted like recordings; the caller moves it or calls `discard`.
        size: Bytes so far.
    """

    def __init__(self, files: RecordingFiles, limit: int, take: TakeBytes = take_all) -> None:
        self.path, self._file = files.create()
        self._files = files
        self._pending = bytearray()
        self._limit = limit
        self._take = take
        self.size = 0

    @property
    def recording(self) -> RecordingFile:
        """The collected recording, after `finish`."""
        return self._files.at(self.path)

    async def write(self, data: bytes) -> None:
        """Append `data`. Raises StreamTooLong beyond the limit, and the errors of `take`."""
        self.size += len(data)
        if self.size > self._limit:
            raise StreamTooLong
        self._pending += data
        if len(self._pending) >= _FLUSH_BYTES:
            await self._flush()

    async def finish(self) -> None:
        """Write what is pending and close the file."""
        await self._flush()
        await run_in_threadpool(finish_writing, self._file)

    def discard(self) -> None:
        """Close and remove the file; a moved file is no error."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    async def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        self._take(len(pending))
        await run_in_threadpool(_write_all, self._file, pending)


def _write_all(file: BinaryIO, data: bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
