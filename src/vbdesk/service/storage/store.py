"""The port of an object store: bytes under keys."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S


class ObjectExists(Exception):
    """An object lies under this key already; objects are written once."""


class ObjectMissing(Exception):
    """No object lies under this key."""


class StoreUnavailable(Exception):
    """The store is away or refuses: nothing is known of the object. Try again later; one sentence, without secrets."""


class StoreFull(StoreUnavailable):
    """No disk space is left in the store, or on the way to it."""


class StoreUnusable(Exception):
    """The store of these settings cannot be used from here; one sentence for the operator."""


class StoreMismatch(StoreUnusable):
    """The store belongs to another database, or may do so; one sentence for the operator, and the ways out."""


class ObjectStore(Protocol):
    """Keeps objects whole: an object is there with all its bytes, or not at all.

    Where the store is elsewhere, every method may raise StoreUnavailable; a write that raised it may have been made.
    """

    @property
    def incoming(self) -> Path:
        """A local folder for files on their way in; `adopt` moves them from here without copying."""
        ...

    @property
    def checks_addresses_itself(self) -> bool:
        """Whether signed addresses lead to the store itself, as those of buckets do, and not to this service."""
        ...

    @property
    def files(self) -> RecordingFiles:
        """The files of that folder, encrypted where the process has keys."""
        ...

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """Remove from that folder what killed processes left half-written, unless it is younger."""
        ...

    def adopt(self, key: str, path: Path) -> None:
        """Move the finished local file `path` in as `key`, encrypted or not as it is. Raises ObjectExists."""
        ...

    def link(self, source_key: str, key: str) -> None:
        """Keep the bytes of `source_key` under a second key as well. Raises ObjectMissing, ObjectExists."""
        ...

    def open(self, key: str) -> BinaryIO:
        """Open for reading, decrypted. Raises ObjectMissing."""
        ...

    def local_copy(self, key: str) -> AbstractContextManager[RecordingFile]:
        """A local file with the object, good inside the block; do not write to it. Raises ObjectMissing."""
        ...

    def exists(self, key: str) -> bool:
        """Whether an object lies under `key`."""
        ...

    def size(self, key: str) -> int:
        """Size in bytes, as they were given. Raises ObjectMissing."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is fine."""
        ...

    def encrypt_existing(self, key: str) -> bool:
        """Encrypt an object from before there were keys, where files of this store are; whether it was one."""
        ...

    def keys(self, folder: str) -> Iterator[str]:
        """Keys that begin with `folder/`."""
        ...

    def check(self) -> None:
        """See, within seconds, whether the store takes, keeps and gives back files. Raises StoreUnavailable."""
        ...

    def close(self) -> None:
        """Let go of connections; the store is not used afterwards."""
        ...
