"""Time for the client: how it passes and how to wait, so that tests need not."""

import time
from typing import Protocol


class CancelFlag(Protocol):
    """What a caller sets to stop a long call; `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until set or the time is over."""
        ...


class Timekeeper(Protocol):
    """A monotonic clock that can wait."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Wait, but no longer than until `cancel` is set."""
        ...


class SystemTimekeeper:
    """Real time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Wait, but no longer than until `cancel` is set."""
        if cancel is None:
            time.sleep(seconds)
        else:
            cancel.wait(seconds)


class SkippingTimekeeper:
    """Twin that never waits: its own time jumps ahead instead.

    Attributes:
        waits: every wait asked for, in seconds.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        """Seconds waited so far."""
        return self._now

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Jump ahead, unless `cancel` is set."""
        if cancel is None or not cancel.is_set():
            self.waits.append(seconds)
            self._now += seconds
