"""Timeouts for calls into a sound system that may hang, all made by one thread."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CallTimedOut(Exception):
    """A call took too long; the thread goes on with it, and its result is not used."""


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T], undo: Callable[[T], None] | None) -> None:
        self._work, self._undo = work, undo
        self._lock = threading.Lock()
        self._given_up = False
        self.done = threading.Event()
        self.result: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        if self._given_up and self._undo is not None:  # nobody waits, and it would be undone at once
            return
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


class CallThread:
    """Makes calls one after the other in a thread of its own; a call that hangs holds up those after it.

    Windows binds what a thread opens to that thread: the same one has to close it.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[_Call[Any]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._starting = threading.Lock()

    def call_within(self, limit_s: float, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
        """Call `work` in the thread and wait at most `limit_s` for it; at once, if this is the thread.

        Args:
            limit_s: timeout in seconds.
            work: may hang.
            undo: receives a result that came after the timeout; without it, late work is still done.

        Raises:
            CallTimedOut: it takes longer.
            Exception: any exception of `work`.
        """
        if threading.current_thread() is self._thread:
            return work()
        call = _Call(work, undo)
        self._calls.put(call)
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()
        if not call.done.wait(limit_s) and call.give_up():
            raise CallTimedOut
        call.done.wait()
        if call.error is not None:
            raise call.error
        return call.result[0]

    def _run(self) -> None:
        while True:
            self._calls.get().run()
