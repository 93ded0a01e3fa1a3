"""The structure of the database: compare it with the one that vbdesk makes, and restore it.

Tables, indexes, triggers and views are compared with `TABLES` by their whole text. An added trigger or a changed
default acts at the first write, so this check comes before every write. A rebuild copies every row into a table of the
right structure and drops everything else. Each row is authenticated by its MAC, before and after.
"""

import re
from collections.abc import Mapping
from functools import cache

from vbdesk.outbox.library.encrypted_sqlite import Connection, connect
from vbdesk.outbox.library.tables import TABLES

_COMMENT = re.compile(r"--[^\n]*")
_GAP = re.compile(r"\s*([(),]|\s)\s*")

Objects = Mapping[tuple[str, str], str]
"""SQL of every table, index, trigger and view, by its type and name."""


class TableMissing(Exception):
    """A table or a column is missing, and its values with it."""


def is_ours(connection: Connection, tables: str = TABLES) -> bool:
    """Whether the database has exactly the objects of `tables`."""
    return _objects(connection) == _expected_objects(tables)


def check_columns(connection: Connection) -> None:
    """Check that a rebuild would lose nothing. Raises TableMissing."""
    for kind, name in _statements():
        if kind == "table" and not set(_columns(connection, name)) >= _expected_columns(name):
            raise TableMissing(name)


def trigger_drop_statements(connection: Connection) -> list[str]:
    """Statements that drop every trigger and view, so that no foreign code runs."""
    return [f"DROP {kind} {_quoted(name)}" for kind, name in _objects(connection) if kind in ("trigger", "view")]


def drop_foreign_triggers(connection: Connection) -> None:
    """Drop foreign triggers and views. Within a transaction that has written nothing yet."""
    for (kind, name), sql in _objects(connection).items():
        if kind in ("trigger", "view") and _expected_objects().get((kind, name)) != sql:
            connection.execute(f"DROP {kind} {_quoted(name)}")


def rebuild(connection: Connection) -> None:
    """Restore the structure of `TABLES`. Within a transaction, with foreign keys and table renaming prepared.

    Every row stays unchanged. Columns that a table did not have are NULL, or their default.

    Raises:
        sqlite3.Error: a row does not fit.
        TableMissing: a table is missing.
    """
    for statement in trigger_drop_statements(connection):
        connection.execute(statement)
    found, expected = _objects(connection), _expected_objects()
    if any(key[0] == "table" and key not in found for key in expected):
        raise TableMissing
    for kind, name in found:
        if kind == "index" and not name.startswith("sqlite_"):
            connection.execute(f"DROP INDEX IF EXISTS {_quoted(name)}")
        elif kind == "table" and (kind, name) not in expected and not name.startswith("sqlite_"):
            connection.execute(f"DROP TABLE {_quoted(name)}")
    for key in expected:
        if key[0] == "table" and key in found and found[key] != expected[key]:
            _make_anew(connection, key[1])
    for (kind, _), statement in _statements().items():
        if kind != "table":
            connection.execute(statement)


def add_tables(connection: Connection) -> None:
    """Add the tables of `TABLES` that a database of an earlier version does not have. Within a transaction."""
    for (kind, name), statement in _statements().items():
        if kind == "table" and not _columns(connection, name):
            connection.execute(statement)


@cache
def _expected_objects(tables: str = TABLES) -> Objects:
    """The objects that `tables` makes."""
    connection = connect(":memory:", None)
    try:
        connection.executescript(tables)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: Connection) -> dict[tuple[str, str], str]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return {(kind, name): f"{table}: {_normal(sql or '')}" for kind, name, table, sql in rows}


@cache
def _statements() -> Mapping[tuple[str, str], str]:
    """The statement that makes each object, by its type and name."""
    connection = connect(":memory:", None)
    try:
        connection.executescript(TABLES)
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        return {(kind, name): sql for kind, name, sql in rows}
    finally:
        connection.close()


def _make_anew(connection: Connection, table: str) -> None:
    old = f"before_rebuild_{table}"
    connection.execute(f"ALTER TABLE {table} RENAME TO {old}")
    connection.execute(_statements()["table", table])
    there = _columns(connection, old)
    names = ", ".join(name for name in _columns(connection, table) if name in there)
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {old}")  # noqa: S608 - names are ours
    connection.execute(f"DROP TABLE {old}")


@cache
def _expected_columns(table: str) -> frozenset[str]:
    connection = connect(":memory:", None)
    try:
        connection.execute(_statements()["table", table])
        return frozenset(_columns(connection, table))
    finally:
        connection.close()


def _columns(connection: Connection, table: str) -> list[str]:
    """Columns of a table; empty for anything else."""
    rows = connection.execute(
        "SELECT i.name FROM sqlite_master AS m, pragma_table_info(m.name) AS i WHERE m.type = 'table' AND m.name = ?",
        (table,),
    )
    return [row[0] for row in rows]


def _normal(sql: str) -> str:
    """SQL without comments, with single spaces. No literal of ours holds two hyphens."""
    return _GAP.sub(lambda gap: gap[1].strip() or " ", _COMMENT.sub("", sql)).strip()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
