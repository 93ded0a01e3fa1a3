"""Limits on the time of calls that a hanging sound system may never answer."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class NoAnswer(Exception):
    """A call took longer than it may; it goes on in a thread of its own, and nobody waits for it."""


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
        except BaseException as error:  # handed to the caller, whatever it is
            self.error = error
        else:
            with self._lock:
                late = self._given_up
                self.result.append(result)
            if late and self._undo is not None:
                self._undo(result)
        self.done.set()

    def give_up(self) -> bool:
        """Whether there is still no answer."""
        with self._lock:
            self._given_up = not self.result and self.error is None
            return self._given_up


def within(limit_s: float, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Call `work` in a thread and wait at most `limit_s` for it.

    Args:
        limit_s: seconds.
        work: may hang.
        undo: gets the result of a call that nobody waited for any more.

    Raises:
        NoAnswer: it takes longer.
        Exception: whatever `work` raises.
    """
    call = _Call(work, undo)
    threading.Thread(target=call.run, name="sound-system", daemon=True).start()
    if not call.done.wait(limit_s) and call.give_up():
        raise NoAnswer
    call.done.wait()
    if call.error is not None:
        raise call.error
    return call.result[0]
