"""Exact sliding windows in memory, for a process that serves a folder alone."""

import math
from collections import defaultdict, deque
from datetime import datetime
from threading import Lock

from vbdesk.contract.limits import RATE_WINDOW_S


class MemoryRateWindows:
    """Counts requests per owner and bucket; a restart resets the counts, which last a minute anyway."""

    def __init__(self, window_s: float = RATE_WINDOW_S) -> None:
        self._window_s = window_s
        self._moments: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)  # ascending
        self._lock = Lock()

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`; see `RateWindows.hit`."""
        moment = now.timestamp()
        with self._lock:
            counted = self._moments[owner, bucket]
            while counted and counted[0] <= moment - self._window_s:
                counted.popleft()
            if len(counted) >= limit:
                leaves_at = counted[len(counted) - limit] + self._window_s
                return max(1, min(math.ceil(leaves_at - moment), math.ceil(self._window_s)))
            counted.append(moment)
            if len(counted) > 1 and moment < counted[-2]:  # the clock was set back
                self._moments[owner, bucket] = deque(sorted(counted))
            return 0

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Return the requests of `owner` in the window that ends at `now`."""
        with self._lock:
            return sum(moment > now.timestamp() - self._window_s for moment in self._moments.get((owner, bucket), ()))

    def remove_past(self, now: datetime) -> None:
        """Remove expired counters, which would otherwise accumulate per address."""
        before = now.timestamp() - self._window_s
        with self._lock:
            past = [key for key, moments in self._moments.items() if not moments or moments[-1] <= before]
            for key in past:
                del self._moments[key]

    def close(self) -> None:
        """Do nothing: no resource is held open."""
