"""Requests planned within the account's rate limits, instead of collecting refusals."""

from collections import deque
from collections.abc import Mapping
from threading import Lock

from vbdesk.contract.limits import RATE_WINDOW_S, REQUESTS_PER_WINDOW, Bucket, Plan

MARGIN_S = 0.25  # the service's window and ours do not begin at the same moment


class RequestBudget:
    """Counts requests per bucket over the sliding window and tells how long to wait for room.

    Other programs of the same account are not seen; the service's 429 remains the last word.
    """

    def __init__(self, limits: Mapping[Bucket, int]) -> None:
        self._limits = dict(limits)
        self._sent: dict[Bucket, deque[float]] = {bucket: deque() for bucket in limits}
        self._lock = Lock()

    @classmethod
    def of_plan(cls, plan: Plan) -> "RequestBudget":
        """The budget of a plan."""
        return cls(REQUESTS_PER_WINDOW[plan])

    def reserve(self, bucket: Bucket, now: float) -> float:
        """Take the next place in `bucket` and tell how many seconds to wait for it; `now` in monotonic seconds."""
        with self._lock:
            sent = self._sent[bucket]
            limit = self._limits[bucket]
            start = now if len(sent) < limit else max(now, sent[0] + RATE_WINDOW_S + MARGIN_S)
            sent.append(start)
            while len(sent) > limit:
                sent.popleft()
            return start - now
