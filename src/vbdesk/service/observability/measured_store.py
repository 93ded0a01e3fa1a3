"""Object store wrapper that times operations and counts errors."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.observability.metrics import Metrics
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

_ANSWERS = (ObjectExists, ObjectMissing)  # answers of a working store


class MeasuredStore:
    """Wraps a store. Listing keys is not timed, because the caller works on each key meanwhile."""

    def __init__(self, store: ObjectStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics

    @property
    def incoming(self) -> Path:
        """See ObjectStore."""
        return self._store.incoming

    @property
    def checks_addresses_itself(self) -> bool:
        """See ObjectStore."""
        return self._store.checks_addresses_itself

    @property
    def files(self) -> RecordingFiles:
        """See ObjectStore."""
        return self._store.files

    def clear_incoming(self, older_than_s: float = ABANDONED_AFTER_S) -> None:
        """See ObjectStore."""
        self._store.clear_incoming(older_than_s)

    def adopt(self, key: str, path: Path) -> None:
        """See ObjectStore."""
        with self._metrics.store_operation("adopt", _ANSWERS):
            self._store.adopt(key, path)

    def link(self, source_key: str, key: str) -> None:
        """See ObjectStore."""
        with self._metrics.store_operation("link", _ANSWERS):
            self._store.link(source_key, key)

    def open(self, key: str) -> BinaryIO:
        """See ObjectStore."""
        with self._metrics.store_operation("open", _ANSWERS):
            return self._store.open(key)

    @contextmanager
    def local_copy(self, key: str) -> Iterator[RecordingFile]:
        """See ObjectStore. Timed until the copy exists."""
        with ExitStack() as stack:
            with self._metrics.store_operation("local_copy", _ANSWERS):
                copy = stack.enter_context(self._store.local_copy(key))
            yield copy

    def exists(self, key: str) -> bool:
        """See ObjectStore."""
        with self._metrics.store_operation("exists", _ANSWERS):
            return self._store.exists(key)

    def size(self, key: str) -> int:
        """See ObjectStore."""
        with self._metrics.store_operation("size", _ANSWERS):
            return self._store.size(key)

    def delete(self, key: str) -> None:
        """See ObjectStore."""
        with self._metrics.store_operation("delete", _ANSWERS):
            self._store.delete(key)

    def encrypt_existing(self, key: str) -> bool:
        """See ObjectStore. Not timed: it copies files in the background."""
        return self._store.encrypt_existing(key)

    def keys(self, folder: str) -> Iterator[str]:
        """See ObjectStore."""
        return self._store.keys(folder)

    def check(self) -> None:
        """See ObjectStore."""
        with self._metrics.store_operation("check"):
            self._store.check()

    def close(self) -> None:
        """See ObjectStore. Not timed."""
        self._store.close()
