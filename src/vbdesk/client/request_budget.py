"""Plan requests within the account's rate limits, instead of collecting refusals."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Protocol

from vbdesk.contract.limits import RATE_WINDOW_S, REQUESTS_PER_WINDOW, Bucket, Plan

MARGIN_S = 0.25  # the service's rate window and ours start at different moments


class RequestJournal(Protocol):
    """Remembers the requests of the last minute across restarts. Must not raise."""

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Record a request that leaves in `in_s` seconds; 0 is now."""

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute: the bucket, and how many seconds ago each left."""
        ...


class RequestBudget:
    """Counts requests per bucket over the sliding window, and says how long to wait.

    One object per account in a process, shared by all its users; thread-safe. Other programs of the same account are
    not counted, so the service may still answer 429 (`close`). All times are seconds of one monotonic clock.
    """

    def __init__(self, limits: Mapping[Bucket, int], journal: RequestJournal | None = None) -> None:
        """Make a budget of `limits` requests per minute; `journal` holds those of earlier runs."""
        self._limits = dict(limits)
        self._sent: dict[Bucket, list[float]] = {bucket: [] for bucket in limits}  # ascending
        self._closed_until = dict.fromkeys(limits, 0.0)
        self._journal = journal
        self._earlier = [] if journal is None else list(journal.recent())
        self._lock = Lock()

    @classmethod
    def of_plan(cls, plan: Plan, journal: RequestJournal | None = None) -> "RequestBudget":
        """The budget of a plan."""
        return cls(REQUESTS_PER_WINDOW[plan], journal)

    def limit(self, bucket: Bucket) -> int:
        """Requests allowed per window."""
        return self._limits[bucket]

    def used(self, bucket: Bucket, now: float) -> int:
        """Requests sent in the present window."""
        with self._lock:
            self._remember(now)
            sent = self._sent[bucket]
            return bisect_right(sent, now) - bisect_left(sent, now - RATE_WINDOW_S)

    def wait_s(self, bucket: Bucket, now: float, count: int = 1) -> float:
        """Seconds until `count` requests may be sent in a row; 0 if now."""
        with self._lock:
            return self._wait_s(bucket, now, count)

    def spend(self, bucket: Bucket, now: float) -> None:
        """Count a request that leaves now, whether it is allowed or not."""
        with self._lock:
            self._count(bucket, now, now)
        self._note(bucket, 0.0)

    def take(self, bucket: Bucket, now: float, leave: int = 0) -> bool:
        """Count a request that leaves now if there is room for it and `leave` more; False if not."""
        with self._lock:
            if self._wait_s(bucket, now, 1 + leave) > 0:
                return False
            self._count(bucket, now, now)
        self._note(bucket, 0.0)
        return True

    def reserve(self, bucket: Bucket, now: float) -> float:
        """Reserve the next slot in `bucket`; returns the seconds until the request may leave."""
        with self._lock:
            wait_s = self._wait_s(bucket, now, 1)
            self._count(bucket, now, now + wait_s)
        self._note(bucket, wait_s)
        return wait_s

    def answered(self, bucket: Bucket, sent_at: float, now: float) -> None:
        """Count a request from `sent_at` as answered or abandoned now.

        A slow request may be counted by the service at any moment up to its answer, so its window starts here.
        """
        with self._lock:
            sent = self._sent[bucket]
            index = bisect_left(sent, sent_at)
            if sent[index : index + 1] == [sent_at]:  # else it has left the window
                del sent[index]
            insort(sent, max(sent_at, now))

    def close(self, bucket: Bucket, until: float) -> None:
        """Allow no request before `until`, as the service demands."""
        with self._lock:
            self._closed_until[bucket] = max(self._closed_until[bucket], until)

    def _wait_s(self, bucket: Bucket, now: float, count: int) -> float:
        self._remember(now)
        sent, limit = self._sent[bucket], self._limits[bucket]
        opens = max(now, self._closed_until[bucket])
        over = len(sent) + min(count, limit) - limit
        if over > 0:
            opens = max(opens, sent[over - 1] + RATE_WINDOW_S + MARGIN_S)
        return opens - now

    def _count(self, bucket: Bucket, now: float, moment: float) -> None:
        self._remember(now)
        sent = self._sent[bucket]
        insort(sent, moment)
        del sent[: bisect_left(sent, now - RATE_WINDOW_S - MARGIN_S)]

    def _remember(self, now: float) -> None:
        """Add the journal's requests; a clock that was set since makes them younger, never older."""
        earlier, self._earlier = self._earlier, []
        for bucket, ago_s in sorted(earlier, key=lambda request: -request[1]):
            if bucket in self._sent and ago_s < RATE_WINDOW_S + MARGIN_S:
                self._count(bucket, now, now - max(ago_s, 0.0))

    def _note(self, bucket: Bucket, in_s: float) -> None:
        # outside the lock: a journal may have a lock of its own
        if self._journal is not None:
            self._journal.append(bucket, in_s)
