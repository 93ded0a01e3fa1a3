"""Object store in a folder."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from vbdesk.language import message, system_reason
from vbdesk.privacy import FILE_MODE, make_private
from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles, remove_for_good
from vbdesk.service.kernel.encrypted_text import Keys
from vbdesk.service.kernel.store_location import checked_key
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S, clear_abandoned
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, StoreUnavailable

_INCOMING = ".incoming"


class LocalObjectStore:
    """Objects as files below one folder; a hard link makes each write-once and atomic."""

    def __init__(self, root: Path, keys: Keys | None = None) -> None:
        self._root = root
        self.files = RecordingFiles(root / _INCOMING, keys)
        self._turn = threading.Lock()  # threads wait for this lock, since they would poll the file lock
        self._replacing = FileLock(root.with_suffix(".lock"), mode=FILE_MODE)
        make_private(self.incoming)

    @property
    def incoming(self) -> Path:
        """Local folder on the same file system, for incoming files."""
        return self.files.folder

    @property
    def checks_addresses_itself(self) -> bool:
        """False: addresses point to the embedded store of this service."""
        return False

    def adopt(self, key: str, path: Path) -> None:
        """Move the finished file in; it survives a power cut once this returns."""
        _sync_file(path)
        self._name(path, key)
        with suppress(PermissionError):  # on Windows, while another process reads it; cleared with the incoming files
            path.unlink()

    def link(self, source_key: str, key: str) -> None:
        """Hard-link the file under a second name."""
        self._name(self._existing(source_key), key)

    def open(self, key: str) -> BinaryIO:
        """Open for reading."""
        return self.files.at(self._existing(key)).open("rb")

    @contextmanager
    def local_copy(self, key: str) -> Iterator[RecordingFile]:
        """Yield the file itself, which is local already."""
        yield self.files.at(self._existing(key))

    def exists(self, key: str) -> bool:
        """Return whether the file exists."""
        return self._path(key).is_file()

    def size(self, key: str) -> int:
        """Size in bytes."""
        return self.files.at(self._existing(key)).size

    def delete(self, key: str) -> None:
        """Remove the file, and destroy its key with its last name."""
        with self._turn, self._replacing:
            remove_for_good(self._path(key))

    def encrypt_existing(self, key: str) -> bool:
        """Replace a plain file by an encrypted copy; a file removed meanwhile stays removed."""
        path = self._path(key)
        try:
            copy = self.files.encrypted_copy(path)
        except FileNotFoundError:
            return False
        if copy is None:
            return False
        try:
            _sync_file(copy)
            with self._turn, self._replacing:
                if path.exists():
                    copy.replace(path)
        finally:
            copy.unlink(missing_ok=True)
        _sync_folder(path.parent)
        return True

    def keys(self, folder: str) -> Iterator[str]:
        """List keys below `folder`."""
        for path in sorted(self._path(folder).rglob("*")):
            if path.is_file():
                yield path.relative_to(self._root).as_posix()

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """Remove half-written files of killed processes."""
        clear_abandoned(self.incoming, older_than_s)

    def check(self) -> None:
        """Write and remove a file."""
        try:
            with tempfile.TemporaryFile(dir=self.incoming) as file:
                file.write(b"probe")
        except OSError as error:
            raise StoreUnavailable(
                message("The folder of the recordings cannot be written: {reason}.", reason=system_reason(error))
            ) from None

    def close(self) -> None:
        """Do nothing: no resource is held open."""

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key)

    def _existing(self, key: str) -> Path:
        path = self._path(key)
        if not path.is_file():
            raise ObjectMissing(key)
        return path

    def _name(self, source: Path, key: str) -> None:
        target = self._path(key)
        make_private(target.parent)
        try:
            os.link(source, target)
        except FileExistsError as error:
            raise ObjectExists(key) from error
        _sync_folder(target.parent)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:  # Windows syncs only what is open for writing
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; Windows cannot open folders and does not need this."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
