"""Unit of work: one connection and one transaction per request or job."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from vbdesk.privacy import FILE_MODE, make_private
from vbdesk.service.kernel.db import events
from vbdesk.service.kernel.db.engine import READ_ONLY, create_engine
from vbdesk.service.kernel.settings import Settings

DEADLOCK = "40P01"  # SQLSTATE of PostgreSQL
DEADLOCKS_BORNE = 5

Result = TypeVar("Result")


class Database:
    """Opens transactions.

    Open one inside a route function or a worker thread and close it there. Never hold one across an `await`: waiting
    writers could then use every thread, also the one that the holder needs to continue.

    Attributes:
        listener: receives the events of every transaction after its commit.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.listener: Callable[[events.Event], None] | None = None
        # SQLite allows one writer and lets the others poll, which starves some; a lock queues the threads instead.
        one_writer = engine.dialect.name == "sqlite"
        # At PostgreSQL's default isolation every statement sees its own snapshot, inside a transaction too: BEGIN and
        # COMMIT around reads would cost two round trips and change nothing.
        reading = {READ_ONLY: True} if one_writer else {"isolation_level": "AUTOCOMMIT"}
        readers = engine.execution_options(**reading)
        self._open_to_read = readers.begin if one_writer else readers.connect
        self._turn: AbstractContextManager[object] = threading.Lock() if one_writer else nullcontext()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that commits at the end of the block and rolls back when it raises."""
        with self._turn, self.engine.begin() as connection:
            published = events.begin(connection)
            yield connection
        if self.listener is not None:
            for event in published:
                self.listener(event)

    def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in a writing transaction; retry it when the server ends it by a deadlock.

        For work that finds the groups to lock while it runs, and so cannot take all its locks in one order.
        """
        for _ in range(DEADLOCKS_BORNE):
            try:
                with self.writing() as connection:
                    return work(connection)
            except sa.exc.OperationalError as error:
                if getattr(error.orig, "sqlstate", None) != DEADLOCK:
                    raise
        with self.writing() as connection:
            return work(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection for reading, which waits for no writer; SQLite gives it one snapshot."""
        with self._open_to_read() as connection:
            yield connection

    def scrub(self) -> None:
        """Remove deleted content from SQLite's log, unless readers hold it; PostgreSQL does so later."""
        if self.engine.dialect.name == "sqlite":
            with closing(self.engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def vacuum(self) -> None:
        """Rewrite the database to remove old content from its free pages. On SQLite writers wait."""
        with self._turn, closing(self.engine.raw_connection()) as connection:
            if self.engine.dialect.name == "sqlite":
                connection.cursor().execute("VACUUM")
                return
            connection.rollback()
            connection.driver_connection.autocommit = True  # type: ignore[union-attr]
            try:
                connection.cursor().execute("VACUUM")
            finally:
                connection.driver_connection.autocommit = False  # type: ignore[union-attr]

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def open_database(settings: Settings) -> Database:
    """Open the database of `settings`; create its folder, but not its tables."""
    make_private(settings.data_dir)
    url = sa.make_url(settings.resolved_database_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        with suppress(FileNotFoundError):  # without such a folder SQLite fails below
            Path(url.database).touch(mode=FILE_MODE)  # SQLite's log files follow it
    return Database(create_engine(settings.resolved_database_url))
