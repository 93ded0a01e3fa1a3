"""Timeouts for calls into a sound system that may hang."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class CallTimedOut(Exception):
    """A call took too long; its thread continues, and its result is not used."""


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T], undo: Callable[[T], None] | None) -> None:
        self._work, self._undo = work, undo
        self._lock = threading.Lock()
        self._given_up = False
        self.done = threading.Event()
        self.result: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            result = self._work()
        except BaseException as error:  # raised again in the caller
            self.error = error
        else:
            with self._lock:
                late = self._given_up
                self.result.append(result)
            if late and self._undo is not None:
                self._undo(result)
        self.done.set()

    def give_up(self) -> bool:
        """Whether there is still no answer; a later one is undone."""
        with self._lock:
            self._given_up = not self.result and self.error is None
            return self._given_up


def call_within(limit_s: float, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Call `work` in a thread and wait at most `limit_s` for it.

    Args:
        limit_s: timeout in seconds.
        work: may hang.
        undo: receives a result that came after the timeout.

    Raises:
        CallTimedOut: it takes longer.
        Exception: any exception of `work`.
    """
    call = _Call(work, undo)
    threading.Thread(target=call.run, name="sound-system", daemon=True).start()
    if not call.done.wait(limit_s) and call.give_up():
        raise CallTimedOut
    call.done.wait()
    if call.error is not None:
        raise call.error
    return call.result[0]
