"""The courier's requests, planned so that the plan's rate limits are never met."""

from collections import deque
from collections.abc import Mapping

from vbdesk.contract.limits import RATE_WINDOW_S, Bucket

MARGIN_S = 0.25  # the service's window does not begin at the same moment as ours


class Pace:
    """Looks ahead: how long until there is room. Times are seconds of one monotonic clock."""

    def __init__(self, limits: Mapping[Bucket, int]) -> None:
        self._limits = limits
        self._spent: dict[Bucket, deque[float]] = {bucket: deque(maxlen=limit) for bucket, limit in limits.items()}
        self._closed_until = dict.fromkeys(limits, 0.0)

    def wait_s(self, bucket: Bucket, now: float, count: int = 1) -> float:
        """Seconds until `count` requests may follow one another."""
        spent, limit = self._spent[bucket], self._limits[bucket]
        opens = self._closed_until[bucket]
        if len(spent) + count > limit:
            opens = max(opens, spent[len(spent) + count - limit - 1] + RATE_WINDOW_S + MARGIN_S)
        return max(0.0, opens - now)

    def spend(self, bucket: Bucket, now: float) -> None:
        """Count a request."""
        self._spent[bucket].append(now)

    def close(self, bucket: Bucket, until: float) -> None:
        """No request before `until`: the service said so."""
        self._closed_until[bucket] = max(self._closed_until[bucket], until)
