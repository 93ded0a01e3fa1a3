"""The requests of the last minute, kept in the library, so that a restart does not forget what was sent."""

import logging
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from vbdesk.client.request_budget import RequestJournal
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.library.store import Store, time_text

SLOW_LINE_S = 10.0  # a service counts a request when it arrives; how long that took was forgotten

log = logging.getLogger(__name__)


class SharedRequests:
    """The journal of a command that works on a library: what it asks is seen by the desk and by other commands."""

    def __init__(self, library: "StoredRequests", commands: RequestJournal) -> None:
        self._library: StoredRequests | None = library
        self._commands = commands

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Note a request that leaves in `in_s` seconds."""
        self._commands.append(bucket, in_s)
        if self._library is not None:
            self._library.append(bucket, in_s)

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute. What a command like this one asked stands in both: the longer one counts."""
        told = [list(self._commands.recent()), [] if self._library is None else list(self._library.recent())]
        for bucket in Bucket:
            yield from max(([each for each in one if each[0] is bucket] for one in told), key=len)

    def leave_library(self) -> None:
        """The library is about to be closed; the command goes on."""
        self._library = None


class StoredRequests:
    """A journal of the budget over the library's table `requests`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failed = False

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Note a request that leaves in `in_s` seconds; what is long past goes, or was noted by a clock far ahead."""
        now, kept = self._store.clock.now(), timedelta(seconds=2 * RATE_WINDOW_S)
        try:
            with self._store.quietly() as database:
                outside = (time_text(now - kept), time_text(now + kept))
                database.execute("DELETE FROM requests WHERE at NOT BETWEEN ? AND ?", outside)
                at = time_text(now + timedelta(seconds=in_s))
                database.execute("INSERT INTO requests VALUES (?, ?)", (bucket, at))
            self._failed = False
        except sqlite3.Error:  # a full disk must not stop what needs no room; at worst the service asks for a pause
            if not self._failed:  # once, not with each request
                log.exception("A request could not be noted")
            self._failed = True

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute: the bucket, and how many seconds ago the service had counted it."""
        now = self._store.clock.now() - timedelta(seconds=SLOW_LINE_S)
        found: list[tuple[Bucket, float]] = []
        for row in self._store.rows("SELECT bucket, at FROM requests"):
            with suppress(TypeError, ValueError):  # spoilt by somebody else; the next request deletes it
                found.append((Bucket(row["bucket"]), (now - datetime.fromisoformat(row["at"])).total_seconds()))
        return found
