"""The requests of the last minute, stored in the library, so that a restart does not forget them."""

import logging
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from vbdesk.client.request_budget import RequestJournal
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.library.store import Store, time_text

SLOW_LINE_S = 10.0  # a service counts a request on arrival; the transfer time is not stored

log = logging.getLogger(__name__)


class SharedRequestJournal:
    """Journal of a command that uses a library: shares its requests with the desk and with other commands."""

    def __init__(self, library: "StoredRequestJournal", commands: RequestJournal) -> None:
        self._library: StoredRequestJournal | None = library
        self._commands = commands

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Record a request that leaves in `in_s` seconds."""
        self._commands.append(bucket, in_s)
        if self._library is not None:
            self._library.append(bucket, in_s)

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute. Both journals hold those of earlier commands, so the longer list counts."""
        sources = [list(self._commands.recent()), [] if self._library is None else list(self._library.recent())]
        for bucket in Bucket:
            yield from max(([each for each in one if each[0] is bucket] for one in sources), key=len)

    def leave_library(self) -> None:
        """Stop using the library, which is about to be closed."""
        self._library = None


class StoredRequestJournal:
    """A request journal in the library's table `requests`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failed = False

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Record a request that leaves in `in_s` seconds; delete old ones, and those of a clock far ahead."""
        now, storage_time = self._store.clock.now(), timedelta(seconds=2 * RATE_WINDOW_S)
        try:
            with self._store.changing_silently() as database:
                outside = (time_text(now - storage_time), time_text(now + storage_time))
                database.execute("DELETE FROM requests WHERE at NOT BETWEEN ? AND ?", outside)
                at = time_text(now + timedelta(seconds=in_s))
                database.execute("INSERT INTO requests VALUES (?, ?)", (bucket, at))
            self._failed = False
        except sqlite3.Error:  # a full disk must not stop requests; at worst the service answers 429
            if not self._failed:  # log once, not for each request
                log.exception("Cannot store a request")
            self._failed = True

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute: bucket, and how many seconds ago the service counted it at the latest."""
        now = self._store.clock.now() - timedelta(seconds=SLOW_LINE_S)
        found: list[tuple[Bucket, float]] = []
        for row in self._store.rows("SELECT bucket, at FROM requests"):
            with suppress(TypeError, ValueError):  # a damaged row; the next request deletes it
                found.append((Bucket(row["bucket"]), (now - datetime.fromisoformat(row["at"])).total_seconds()))
        return found
