"""Bytes that accounts are sending to this process in forms, limited by their quota."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from vbdesk.service.kernel.errors import QuotaExceeded
from vbdesk.service.storage.spool import TakeBytes

RETRY_AFTER_S = 10
"""Forms in progress usually end within seconds."""


class BytesInFlight:
    """Counts the bytes of partly received forms, per process: their files are on its own disk."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes: Counter[str] = Counter()

    @contextmanager
    def counting(self, account_id: str, quota_bytes: int) -> Iterator[TakeBytes]:
        """Yield a counter for one request's bytes, reset after the block; it raises QuotaExceeded."""
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            with self._lock:
                if self._bytes[account_id] + count > quota_bytes:
                    raise QuotaExceeded(quota_bytes, RETRY_AFTER_S)
                self._bytes[account_id] += count
                taken += count

        try:
            yield take
        finally:
            with self._lock:
                self._bytes[account_id] -= taken
                if not self._bytes[account_id]:
                    del self._bytes[account_id]
