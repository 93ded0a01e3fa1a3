"""Exact sliding windows of requests: in memory with SQLite, shared by processes with PostgreSQL."""

import math
from collections import defaultdict, deque
from datetime import datetime
from threading import Lock
from typing import Protocol

import psycopg
import sqlalchemy as sa

from vbdesk.contract.limits import RATE_WINDOW_S
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import is_disk_full

_LOCK_NUMBER = 0x7662_7261_7465  # "vbrate"; advisory locks have numbers for names

# Unlogged: a crash of the server resets the counts of one minute, and no request waits for the disk. The function locks
# its counter first, so that the moments of one counter ascend with their numbers. Another request is within the limit
# exactly when the `at_most`-th request before it has left the window. So the function reads one row for any limit.
_MAKE = (
    """
    CREATE UNLOGGED TABLE IF NOT EXISTS request_counters (
        counter_id bigint GENERATED ALWAYS AS IDENTITY,
        owner varchar(100) NOT NULL,
        bucket varchar(20) NOT NULL,
        requests bigint NOT NULL,
        latest double precision NOT NULL,
        PRIMARY KEY (owner, bucket)
    ) WITH (fillfactor = 50)
    """,
    """
    CREATE UNLOGGED TABLE IF NOT EXISTS request_moments (
        counter_id bigint NOT NULL,
        number bigint NOT NULL,
        moment double precision NOT NULL,
        PRIMARY KEY (counter_id, number)
    )
    """,
    """
    CREATE OR REPLACE FUNCTION count_request(
        its_owner text, its_bucket text, at_most bigint, window_s double precision, given_moment double precision
    ) RETURNS double precision LANGUAGE plpgsql AS $$
    DECLARE
        counter request_counters%ROWTYPE;
        this_moment double precision;
        leaving double precision;
    BEGIN
        LOOP
            SELECT * INTO counter FROM request_counters WHERE owner = its_owner AND bucket = its_bucket FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO request_counters (owner, bucket, requests, latest) VALUES (its_owner, its_bucket, 0, 0)
            ON CONFLICT DO NOTHING;
        END LOOP;
        this_moment := coalesce(given_moment, extract(epoch FROM clock_timestamp()));
        SELECT moment INTO leaving FROM request_moments
        WHERE counter_id = counter.counter_id AND number = counter.requests - at_most;
        IF leaving > this_moment - window_s THEN
            RETURN leaving + window_s - this_moment;
        END IF;
        DELETE FROM request_moments WHERE counter_id = counter.counter_id AND number = counter.requests - at_most;
        INSERT INTO request_moments VALUES (counter.counter_id, counter.requests, this_moment);
        UPDATE request_counters SET requests = requests + 1, latest = this_moment
        WHERE owner = its_owner AND bucket = its_bucket;
        RETURN 0;
    END $$
    """,
)
_COUNT = "SELECT count_request(%s, %s, %s, %s, %s::double precision)"
_COUNTED = sa.text(
    "SELECT count(*) FROM request_moments JOIN request_counters USING (counter_id) "
    "WHERE owner = :owner AND bucket = :bucket AND moment > :after"
)
_REMOVE_PAST = sa.text(
    "WITH past AS (DELETE FROM request_counters WHERE latest <= "
    "coalesce(CAST(:moment AS double precision), extract(epoch FROM clock_timestamp())) - :window_s "
    "RETURNING counter_id) "
    "DELETE FROM request_moments USING past WHERE request_moments.counter_id = past.counter_id"
)


class RateWindows(Protocol):
    """Counts requests per owner and bucket, exactly."""

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`.

        Returns 0 when it is within `limit`; otherwise the seconds, rounded up, until the oldest counted request leaves
        the window. A refused request is not counted.
        """
        ...

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Return the requests of `owner` in the window that ends at `now`."""
        ...

    def remove_past(self, now: datetime) -> None:
        """Remove expired counters, which would otherwise accumulate per address."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class MemoryRateWindows:
    """Counts requests per owner and bucket; a restart resets the counts, which last a minute anyway."""

    def __init__(self, window_s: float = RATE_WINDOW_S) -> None:
        self._window_s = window_s
        self._moments: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)  # ascending
        self._lock = Lock()

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`; see `RateWindows.hit`."""
        moment = now.timestamp()
        with self._lock:
            counted = self._moments[owner, bucket]
            while counted and counted[0] <= moment - self._window_s:
                counted.popleft()
            if len(counted) >= limit:
                leaves_at = counted[len(counted) - limit] + self._window_s
                return max(1, min(math.ceil(leaves_at - moment), math.ceil(self._window_s)))
            counted.append(moment)
            if len(counted) > 1 and moment < counted[-2]:  # the clock was set back
                self._moments[owner, bucket] = deque(sorted(counted))
            return 0

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Return the requests of `owner` in the window that ends at `now`."""
        with self._lock:
            return sum(moment > now.timestamp() - self._window_s for moment in self._moments.get((owner, bucket), ()))

    def remove_past(self, now: datetime) -> None:
        """Remove expired counters, which would otherwise accumulate per address."""
        before = now.timestamp() - self._window_s
        with self._lock:
            past = [key for key, moments in self._moments.items() if not moments or moments[-1] <= before]
            for key in past:
                del self._moments[key]

    def close(self) -> None:
        """Do nothing: no resource is held open."""


class SharedRateWindows:
    """Counts requests per owner and bucket in PostgreSQL, across threads, processes and machines."""

    def __init__(self, database: Database, window_s: float = RATE_WINDOW_S, *, servers_clock: bool = False) -> None:
        """Count in `database`, which `close` closes.

        Args:
            database: of a PostgreSQL server.
            window_s: length of the window.
            servers_clock: use the server's time instead of `now`, since the clocks of machines differ.
        """
        self._database = database
        self._one_by_one = database.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._window_s = window_s
        self._servers_clock = servers_clock
        self._own = MemoryRateWindows(window_s)

    def create_tables(self) -> None:
        """Create the tables and the function; concurrent processes take turns."""
        with self._database.writing() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
            for statement in _MAKE:
                connection.execute(sa.text(statement))

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`; see `RateWindows.hit`.

        When the server's disk is full it cannot count, but reads still work: this process then counts its own requests
        in memory.
        """
        try:
            wait_s = self._count((owner, bucket, limit, self._window_s, self._moment(now)))
        except sa.exc.OperationalError as error:
            if not is_disk_full(error):
                raise
            return self._own.hit(owner, bucket, limit, now)
        return max(1, min(math.ceil(wait_s), math.ceil(self._window_s))) if wait_s else 0

    def _moment(self, now: datetime) -> float | None:
        return None if self._servers_clock else now.timestamp()

    def _count(self, request: tuple[object, ...]) -> float:
        """Call the driver directly: every request does this, and SQLAlchemy would take longer than the query."""
        pooled = self._database.engine.raw_connection()
        try:
            connection: psycopg.Connection[tuple[float]] = pooled.driver_connection  # type: ignore[assignment]
            connection.autocommit = True
            row = connection.execute(_COUNT, request).fetchone()
            connection.autocommit = False
        except psycopg.Error as error:
            pooled.invalidate(error)
            raise sa.exc.OperationalError(_COUNT, None, error, hide_parameters=True) from error
        finally:
            pooled.close()
        return row[0] if row else 0.0

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Return the requests of `owner` in the window that ends at `now`."""
        asked = {"owner": owner, "bucket": bucket, "after": now.timestamp() - self._window_s}
        with self._one_by_one.connect() as connection:
            count: int = connection.execute(_COUNTED, asked).scalar_one()
        return count

    def remove_past(self, now: datetime) -> None:
        """Remove expired counters, which would otherwise accumulate per address."""
        self._own.remove_past(now)
        with self._one_by_one.connect() as connection:
            connection.execute(_REMOVE_PAST, {"moment": self._moment(now), "window_s": self._window_s})

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
