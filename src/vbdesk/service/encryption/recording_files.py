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


def finish_writing(file: BinaryIO) -> None:
    """Complete and close a file of `RecordingFiles.create`. Raises OSError."""
    if isinstance(file, EncryptingWriter):
        file.finish()
    file.close()


def remove_for_good(path: Path) -> None:
    """Remove a file, and destroy its key if this was its last name; a missing file is no error."""
    with suppress(FileNotFoundError):
        if os.name == "nt":  # Windows cannot remove an open file
            with path.open("r+b") as file:
                last = os.fstat(file.fileno()).st_nlink == 1
                if last:
                    destroy_key(file)
            path.unlink()
            return
        with path.open("r+b") as file:
            path.unlink()  # first: from now on nobody can give the file another name
            if os.fstat(file.fileno()).st_nlink == 0:
                destroy_key(file)
