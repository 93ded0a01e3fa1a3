"""Port of an object store: bytes under keys."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S


class ObjectExists(Exception):
    """An object with this key exists; objects are written once."""


class ObjectMissing(Exception):
    """There is no object with this key."""


class StoreUnavailable(Exception):
    """The store is unreachable or refuses, so the object's state is unknown. Retry later.

    The message is one sentence without secrets.
    """


class StoreFull(StoreUnavailable):
    """The disk of the store, or of the local folder for files in transit, is full."""


class StoreUnusable(Exception):
    """The configured store cannot be used; one sentence for the operator."""


class StoreMismatch(StoreUnusable):
    """The store belongs, or may belong, to another database; the message lists the remedies."""


class ObjectStore(Protocol):
    """Stores complete objects: an object has all its bytes or does not exist.

    With a remote store every method may raise StoreUnavailable; the failed write may still have happened.
    """

    @property
    def incoming(self) -> Path:
        """Local folder for incoming files; `adopt` moves them from there without copying."""
        ...

    @property
    def checks_addresses_itself(self) -> bool:
        """Whether signed addresses point to the store itself, as with buckets, not to this service."""
        ...

    @property
    def files(self) -> RecordingFiles:
        """The files of that folder, encrypted where the process has keys."""
        ...

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """Remove half-written files of killed processes from that folder, unless they are younger."""
        ...

    def adopt(self, key: str, path: Path) -> None:
        """Move the finished local file `path` in as `key`, encrypted or plain. Raises ObjectExists."""
        ...

    def link(self, source_key: str, key: str) -> None:
        """Store the bytes of `source_key` under a second key. Raises ObjectMissing, ObjectExists."""
        ...

    def open(self, key: str) -> BinaryIO:
        """Open for reading, decrypted. Raises ObjectMissing."""
        ...

    def local_copy(self, key: str) -> AbstractContextManager[RecordingFile]:
        """Provide the object as a read-only local file inside the block. Raises ObjectMissing."""
        ...

    def exists(self, key: str) -> bool:
        """Return whether `key` exists."""
        ...

    def size(self, key: str) -> int:
        """Return the size in bytes, before encryption. Raises ObjectMissing."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        ...

    def encrypt_existing(self, key: str) -> bool:
        """Encrypt a plain object if this store encrypts its files; return whether it was plain."""
        ...

    def keys(self, folder: str) -> Iterator[str]:
        """List keys that begin with `folder/`."""
        ...

    def check(self) -> None:
        """Check within seconds that the store writes, keeps and reads files. Raises StoreUnavailable."""
        ...

    def close(self) -> None:
        """Close connections; the store must not be used afterwards."""
        ...
