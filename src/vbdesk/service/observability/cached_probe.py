"""Cached answers of slow external checks, with a time limit for callers."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

CHECK_INTERVAL_S = 0.01

T = TypeVar("T")


class CachedProbe(Generic[T]):
    """Answer of a blocking check, at most a few seconds old.

    One thread at a time runs the check and no caller depends on it: an unreachable host can block it for minutes.
    """

    def __init__(self, ask: Callable[[], T], *, good_for_s: float, limit_s: float) -> None:
        """Create the probe; the first `get` runs the check.

        Args:
            ask: the check; may block and may raise.
            good_for_s: age up to which an answer, or an exception, is reused.
            limit_s: how long a caller waits.
        """
        self._ask = ask
        self._good_for_s = good_for_s
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._answer: Future[T] | None = None
        self._asked_at = 0.0

    async def get(self) -> T:
        """Return the answer.

        Raises:
            TimeoutError: it did not come within the limit.
            Exception: what `ask` raised.
        """
        answer = self._current()
        ends_at = time.monotonic() + self._limit_s
        while not answer.done():  # polled, not awaited: the answer may come after this loop is closed
            if time.monotonic() >= ends_at:
                raise TimeoutError
            await asyncio.sleep(CHECK_INTERVAL_S)
        return answer.result()

    def _current(self) -> Future[T]:
        with self._lock:
            answer = self._answer
            if answer is not None and (not answer.done() or time.monotonic() - self._asked_at < self._good_for_s):
                return answer
            answer = self._answer = Future()
            self._asked_at = time.monotonic()
        # A daemon thread: the threads of an executor would delay the end of the process.
        threading.Thread(target=self._find, args=(answer,), name="vbdesk-observe", daemon=True).start()
        return answer

    def _find(self, answer: Future[T]) -> None:
        try:
            answer.set_result(self._ask())
        except Exception as error:
            answer.set_exception(error)
