"""Insert with `on_conflict`, in the dialect of the database."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that supports `on_conflict`, which SQLAlchemy's generic insert lacks."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
