"""Clock shared by the processes of one database."""

from datetime import UTC, datetime
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.clock import Clock


class SharedTime(Protocol):
    """Clock for heartbeats and leases."""

    def now(self, connection: Connection) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        ...


class DatabaseTime:
    """PostgreSQL server's clock: machine clocks differ, and a slow clock must not make an executor look dead."""

    def now(self, connection: Connection) -> datetime:
        """Return the current time, not the transaction's start."""
        now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return now.astimezone(UTC)


class ProcessTime:
    """This process's clock, for a folder that one process serves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self, connection: Connection) -> datetime:
        """Return the current time."""
        return self._clock.now()
