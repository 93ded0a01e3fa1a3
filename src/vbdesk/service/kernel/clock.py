"""What time it is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of the present moment."""

    def now(self) -> datetime:
        """The present as an aware datetime in UTC."""
        ...


class SystemClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """The present as an aware datetime in UTC."""
        return datetime.now(UTC)
