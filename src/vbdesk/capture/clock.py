"""Time behind a Protocol, so that tests need not wait."""

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from vbdesk.capture.boot_clock import BootTime, boot_time
from vbdesk.contract.ids import new_id


class Clock(Protocol):
    """The time of day, and a steady count of seconds."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    def boot(self) -> BootTime:
        """The time since the computer started, sleep included."""


class SystemClock:
    """The computer's clocks."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def boot(self) -> BootTime:
        """The time since the computer started, sleep included."""
        return boot_time()


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._start = start
        self._elapsed_s = 0.0
        self._boot_id = new_id()

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed_s

    def boot(self) -> BootTime:
        """Seconds since the clock was made."""
        return BootTime(self._boot_id, self._elapsed_s)

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        with self._lock:
            self._elapsed_s += seconds
