"""Time behind one Protocol, so that tests need not wait."""

import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol

from vbdesk.boot_clock import BootTime, boot_time


def utc_now() -> datetime:
    """Read the time of day, in UTC: the one place that asks the system for it."""
    return datetime.now(UTC)


def local_now() -> datetime:
    """Read the time of day, in this computer's time zone."""
    return utc_now().astimezone()


class CancelFlag(Protocol):
    """A flag that a caller sets to stop a long call; `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set or `timeout` seconds are over."""
        ...


class Clock(Protocol):
    """The time of day, a monotonic count of seconds, and a wait."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since a fixed moment; never decreases."""
        ...

    def boot(self) -> BootTime:
        """The time since the computer started, sleep included."""
        ...

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Wait for `seconds`, or until `cancel` is set."""
        ...


class SystemClock:
    """The clocks of this computer."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return utc_now()

    def monotonic(self) -> float:
        """Seconds since a fixed moment; never decreases."""
        return time.monotonic()

    def boot(self) -> BootTime:
        """The time since the computer started, sleep included."""
        return boot_time()

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Wait for `seconds`, or until `cancel` is set."""
        if cancel is None:
            time.sleep(seconds)
        else:
            cancel.wait(seconds)


class ManualClock:
    """A clock for tests: only `advance` and `sleep` move it, and `sleep` returns at once.

    Attributes:
        waits: the seconds of every `sleep`.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._start = start
        self._elapsed_s = 0.0
        self._boot_id = str(uuid.uuid4())
        self.waits: list[float] = []

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed_s

    def boot(self) -> BootTime:
        """Seconds since the clock was made."""
        return BootTime(self._boot_id, self._elapsed_s)

    def sleep(self, seconds: float, cancel: CancelFlag | None = None) -> None:
        """Advance by `seconds`, unless `cancel` is set."""
        if cancel is None or not cancel.is_set():
            self.waits.append(seconds)
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        with self._lock:
            self._elapsed_s += seconds
