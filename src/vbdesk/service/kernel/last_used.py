"""Background writer of last-used times: no request waits for it or fails because of it."""

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import Generic, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.service.kernel.db.session import Database

RETRY_S = 60.0
CLOSE_S = 2.0

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)


class LastUsedWriter(Generic[Key]):
    """Collects times by key and writes them in its own thread, which the first note starts."""

    def __init__(
        self,
        database: Database,
        write: Callable[[Connection, Mapping[Key, datetime]], None],
        of_what: str,
        retry_s: float = RETRY_S,
    ) -> None:
        """Create the writer.

        Args:
            database: the database to write to.
            write: writes the times of all keys in one transaction.
            of_what: what the keys are, for the log.
            retry_s: pause after a failed write, in seconds.
        """
        self._database = database
        self._write_times = write
        self._of_what = of_what
        self._retry_s = retry_s
        self._lock = threading.Lock()
        self._unwritten: dict[Key, datetime] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, key: Key, used_at: datetime) -> None:
        """Queue the use for writing. Returns at once and never fails."""
        with self._lock:
            self._unwritten[key] = used_at
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"vbdesk-uses-{self._of_what}", daemon=True)
                self._thread.start()
        self._wake.set()

    def unwritten(self, key: Key) -> datetime | None:
        """Return a noted use that may not be in the database yet; call this before reading the database."""
        with self._lock:
            return self._unwritten.get(key)

    def close(self) -> None:
        """Write the remaining notes, if the database accepts them within `CLOSE_S`."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                times = dict(self._unwritten)
            if times and not self._write(times):
                if self._stopping.wait(self._retry_s):
                    return
                self._wake.set()
            elif self._stopping.is_set():
                return

    def _write(self, times: dict[Key, datetime]) -> bool:
        try:
            with self._database.writing() as connection:
                self._write_times(connection, times)
        except SQLAlchemyError as error:
            log.warning("Uses of %s cannot be noted (%s); this is retried.", self._of_what, type(error).__name__)
            return False
        with self._lock:
            for key, used_at in times.items():
                if self._unwritten.get(key) == used_at:
                    del self._unwritten[key]
        return True
