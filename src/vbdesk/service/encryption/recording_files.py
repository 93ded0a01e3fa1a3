"""Recordings in local files, encrypted where the process has data keys."""

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from vbdesk.service.encryption.file_format import (
    MAGIC,
    DecryptingReader,
    EncryptingWriter,
    content_size,
    destroy_key,
    is_encrypted_file,
)
from vbdesk.service.kernel.encrypted_text import NO_KEY, KeyMissing, Keys

_COPY_BYTES = 1024 * 1024


class StoredRecording(Protocol):
    """The bytes of a recording in any storage. A `Path` of a plain file is one."""

    def open(self, mode: Literal["rb"]) -> io.BufferedReader:
        """Open for reading; the result is seekable. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """A recording in an encrypted or plain file; the content shows which.

    Attributes:
        path: the stored file, encrypted or plain.
    """

    path: Path
    _keys: Keys | None = None

    def open(self, mode: Literal["rb"] = "rb") -> io.BufferedReader:
        """Open for reading, decrypted.

        Raises:
            DamagedFile: it was altered, or its key was destroyed.
            KeyMissing: it is encrypted, and the process has no key.
            OSError: it cannot be read.
        """
        file = self.path.open("rb", buffering=0)
        try:
            if file.read(len(MAGIC)) != MAGIC:
                file.seek(0)
                return io.BufferedReader(file)
            if self._keys is None:
                raise KeyMissing(NO_KEY)
            file.seek(0)
            return io.BufferedReader(DecryptingReader(file, self._keys))
        except BaseException:
            file.close()
            raise

    @property
    def size(self) -> int:
        """Bytes of the recording, before encryption. Raises OSError."""
        stored = self.path.stat().st_size
        return content_size(stored) if is_encrypted_file(self.path) else stored


class RecordingFiles:
    """Creates and reads files of recordings in one folder."""

    def __init__(self, folder: Path, keys: Keys | None = None) -> None:
        self.folder = folder
        self._keys = keys

    @property
    def encrypts(self) -> bool:
        """Whether new files are encrypted."""
        return self._keys is not None

    def at(self, path: Path) -> RecordingFile:
        """Return the recording in this file."""
        return RecordingFile(path, self._keys)

    def open_once(self, path: Path) -> io.BufferedReader:
        """Open a file for one reader and remove it: at once or, on Windows, when the reader is closed."""
        try:
            reader = self.at(path).open()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        try:
            path.unlink()
        except PermissionError:
            return _RemovedWhenClosed(reader.detach(), path)
        return reader

    def create(self) -> tuple[Path, BinaryIO]:
        """Create a file and an unbuffered writer; complete it with `finish_writing`."""
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        try:
            return Path(name), self._writer(os.fdopen(descriptor, "wb", buffering=0))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @contextmanager
    def writing(self) -> Iterator[tuple[Path, BinaryIO]]:
        """Create a file for a block: complete after it, removed if the block raises."""
        path, file = self.create()
        try:
            with file:
                yield path, file
                finish_writing(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def encrypted_copy(self, source: Path) -> Path | None:
        """Copy a plain file encrypted into this folder; None if nothing is to do. Raises OSError."""
        if self._keys is None or is_encrypted_file(source):
            return None
        with source.open("rb") as plain, self.writing() as (path, file):
            while data := plain.read(_COPY_BYTES):
                file.write(data)
        return path

    def _writer(self, file: BinaryIO) -> BinaryIO:
        return file if self._keys is None else EncryptingWriter(file, self._keys)  # type: ignore[return-value]


class _RemovedWhenClosed(io.BufferedReader):
    """A reader whose file is removed when it is closed."""

    def __init__(self, raw: io.RawIOBase, path: Path) -> None:
        super().__init__(raw)
        self._path = path

    def close(self) -> None:
        super().close()
        self._path.unlink(missing_ok=True)


def finish_writing(file: BinaryIO) -> None:
    """Complete and close a file of `RecordingFiles.create`. Raises OSError."""
    if isinstance(file, EncryptingWriter):
        file.finish()
    file.close()


def remove_for_good(path: Path) -> None:
    """Remove a file, and destroy its key if this was its last name; a missing file is no error."""
    with suppress(FileNotFoundError):
        with path.open("r+b") as file:
            try:
                path.unlink()  # first: from now on nobody can give the file another name
                names = 0
            except PermissionError:  # Windows cannot remove an open file
                names = 1
            if os.fstat(file.fileno()).st_nlink == names:
                destroy_key(file)
        if names:
            path.unlink()
