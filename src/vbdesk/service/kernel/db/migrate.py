"""Migration of a database to the current tables, at every start, also while others use it."""

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

from vbdesk.language import N_, message, message_of
from vbdesk.privacy import FILE_MODE
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.session import DEADLOCK, Database
from vbdesk.service.kernel.db.tables import schema_floor

if TYPE_CHECKING:
    from alembic.config import Config

REVISION = "0014"
"""The newest migration. Revisions are four-digit numbers, so that they can be compared."""

OLDEST = "0013"
"""The revision of the oldest databases that are migrated; nothing was released before."""

LOCK_TIMEOUT_S = 2.0
"""How long a migration waits for a table lock. Every request for that table waits behind it."""

TRIES = 20
PAUSE_S = 1.0  # pause between two tries, in which requests continue

_LOCK_FILE = "migrate.lock"
_LOCK_NUMBER = 0x7662_6465_736B  # "vbdesk"; advisory locks have numbers for names
_TURN_EVERY_S = 0.2
_BUSY = frozenset({"55P03", DEADLOCK})  # SQLSTATE of PostgreSQL: lock timeout, deadlock
_VERSION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32)),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

log = logging.getLogger(__name__)


class MigrationFailed(Exception):
    """The schema cannot be migrated: too new, too old, unknown, or too busy. The message is one sentence."""


class SchemaState(StrEnum):
    """State of a database's schema, compared with this code."""

    EMPTY = "empty"
    BEHIND = "behind"
    CURRENT = "current"
    AHEAD = "ahead"
    TOO_NEW = "too-new"


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """The schema of a database.

    Attributes:
        state: Comparison with this code; `ahead` is a newer schema that this code may still use.
        revision: The schema's revision; None where there are no tables yet.
        code_revision: The newest revision that this code knows.
        oldest_revision: The oldest code revision that may use this schema; None in schemas that do not store it.
    """

    state: SchemaState
    revision: str | None
    code_revision: str
    oldest_revision: str | None


def status(connection: Connection) -> SchemaStatus:
    """Read the schema's state without changing it."""
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
    """Apply missing migrations; concurrent processes take turns.

    A newer schema that this code may still use stays as it is. On PostgreSQL each migration is a separate transaction
    with a lock timeout: it gives up, so that other users of its tables do not wait, and is retried.

    Raises:
        MigrationFailed: the migrations cannot be applied.
    """
    if database.engine.dialect.name == "sqlite":
        with FileLock(data_dir / _LOCK_FILE, mode=FILE_MODE), database.writing() as connection:
            _migrate(connection, _state_to_change(connection))
        return
    for _ in range(TRIES):
        try:
            _take_turn_and_migrate(database)
            return
        except sa.exc.OperationalError as error:
            if getattr(error.orig, "sqlstate", None) not in _BUSY:
                raise
            log.info("The database is busy; the migration is retried shortly.")
        time.sleep(PAUSE_S)
    raise MigrationFailed(
        N_(
            "A long transaction holds tables that must be migrated. Other users were not blocked. End it, or start "
            "again "
            "after it."
        )
    )


def configuration() -> "Config":
    """Return Alembic's configuration with the folder of the migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", (Path(__file__).parent / "migrations").as_posix().replace("%", "%%"))
    return config


def _take_turn_and_migrate(database: Database) -> None:
    """Check on a server without the lock; if behind, take the lock, check again, migrate."""
    with database.engine.connect() as connection:
        state = _state_to_change(connection)
        connection.rollback()
        if state is None:
            return
        with _turn(connection):
            state = _state_to_change(connection)
            connection.rollback()
            connection.execute(sa.select(sa.func.set_config("lock_timeout", f"{LOCK_TIMEOUT_S}s", False)))
            connection.commit()
            _migrate(connection, state)
            connection.commit()


@contextmanager
def _turn(connection: Connection) -> Iterator[None]:
    """Hold the migration lock of this database.

    The lock is polled between transactions. Waiting for it inside a transaction would block `CREATE INDEX CONCURRENTLY`
    of the process that holds it: a deadlock.
    """
    number = sa.literal(_LOCK_NUMBER, sa.BigInteger)
    while not connection.execute(sa.select(sa.func.pg_try_advisory_lock(number))).scalar_one():
        connection.rollback()
        time.sleep(_TURN_EVERY_S)
    connection.commit()
    try:
        yield
    finally:
        # The session's lock and setting must not go back to the pool; closing the connection ends both.
        connection.invalidate()


def _state_to_change(connection: Connection) -> SchemaState | None:
    """Return the state of a schema that is empty or behind; None if it stays as it is. Raises MigrationFailed."""
    found = status(connection)
    if found.state is SchemaState.TOO_NEW:
        raise MigrationFailed(
            message(
                "The database has schema {found}, which needs a newer vbdesk than this one ({own}). Start a newer "
                "vbdesk, or restore a backup.",
                found=found.revision,
                own=REVISION,
            )
        )
    if found.revision is not None and found.revision < OLDEST:
        raise MigrationFailed(
            message(
                "The database has schema {found}, from before the first release of vbdesk, and this version cannot use "
                "it. Nothing was changed.",
                found=found.revision,
            )
        )
    return found.state if found.state in (SchemaState.EMPTY, SchemaState.BEHIND) else None


def _migrate(connection: Connection, state: SchemaState | None) -> None:
    if state is None:
        return
    if state is SchemaState.EMPTY:
        _create(connection)
        return
    # A late import: Alembic needs as much time and memory as the rest of an operator's command.
    from alembic import command
    from alembic.util import CommandError

    config = configuration()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise MigrationFailed(message_of(error)) from None


def _create(connection: Connection) -> None:
    """Make the present tables in an empty database, in the caller's transaction."""
    metadata.create_all(connection)
    _VERSION.create(connection, checkfirst=True)
    connection.execute(_VERSION.insert().values(version_num=REVISION))
    connection.execute(schema_floor.insert().values(oldest_revision=OLDEST))
