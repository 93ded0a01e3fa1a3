"""Bringing a database to the present tables, at every start, also while other processes use it."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from filelock import FileLock
from sqlalchemy import Connection

from vbdesk.privacy import FILE_MODE
from vbdesk.service.kernel.db.schema import schema_floor
from vbdesk.service.kernel.db.session import DEADLOCK, Database

if TYPE_CHECKING:
    from alembic.config import Config

REVISION = "0010"
"""The newest of the migrations. Revisions are numbers of four digits, so that they can be compared."""

LOCK_TIMEOUT_S = 2.0
"""How long a step may wait for a table. As long every request for that table waits behind it."""

TRIES = 20
PAUSE_S = 1.0  # between two tries, in which requests go on

_LOCK_FILE = "migrate.lock"
_LOCK_NUMBER = 0x7662_6465_736B  # "vbdesk"; advisory locks have numbers for names
_TURN_EVERY_S = 0.2
_BUSY = frozenset({"55P03", DEADLOCK})  # PostgreSQL's name for a lock that was not had in time, or never could be
_VERSION = sa.table("alembic_version", sa.column("version_num"))

log = logging.getLogger(__name__)


class MigrationFailed(Exception):
    """The database cannot be brought to the present tables: it is too new, not ours, or too busy. One sentence."""


class SchemaState(StrEnum):
    """How a database stands to this code."""

    EMPTY = "empty"
    BEHIND = "behind"
    CURRENT = "current"
    AHEAD = "ahead"
    TOO_NEW = "too-new"


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """What the database says of its schema.

    Attributes:
        state: How it stands to this code; `ahead` is a newer schema that this code may still use.
        revision: The schema's; None where there are no tables yet.
        code_revision: The newest that this code knows.
        oldest_revision: The oldest code that this schema serves; None before schemas said so.
    """

    state: SchemaState
    revision: str | None
    code_revision: str
    oldest_revision: str | None


def status(connection: Connection) -> SchemaStatus:
    """Look at the schema without changing it."""
    tables = sa.inspect(connection)
    if not tables.has_table(_VERSION.name):
        return SchemaStatus(SchemaState.EMPTY, None, REVISION, None)
    revision = connection.execute(sa.select(sa.func.max(_VERSION.c.version_num))).scalar_one()
    oldest: str | None = None
    if tables.has_table(schema_floor.name):
        oldest = connection.execute(sa.select(sa.func.max(schema_floor.c.oldest_revision))).scalar_one()
    return SchemaStatus(_state(revision, oldest), revision, REVISION, oldest)


def _state(revision: str | None, oldest: str | None) -> SchemaState:
    if revision is None:
        return SchemaState.EMPTY
    if revision <= REVISION:
        return SchemaState.CURRENT if revision == REVISION else SchemaState.BEHIND
    return SchemaState.AHEAD if oldest is not None and oldest <= REVISION else SchemaState.TOO_NEW


def upgrade(database: Database, data_dir: Path) -> None:
    """Apply the migrations that are missing; processes of one folder or server take turns.

    A newer schema that still serves this code is left as it is. On PostgreSQL each migration is a transaction of its
    own that gives up rather than hold up others who use its tables, and is tried again.

    Raises:
        MigrationFailed: they cannot be applied.
    """
    if database.engine.dialect.name == "sqlite":
        with FileLock(data_dir / _LOCK_FILE, mode=FILE_MODE), database.writing() as connection:
            if _is_behind(connection):
                _migrate(connection)
        return
    for _ in range(TRIES):
        try:
            _take_turn_and_migrate(database)
            return
        except sa.exc.OperationalError as error:
            if getattr(error.orig, "sqlstate", None) not in _BUSY:
                raise
            log.info("The database is busy; its tables are brought up to date in a moment.")
        time.sleep(PAUSE_S)
    raise MigrationFailed(
        "A long transaction holds tables that must be brought up to date. Nothing was held up; end it, or start again "
        "when it is over."
    )


def configuration() -> "Config":
    """Alembic's configuration: where the migrations lie."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", (Path(__file__).parent / "migrations").as_posix().replace("%", "%%"))
    return config


def _take_turn_and_migrate(database: Database) -> None:
    """On a server: look first, then take the lock, look again, migrate."""
    with database.engine.connect() as connection:
        behind = _is_behind(connection)
        connection.rollback()
        if not behind:
            return
        with _turn(connection):
            if _is_behind(connection):
                connection.rollback()
                connection.execute(sa.select(sa.func.set_config("lock_timeout", f"{LOCK_TIMEOUT_S}s", False)))
                connection.commit()
                _migrate(connection)


@contextmanager
def _turn(connection: Connection) -> Iterator[None]:
    """Hold the lock of all who migrate this database.

    It is asked for again and again, between transactions: one that waited inside a transaction would hold up an index
    that is made beside it, and that index the lock.
    """
    number = sa.literal(_LOCK_NUMBER, sa.BigInteger)
    while not connection.execute(sa.select(sa.func.pg_try_advisory_lock(number))).scalar_one():
        connection.rollback()
        time.sleep(_TURN_EVERY_S)
    connection.commit()
    try:
        yield
    finally:
        # The session's lock and setting must not go back to the pool; closing the connection to the server ends both.
        connection.invalidate()


def _is_behind(connection: Connection) -> bool:
    """Whether migrations are missing. Raises MigrationFailed."""
    found = status(connection)
    if found.state is SchemaState.TOO_NEW:
        raise MigrationFailed(
            f"The database has schema {found.revision}, which serves no vbdesk as old as this one ({REVISION}). "
            "Start a newer vbdesk, or restore a backup."
        )
    return found.state in (SchemaState.EMPTY, SchemaState.BEHIND)


def _migrate(connection: Connection) -> None:
    # Imported here, for it takes as long and as much memory as the rest of an operator's command.
    from alembic import command
    from alembic.util import CommandError

    config = configuration()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise MigrationFailed(str(error)) from None
