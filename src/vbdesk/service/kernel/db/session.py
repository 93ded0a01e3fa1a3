"""The unit of work: one connection and one transaction, opened and committed at the boundary of a request or job."""

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

DEADLOCK = "40P01"  # PostgreSQL's name for it
DEADLOCKS_BORNE = 5

Result = TypeVar("Result")


class Database:
    """Hands out transactions.

    Open one inside a route function or a worker thread and close it there; never hold one across an `await`: waiting
    writers could then occupy every thread that the holder needs to go on.

    Attributes:
        listener: receives the events of every transaction once it is committed.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.listener: Callable[[events.Event], None] | None = None
        # SQLite lets one write at a time and has the others poll, which starves some of them; threads queue up instead.
        one_writer = engine.dialect.name == "sqlite"
        # PostgreSQL gives every statement its own view inside a transaction too, at its default isolation: to begin and
        # end one around reads would cost two round trips and change nothing.
        reading = {READ_ONLY: True} if one_writer else {"isolation_level": "AUTOCOMMIT"}
        readers = engine.execution_options(**reading)
        self._open_to_read = readers.begin if one_writer else readers.connect
        self._turn: AbstractContextManager[object] = threading.Lock() if one_writer else nullcontext()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that commits at the end of the block and rolls back when it raises."""
        with self._turn, self.engine.begin() as connection:
            published = events.begin(connection)
            yield connection
        if self.listener is not None:
            for event in published:
                self.listener(event)

    def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Do `work` in a writing transaction, and anew when the server ended it as one side of a deadlock.

        For work that locks groups which it finds on its way, and so cannot take all its locks in one order.
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
        """A connection for reading, which waits for no writer; on SQLite all it reads is of one moment."""
        with self._open_to_read() as connection:
            yield connection

    def scrub(self) -> None:
        """Let what was deleted vanish from SQLite's log too, as far as readers let it; servers do so in time."""
        if self.engine.dialect.name == "sqlite":
            with closing(self.engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def vacuum(self) -> None:
        """Rewrite the database, so that what was replaced is not in its free pages any more. On SQLite writers wait."""
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
    """The database of `settings`; its folder is made, its tables are the migrations' affair."""
    make_private(settings.data_dir)
    url = sa.make_url(settings.resolved_database_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        with suppress(FileNotFoundError):  # there is no such folder, as SQLite will say
            Path(url.database).touch(mode=FILE_MODE)  # SQLite's log files follow it
    return Database(create_engine(settings.resolved_database_url))
