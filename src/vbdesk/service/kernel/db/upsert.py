"""Inserts that may meet a row that is there already, in the words of the database at hand."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can be told what to do `on_conflict`, which SQLAlchemy's own cannot."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
