"""Bringing a database to the present tables, at every start."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from filelock import FileLock

from vbdesk.service.db.session import Database

_LOCK_FILE = "migrate.lock"
_LOCK_NUMBER = 0x7662_6465_736B  # "vbdesk"; advisory locks have numbers for names


def upgrade(database: Database, data_dir: Path) -> None:
    """Apply the migrations that are missing, in one transaction; processes of one folder or server take turns."""
    with FileLock(data_dir / _LOCK_FILE), database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def configuration() -> Config:
    """Alembic's configuration: where the migrations lie."""
    config = Config()
    config.set_main_option("script_location", (Path(__file__).parent / "migrations").as_posix().replace("%", "%%"))
    return config
