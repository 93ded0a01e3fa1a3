"""The object store over a bucket elsewhere: what every maker's store needs, whatever its calls are named."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import uuid4

from vbdesk.privacy import make_private
from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.encrypted_text import Keys
from vbdesk.service.kernel.store_location import checked_key
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S, clear_abandoned
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, StoreFull, StoreUnavailable

PROBES_FOLDER = "probes"
_PROBE = b"Written to see whether the store takes, keeps and gives back files."


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """How long a request to the store may take: seconds to connect, seconds without a byte, tries in all."""

    connect_s: float
    read_s: float
    attempts: int


USUAL_TIMEOUTS = StoreTimeouts(3, 10, 4)
PROBING_TIMEOUTS = StoreTimeouts(2, 2, 2)


class Bucket(Protocol):
    """One maker's bucket, by full key. Whatever else goes wrong in it raises StoreUnavailable.

    Writes carry a mark of their own, kept with the object: an answer may be lost on the way, the call is then made
    again, and the refusal of the second is told from a stranger's object by the mark.
    """

    def put(self, key: str, file: BinaryIO, mark: str) -> bool:
        """Write the file where nothing lies yet; whether nothing did."""
        ...

    def copy(self, source_key: str, key: str, mark: str) -> bool:
        """Copy inside the store where nothing lies yet; whether nothing did. Raises ObjectMissing."""
        ...

    def mark(self, key: str) -> str | None:
        """The mark of the write that made the object. Raises ObjectMissing."""
        ...

    def fetch(self, key: str, file: BinaryIO) -> None:
        """Write the object's bytes to `file`. Raises ObjectMissing."""
        ...

    def size(self, key: str) -> int:
        """Size in bytes. Raises ObjectMissing."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is fine."""
        ...

    def keys(self, start: str) -> Iterator[str]:
        """Every key that begins with `start`, in pages behind the scenes."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


@contextmanager
def _needing_room() -> Iterator[None]:
    """A full disk here says nothing of the object: it may be had later, or by another machine."""
    try:
        yield
    except OSError as error:
        kind = StoreFull if is_disk_full(error) else StoreUnavailable
        raise kind(f"The folder for files on their way takes none: {error.strerror}.") from None


class RemoteObjectStore:
    """Objects in a bucket, all below one prefix; files pass through the local folder `incoming` on their way."""

    def __init__(self, bucket: Bucket, probing: Bucket, prefix: str, incoming: Path, keys: Keys | None = None) -> None:
        """Open the store.

        Args:
            bucket: Patient with a store that stumbles.
            probing: The same bucket, impatient, for `check`.
            prefix: Before every key; may be empty.
            incoming: The local folder.
            keys: Encrypt the files of that folder. Objects in the bucket are encrypted by its maker.
        """
        self._bucket = bucket
        self._probing = probing
        self._prefix = f"{prefix}/" if prefix else ""
        self.files = RecordingFiles(incoming, keys)
        make_private(incoming)

    @property
    def incoming(self) -> Path:
        """A folder for files on their way."""
        return self.files.folder

    @property
    def checks_addresses_itself(self) -> bool:
        """Callers put files into the bucket."""
        return True

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """Remove what killed processes left behind."""
        clear_abandoned(self.incoming, older_than_s)

    def adopt(self, key: str, path: Path) -> None:
        """Send the file to the bucket and remove it here."""
        mark, full = uuid4().hex, self._full(key)
        with self.files.at(path).open("rb") as file:
            if not self._bucket.put(full, file, mark) and not self._is_of(full, mark):
                raise ObjectExists(key)
        path.unlink()

    def link(self, source_key: str, key: str) -> None:
        """Have the bucket copy the object."""
        mark, full = uuid4().hex, self._full(key)
        if self.exists(key):  # asked before, for stores that look at conditions of writes but not of copies
            raise ObjectExists(key)
        if not self._bucket.copy(self._full(source_key), full, mark) and not self._is_of(full, mark):
            raise ObjectExists(key)

    def open(self, key: str) -> BinaryIO:
        """A copy whose name is gone already; closing it ends it."""
        with self.local_copy(key) as copy:
            return copy.open("rb")

    @contextmanager
    def local_copy(self, key: str) -> Iterator[RecordingFile]:
        """A private copy, removed after the block."""
        full = self._full(key)
        with _needing_room(), self.files.writing() as (path, file):
            self._bucket.fetch(full, file)
        try:
            yield self.files.at(path)
        finally:
            path.unlink(missing_ok=True)

    def exists(self, key: str) -> bool:
        """Whether the bucket has it."""
        with suppress(ObjectMissing):
            self._bucket.size(self._full(key))
            return True
        return False

    def size(self, key: str) -> int:
        """Size in bytes."""
        return self._bucket.size(self._full(key))

    def delete(self, key: str) -> None:
        """Remove the object."""
        self._bucket.delete(self._full(key))

    def encrypt_existing(self, key: str) -> bool:
        """Objects in the bucket are its maker's affair."""
        return False

    def keys(self, folder: str) -> Iterator[str]:
        """Keys below `folder`."""
        for full in self._bucket.keys(f"{self._full(folder)}/"):
            yield full.removeprefix(self._prefix)

    def check(self) -> None:
        """Write a probe, see that it cannot be overwritten, read it and remove it; with short timeouts."""
        with _needing_room(), tempfile.TemporaryFile(dir=self.incoming) as file:
            file.write(_PROBE)
        key = self._full(f"{PROBES_FOLDER}/{uuid4().hex}")
        self._probing.put(key, BytesIO(_PROBE), uuid4().hex)
        seen = BytesIO()
        try:
            overwritten = self._probing.put(key, BytesIO(_PROBE), uuid4().hex)
            self._probing.fetch(key, seen)
        except ObjectMissing:
            raise StoreUnavailable("The store does not have what it was just given.") from None
        finally:
            self._probing.delete(key)
        if overwritten:
            raise StoreUnavailable("The store lets files be overwritten: it must know conditional writes.")
        if seen.getvalue() != _PROBE:
            raise StoreUnavailable("The store gives back other bytes than it was given.")

    def close(self) -> None:
        """Close the bucket's connections."""
        self._bucket.close()
        self._probing.close()

    def _is_of(self, full: str, mark: str) -> bool:
        """Whether the object under the full key was made by the write of this mark."""
        try:
            return self._bucket.mark(full) == mark
        except ObjectMissing:
            return False

    def _full(self, key: str) -> str:
        return self._prefix + checked_key(key)
