"""A stream of bytes into a temporary file, without blocking the event loop and with a hard stop."""

from typing import BinaryIO

from starlette.concurrency import run_in_threadpool

from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles, finish_writing

_FLUSH_BYTES = 1024 * 1024


class StreamTooLong(Exception):
    """More bytes came than allowed."""


class Spool:
    """Collects a stream in a file; memory stays at about one MiB however long the stream.

    Attributes:
        path: The temporary file, encrypted where recordings are; whoever calls `discard` or moves it away ends it.
        size: Bytes so far.
    """

    def __init__(self, files: RecordingFiles, limit: int) -> None:
        self.path, self._file = files.create()
        self._files = files
        self._pending = bytearray()
        self._limit = limit
        self.size = 0

    @property
    def recording(self) -> RecordingFile:
        """What was collected, once it is finished."""
        return self._files.at(self.path)

    async def write(self, data: bytes) -> None:
        """Append `data`. Raises StreamTooLong when it goes past the limit."""
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
        """Close and remove the file; one that was moved away is fine."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    async def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        await run_in_threadpool(_write_all, self._file, pending)


def _write_all(file: BinaryIO, data: bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
