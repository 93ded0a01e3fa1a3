"""Exact sliding windows that processes share: the moments of the counted requests, packed into one row per counter."""

import math
import struct
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from vbdesk.contract.limits import RATE_WINDOW_S
from vbdesk.service.db.session import Database
from vbdesk.service.db.upsert import insert_into

rate_metadata = sa.MetaData()

rate_windows = sa.Table(
    "request_windows",
    rate_metadata,
    sa.Column("owner", sa.String(100), primary_key=True),
    sa.Column("bucket", sa.String(20), primary_key=True),
    sa.Column("moments", sa.LargeBinary, nullable=False),
    sa.Column("latest", sa.Double, nullable=False),
)
"""`moments`: little-endian doubles, seconds since 1970, ascending; `latest`: the last of them."""


class RateWindows(Protocol):
    """Counts requests per owner and bucket, exactly."""

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`.

        Returns 0 when it is within `limit`; otherwise the whole seconds, rounded up, until the oldest counted request
        leaves the window. A refused request is not counted.
        """
        ...

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Requests of `owner` in the window that ends at `now`."""
        ...

    def remove_past(self, now: datetime) -> None:
        """Remove counters that count nothing any more, lest strangers' addresses pile up."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class SharedRateWindows:
    """Counts requests per owner and bucket in a database, across threads and processes."""

    def __init__(self, database: Database, window_s: float = RATE_WINDOW_S) -> None:
        self._database = database
        self._window_s = window_s

    def create_tables(self) -> None:
        """Make the table if it is not there."""
        rate_metadata.create_all(self._database.engine)

    def hit(self, owner: str, bucket: str, limit: int, now: datetime) -> int:
        """Count one request of `owner` at `now`; see `RateWindows.hit`."""
        moment = now.timestamp()
        key = (rate_windows.c.owner == owner) & (rate_windows.c.bucket == bucket)
        with self._database.writing() as connection:
            self._ensure_row(connection, owner, bucket)
            packed = connection.execute(sa.select(rate_windows.c.moments).where(key).with_for_update()).scalar_one()
            counted = [earlier for earlier in _unpack(packed) if earlier > moment - self._window_s]
            if len(counted) >= limit:
                leaves_at = counted[len(counted) - limit] + self._window_s
                return max(1, min(math.ceil(leaves_at - moment), math.ceil(self._window_s)))
            counted.append(moment)
            counted.sort()
            connection.execute(sa.update(rate_windows).where(key).values(moments=_pack(counted), latest=counted[-1]))
            return 0

    def counted(self, owner: str, bucket: str, now: datetime) -> int:
        """Requests of `owner` in the window that ends at `now`."""
        key = (rate_windows.c.owner == owner) & (rate_windows.c.bucket == bucket)
        with self._database.reading() as connection:
            packed = connection.execute(sa.select(rate_windows.c.moments).where(key)).scalar_one_or_none()
        return sum(moment > now.timestamp() - self._window_s for moment in _unpack(packed or b""))

    def remove_past(self, now: datetime) -> None:
        """Remove counters that count nothing any more, lest strangers' addresses pile up."""
        past = rate_windows.c.latest <= now.timestamp() - self._window_s
        with self._database.writing() as connection:
            connection.execute(sa.delete(rate_windows).where(past))

    def _ensure_row(self, connection: sa.Connection, owner: str, bucket: str) -> None:
        row = {"owner": owner, "bucket": bucket, "moments": b"", "latest": 0.0}
        connection.execute(insert_into(connection, rate_windows).values(row).on_conflict_do_nothing())

    def close(self) -> None:
        """Close the connections."""
        self._database.close()


def _unpack(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 8}d", packed)


def _pack(moments: list[float]) -> bytes:
    return struct.pack(f"<{len(moments)}d", *moments)
