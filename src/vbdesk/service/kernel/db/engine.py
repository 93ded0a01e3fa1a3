"""SQLAlchemy engines; SQLite is configured for durability and concurrency."""

import sqlite3
from typing import Any, Literal

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import Pool

from vbdesk.clock import SystemClock

READ_ONLY = "vbdesk_read_only"
"""Execution option of a connection that only reads; its transaction takes no write lock on SQLite."""

BUSY_TIMEOUT_S = 30

SERVER_WAIT = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,  # ms
}
"""Timeouts in seconds for a server that stopped answering; with TCP's defaults they are many minutes."""


def create_engine(url: str, *, synchronous: Literal["FULL", "OFF"] = "FULL") -> sa.Engine:
    """Create an engine for `url`.

    SQLite gets a write-ahead log, foreign keys, overwriting of deleted content, and a long busy timeout. Writers use
    `BEGIN IMMEDIATE`, so that a transaction which reads first and writes later cannot fail half-way. `synchronous` is
    FULL for data that must survive a power cut, OFF for data that may be lost with it.
    """
    if sa.make_url(url).get_backend_name() != "sqlite":
        return _server_engine(url)
    engine = sa.create_engine(
        url,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        pool_size=10,
        max_overflow=50,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the `begin` listener starts transactions, not the driver
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get(READ_ONLY, False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _server_engine(url: str) -> sa.Engine:
    engine = sa.create_engine(url, connect_args=SERVER_WAIT, pool_size=10, max_overflow=20, hide_parameters=True)

    @event.listens_for(engine, "checkout")
    def _require_open(connection: Any, _record: Any, _proxy: Any) -> None:
        """Check the socket for a closed connection; asking the server would cost a round trip per request."""
        try:
            connection.pgconn.consume_input()  # the server's last message, if it ended
            connection.pgconn.consume_input()  # then the end of the stream
        except psycopg.Error:
            raise sa.exc.InvalidatePoolError from None

    return engine


KNOWS_SUBSEC = (3, 42, 0)
_SUBSECOND = {"subsec", "subsecond"}


def supply_functions(connection: Any, _record: object = None) -> None:
    """Add the missing functions to a new connection; does nothing for another database or a newer SQLite."""
    if isinstance(connection, sqlite3.Connection) and sqlite3.sqlite_version_info < KNOWS_SUBSEC:
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(modifier: object) -> float:
    """Seconds since 1970, to the millisecond. This replaces SQLite's own function of one argument.

    Raises:
        ValueError: another argument than `subsec`; nothing in this service asks for one.
    """
    if modifier not in _SUBSECOND:
        raise ValueError(f"unixepoch({modifier!r}) is not supplied.")
    return round(SystemClock().now().timestamp(), 3)


event.listen(Pool, "connect", supply_functions)
