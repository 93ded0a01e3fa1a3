"""A library's list of recordings, opened without the library: by somebody who has its key, or with a damaged file."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from vbdesk.outbox.library import database as list_database
from vbdesk.outbox.library.encrypted_sqlite import Connection, connect

KEY = bytes(range(32))


@contextmanager
def list_by_hand(folder: Path, key: bytes = KEY, *, read_only: bool = False) -> Iterator[Connection]:
    """The database of the library in `folder`; each statement is committed at once."""
    with closing(connect(folder / "library.sqlite", key, read_only=read_only)) as database:
        yield database


@contextmanager
def log_by_hand(folder: Path, key: bytes = KEY, table: str = "audit") -> Iterator[Connection]:
    """As `list_by_hand`, for changes of a table that triggers protect; the structure is as before at the end."""
    with list_by_hand(folder, key) as database:
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
        triggers = database.rows(query, (table,))
        for trigger in triggers:
            database.execute(f"DROP TRIGGER {trigger['name']}")
        yield database
        for trigger in triggers:
            database.execute(trigger["sql"])


def everything_under(folder: Path, key: bytes = KEY) -> bytes:
    """Every file, and the decrypted pages of the list of recordings."""
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    with list_by_hand(folder, key, read_only=True) as database:
        return b"\0".join([*files, database.serialize()])


def trace_statements(database: Connection, step: Callable[[str], object] | None) -> None:
    """Call `step` before each statement; None ends it."""

    def traced(_cursor: object, statement: str, _values: object) -> bool:
        assert step is not None
        step(statement)
        return True

    database._connection.set_exec_trace(None if step is None else traced)


def copies_of_conversion(
    folder: Path, target: Path, monkeypatch: pytest.MonkeyPatch, open_library: Callable[[], object]
) -> list[Path]:
    """Copies of a library's folder, one for each statement of its conversion before which a program may be killed."""
    copies: list[Path] = []
    convert = list_database.convert

    def copy_before(_statement: str) -> None:
        copies.append(target / f"killed-{len(copies)}")
        shutil.copytree(folder, copies[-1])

    def traced(connection: Connection, *others: Any) -> bool:
        trace_statements(connection, copy_before)
        try:
            return convert(connection, *others)
        finally:
            trace_statements(connection, None)

    with monkeypatch.context() as patched:
        patched.setattr(list_database, "convert", traced)
        open_library()
    return copies
