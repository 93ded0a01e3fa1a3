"""Unit of work: one connection and one transaction per request or job."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from vbdesk.language import message
from vbdesk.privacy import FILE_MODE, make_private
from vbdesk.service.kernel.db import events
from vbdesk.service.kernel.db.engine import READ_ONLY, create_engine
from vbdesk.service.kernel.settings import Settings
from vbdesk.sqlite_files import orphaned_log

DEADLOCK = "40P01"  # SQLSTATE of PostgreSQL
DEADLOCKS_BORNE = 5

Result = TypeVar("Result")


class DatabaseMissing(Exception):
    """The database is not where its log is; the message is for the operator."""


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
    """Open the database of `settings`; create its folder, but not its tables.

    Raises:
        DatabaseMissing: its file is missing or empty, but its log is there.
        OSError: its folder cannot be used.
    """
    make_private(settings.data_dir)
    file = sqlite_file(settings)
    if file is not None:
        refuse_orphaned_log(file)
        with suppress(FileNotFoundError):  # without such a folder SQLite fails below
            file.touch(mode=FILE_MODE)  # SQLite's log files follow it
    return Database(create_engine(settings.resolved_database_url))


def sqlite_file(settings: Settings) -> Path | None:
    """The file of an SQLite database; None for a server."""
    url = sa.make_url(settings.resolved_database_url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    return Path(url.database)


def refuse_orphaned_log(file: Path) -> None:
    """Raise DatabaseMissing if only the log of a database is there: SQLite would delete the log, and jobs with it."""
    log = orphaned_log(file)
    if log is not None:
        raise DatabaseMissing(
            message(
                "{file} is missing or empty, but its log {log} holds accepted jobs. Put the database back beside the "
                "log. To continue without them, move the log away first.",
                file=file,
                log=log.name,
            )
        )


def database_fault(settings: Settings, error: Exception) -> str:
    """One sentence about a database that cannot be used; never the error's text, which may hold its password."""
    kind, file = type(error).__name__, sqlite_file(settings)
    if file is not None:
        return message(
            "The database {file} cannot be read ({kind}). If it is damaged, restore it from a backup.",
            file=file,
            kind=kind,
        )
    return message(
        "The database does not answer ({kind}). Check that it runs, and that database_url and the password are right.",
        kind=kind,
    )


def insert_into(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that supports `on_conflict`, which SQLAlchemy's generic insert lacks."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
