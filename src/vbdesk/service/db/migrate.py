"""Bringing a database to the present tables, at every start."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from filelock import FileLock
from sqlalchemy import Connection

from vbdesk.service.db.session import Database

if TYPE_CHECKING:
    from alembic.config import Config

REVISION = "0002"
"""The newest of the migrations."""

_LOCK_FILE = "migrate.lock"
_LOCK_NUMBER = 0x7662_6465_736B  # "vbdesk"; advisory locks have numbers for names
_VERSION = sa.table("alembic_version", sa.column("version_num"))


class MigrationFailed(Exception):
    """The migrations do not lead from this database's tables to the present ones: it is newer, or not ours."""


def upgrade(database: Database, data_dir: Path) -> None:
    """Apply the migrations that are missing, in one transaction; processes of one folder or server take turns.

    Raises:
        MigrationFailed: they cannot be applied.
    """
    with FileLock(data_dir / _LOCK_FILE), database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
        if not _is_current(connection):
            _migrate(connection)


def configuration() -> "Config":
    """Alembic's configuration: where the migrations lie."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", (Path(__file__).parent / "migrations").as_posix().replace("%", "%%"))
    return config


def _is_current(connection: Connection) -> bool:
    if not sa.inspect(connection).has_table(_VERSION.name):
        return False
    return connection.execute(sa.select(_VERSION.c.version_num)).scalars().all() == [REVISION]


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
