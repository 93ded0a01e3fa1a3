"""The time that the processes of one database agree upon."""

from datetime import UTC, datetime
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.clock import Clock


class SharedTime(Protocol):
    """What heartbeats and leases are measured by."""

    def now(self, connection: Connection) -> datetime:
        """The present as an aware datetime in UTC."""
        ...


class DatabaseTime:
    """The clock of a PostgreSQL server: those of the machines around it differ, and who is late must not look dead."""

    def now(self, connection: Connection) -> datetime:
        """The present, also in the middle of a transaction."""
        now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return now.astimezone(UTC)


class ProcessTime:
    """This process's own clock, where one process serves a folder."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self, connection: Connection) -> datetime:
        """The present."""
        return self._clock.now()
