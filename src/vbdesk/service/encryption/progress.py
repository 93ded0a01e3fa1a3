"""State of the encryption of existing data."""

from datetime import datetime

import sqlalchemy as sa

from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import encryption_state


def completed_at(database: Database) -> datetime | None:
    """Return when all existing data was encrypted; None while something is left."""
    with database.reading() as connection:
        found: datetime | None = connection.execute(sa.select(encryption_state.c.completed_at)).scalar_one_or_none()
    return found


def require_encryption_pass(database: Database) -> None:
    """Make the next start look for plain data, after data was restored or copied."""
    with database.writing() as connection:
        connection.execute(sa.update(encryption_state).values(completed_at=None))
