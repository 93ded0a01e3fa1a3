"""Object store over a cloud bucket, independent of the provider."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import uuid4

from vbdesk.language import N_, message, system_reason
from vbdesk.privacy import make_private
from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.encrypted_text import Keys
from vbdesk.service.kernel.store_location import checked_key
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S, clear_abandoned
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, StoreFull, StoreUnavailable

PROBES_FOLDER = "probes"
_PROBE = b"Written to check that the store writes, keeps and reads files."


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """Timeouts of a store request: seconds to connect, seconds without a byte, number of tries."""

    connect_s: float
    read_s: float
    attempts: int


USUAL_TIMEOUTS = StoreTimeouts(3, 10, 4)
PROBING_TIMEOUTS = StoreTimeouts(2, 2, 2)


class StorageBucket(Protocol):
    """One provider's bucket, by full key. Every other failure raises StoreUnavailable.

    Each write stores a unique mark with the object. When a response is lost and the write is repeated, the store
    refuses the second attempt. The mark then shows whether the existing object is our own.
    """

    def put(self, key: str, file: BinaryIO, mark: str) -> bool:
        """Write the file unless the key exists; return whether it was written."""
        ...

    def copy(self, source_key: str, key: str, mark: str) -> bool:
        """Copy an object unless the key exists; return whether it was copied. Raises ObjectMissing."""
        ...

    def mark(self, key: str) -> str | None:
        """Return the mark of the write that created the object. Raises ObjectMissing."""
        ...

    def fetch(self, key: str, file: BinaryIO) -> None:
        """Write the object's bytes to `file`. Raises ObjectMissing."""
        ...

    def size(self, key: str) -> int:
        """Return the size in bytes. Raises ObjectMissing."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        ...

    def keys(self, start: str) -> Iterator[str]:
        """List every key that begins with `start`, page by page."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


@contextmanager
def _needing_room() -> Iterator[None]:
    """Convert OSError to StoreUnavailable: a full local disk says nothing about the object."""
    try:
        yield
    except OSError as error:
        kind = StoreFull if is_disk_full(error) else StoreUnavailable
        raise kind(
            message("The folder for files in transit cannot be written: {reason}.", reason=system_reason(error))
        ) from None


class RemoteObjectStore:
    """Objects in a bucket below one prefix; files pass through the local folder `incoming`."""

    def __init__(
        self, bucket: StorageBucket, probing: StorageBucket, prefix: str, incoming: Path, keys: Keys | None = None
    ) -> None:
        """Create the store.

        Args:
            bucket: with the usual timeouts.
            probing: the same bucket with short timeouts, for `check`.
            prefix: precedes every key; may be empty.
            incoming: the local folder.
            keys: encrypt the files in that folder. The provider encrypts objects in the bucket.
        """
        self._bucket = bucket
        self._probing = probing
        self._prefix = f"{prefix}/" if prefix else ""
        self.files = RecordingFiles(incoming, keys)
        make_private(incoming)

    @property
    def incoming(self) -> Path:
        """Local folder for files in transit."""
        return self.files.folder

    @property
    def checks_addresses_itself(self) -> bool:
        """True: callers upload to the bucket itself."""
        return True

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """Remove files that killed processes left."""
        clear_abandoned(self.incoming, older_than_s)

    def adopt(self, key: str, path: Path) -> None:
        """Upload the file to the bucket and remove it here."""
        mark, full = uuid4().hex, self._full(key)
        with self.files.at(path).open("rb") as file:
            if not self._bucket.put(full, file, mark) and not self._is_of(full, mark):
                raise ObjectExists(key)
        path.unlink()

    def link(self, source_key: str, key: str) -> None:
        """Copy the object inside the bucket."""
        mark, full = uuid4().hex, self._full(key)
        if self.exists(key):  # checked first, since some stores ignore conditions on copies
            raise ObjectExists(key)
        if not self._bucket.copy(self._full(source_key), full, mark) and not self._is_of(full, mark):
            raise ObjectExists(key)

    def open(self, key: str) -> BinaryIO:
        """Download to a private file that goes with its reader."""
        return self.files.open_once(self._downloaded(key))

    @contextmanager
    def local_copy(self, key: str) -> Iterator[RecordingFile]:
        """Download a private copy, removed after the block."""
        path = self._downloaded(key)
        try:
            yield self.files.at(path)
        finally:
            path.unlink(missing_ok=True)

    def _downloaded(self, key: str) -> Path:
        with _needing_room(), self.files.writing() as (path, file):
            self._bucket.fetch(self._full(key), file)
        return path

    def exists(self, key: str) -> bool:
        """Return whether the bucket has the object."""
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
        """Do nothing: the provider encrypts objects in the bucket."""
        return False

    def keys(self, folder: str) -> Iterator[str]:
        """List keys below `folder`."""
        for full in self._bucket.keys(f"{self._full(folder)}/"):
            yield full.removeprefix(self._prefix)

    def check(self) -> None:
        """Write a probe, try to overwrite it, read it and remove it; timeouts are short."""
        with _needing_room(), tempfile.TemporaryFile(dir=self.incoming) as file:
            file.write(_PROBE)
        key = self._full(f"{PROBES_FOLDER}/{uuid4().hex}")
        self._probing.put(key, BytesIO(_PROBE), uuid4().hex)
        seen = BytesIO()
        try:
            overwritten = self._probing.put(key, BytesIO(_PROBE), uuid4().hex)
            self._probing.fetch(key, seen)
        except ObjectMissing:
            raise StoreUnavailable(N_("The store does not have the object that was just written.")) from None
        finally:
            self._probing.delete(key)
        if overwritten:
            raise StoreUnavailable(N_("The store overwrites existing files. Use one that supports conditional writes."))
        if seen.getvalue() != _PROBE:
            raise StoreUnavailable(N_("The store returns other bytes than were written."))

    def close(self) -> None:
        """Close the bucket's connections."""
        self._bucket.close()
        self._probing.close()

    def _is_of(self, full: str, mark: str) -> bool:
        """Return whether the write with this mark created the object."""
        try:
            return self._bucket.mark(full) == mark
        except ObjectMissing:
            return False

    def _full(self, key: str) -> str:
        return self._prefix + checked_key(key)
