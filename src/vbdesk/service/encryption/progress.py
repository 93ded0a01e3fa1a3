"""How far the encryption of existing data has come."""

from datetime import datetime

import sqlalchemy as sa

from vbdesk.service.kernel.db.encryption import encryption_state
from vbdesk.service.kernel.db.session import Database


def completed_at(database: Database) -> datetime | None:
    """When everything from before the key was encrypted; None as long as something is left."""
    with database.reading() as connection:
        found: datetime | None = connection.execute(sa.select(encryption_state.c.completed_at)).scalar_one_or_none()
    return found


def look_again(database: Database) -> None:
    """Have the next start look for what is not encrypted, after data came from elsewhere."""
    with database.writing() as connection:
        connection.execute(sa.update(encryption_state).values(completed_at=None))
