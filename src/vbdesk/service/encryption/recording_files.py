"""Recordings in files of this computer: encrypted where the process has data keys, as they are where it has none."""

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


class Recording(Protocol):
    """The bytes of a recording, wherever and however they are kept. A `Path` of a plain file is one."""

    def open(self, mode: Literal["rb"]) -> io.BufferedReader:
        """Open to read, seekable. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """A recording in a file that is encrypted, or not; the content tells.

    Attributes:
        path: the file as it lies on the disk.
    """

    path: Path
    _keys: Keys | None = None

    def open(self, mode: Literal["rb"] = "rb") -> io.BufferedReader:
        """Open to read, decrypted.

        Raises:
            DamagedFile: it was altered, or its key is gone.
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
        """Bytes of the recording, not of its file. Raises OSError."""
        stored = self.path.stat().st_size
        return content_size(stored) if is_encrypted_file(self.path) else stored


class RecordingFiles:
    """Makes and reads the files of recordings in one folder."""

    def __init__(self, folder: Path, keys: Keys | None = None) -> None:
        self.folder = folder
        self._keys = keys

    @property
    def encrypts(self) -> bool:
        """Whether what is written from now on is encrypted."""
        return self._keys is not None

    def at(self, path: Path) -> RecordingFile:
        """The recording in this file."""
        return RecordingFile(path, self._keys)

    def create(self) -> tuple[Path, BinaryIO]:
        """A new file, and what writes the recording to it unbuffered; end it with `finish_writing`, and by closing."""
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        try:
            return Path(name), self._writer(os.fdopen(descriptor, "wb", buffering=0))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @contextmanager
    def writing(self) -> Iterator[tuple[Path, BinaryIO]]:
        """The same for the length of a block, complete after it; removed if the block raises."""
        path, file = self.create()
        try:
            with file:
                yield path, file
                finish_writing(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def encrypted_copy(self, source: Path) -> Path | None:
        """An encrypted copy of a plain file, in this folder; None if there is nothing to do. Raises OSError."""
        if self._keys is None or is_encrypted_file(source):
            return None
        with source.open("rb") as plain, self.writing() as (path, file):
            while data := plain.read(_COPY_BYTES):
                file.write(data)
        return path

    def _writer(self, file: BinaryIO) -> BinaryIO:
        return file if self._keys is None else EncryptingWriter(file, self._keys)  # type: ignore[return-value]


def finish_writing(file: BinaryIO) -> None:
    """Complete a file of `RecordingFiles.create`, and close it. Raises OSError."""
    if isinstance(file, EncryptingWriter):
        file.finish()
    file.close()


def remove_for_good(path: Path) -> None:
    """Remove a file, and destroy its key if this was its last name; one that is not there is fine."""
    with suppress(FileNotFoundError):
        if os.name == "nt":  # there nobody removes an open file
            with path.open("r+b") as file:
                last = os.fstat(file.fileno()).st_nlink == 1
                if last:
                    destroy_key(file)
            path.unlink()
            return
        with path.open("r+b") as file:
            path.unlink()  # first: from now on nobody gives the file another name
            if os.fstat(file.fileno()).st_nlink == 0:
                destroy_key(file)
