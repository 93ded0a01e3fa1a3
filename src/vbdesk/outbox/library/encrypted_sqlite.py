"""SQLite databases whose pages are encrypted and authenticated with the library's key (ChaCha20-Poly1305).

The interface is the part of the standard module `sqlite3` that the library uses, with its exceptions. Both modules
have an SQLite of their own, and two in one process must never open the same file: locks of one are lost when the other
closes it. So nothing else here opens a database of the library.

An encrypted page is bound to its number, not to a version of the file: see `table_checksums` for older pages.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from vbdesk.outbox.library.tables import VIEWS

__all__ = [
    "Connection",
    "DatabaseRow",
    "connect",
    "has_mark",
    "hide_trash",
    "is_plain",
    "key_mark",
    "open_to_read",
    "rewrite",
]

PLAIN_HEADER = b"SQLite format 3\x00"
_CIPHER = "chacha20"
_KEY_BYTES, _MARK_BYTES = 32, 16
_ERRORS: tuple[tuple[type[apsw.Error], type[sqlite3.Error]], ...] = (
    (apsw.ConstraintError, sqlite3.IntegrityError),
    (apsw.MismatchError, sqlite3.IntegrityError),
    (apsw.CorruptError, sqlite3.DatabaseError),
    (apsw.NotADBError, sqlite3.DatabaseError),
    (apsw.ConnectionClosedError, sqlite3.ProgrammingError),
    (apsw.Error, sqlite3.OperationalError),
)
_NAMES = {
    code: name
    for names in (apsw.mapping_result_codes, apsw.mapping_extended_result_codes)
    for name, code in names.items()
    if isinstance(name, str) and isinstance(code, int)
}


class DatabaseRow:
    """A row of a query: its values by name or by number, in order."""

    __slots__ = ("_numbers", "_values")

    def __init__(self, values: tuple[Any, ...], numbers: dict[str, int]) -> None:
        self._values, self._numbers = values, numbers

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self._numbers)

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, int):
            return self._values[key]
        try:
            return self._values[self._numbers[key]]
        except KeyError:
            raise IndexError(f"no column {key}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseRow) and (self._values, self._numbers) == (other._values, other._numbers)

    def __hash__(self) -> int:
        return hash(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Rows:
    """What a statement has found, and how many rows it has changed."""

    def __init__(self, found: list[DatabaseRow], changed: int) -> None:
        self._found, self.rowcount = iter(found), changed

    def __iter__(self) -> Iterator[DatabaseRow]:
        return self._found

    def fetchone(self) -> Any:
        """The next row; None after the last."""
        return next(self._found, None)

    def fetchall(self) -> list[DatabaseRow]:
        """All rows that are left."""
        return list(self._found)


class Connection:
    """A connection to one database. Each statement is its own transaction until `BEGIN`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def execute(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> Rows:
        """Run one statement to its end. Raises sqlite3.Error, and UnicodeDecodeError on undecodable text."""
        with _Translated():
            cursor = self._connection.execute(statement, values)
            numbers = _columns_of(cursor)
            return Rows([DatabaseRow(found, numbers) for found in cursor.fetchall()], self._connection.changes())

    def rows(self, query: str, values: Sequence[object] = ()) -> list[DatabaseRow]:
        """The rows of a query, with replacement characters for undecodable text: such a row fails its MAC.

        Raises:
            sqlite3.Error: the query fails.
        """
        try:
            return self.execute(query, values).fetchall()
        except UnicodeDecodeError:
            return self._rows_with_replacements(query, values)

    def _rows_with_replacements(self, query: str, values: Sequence[object]) -> list[DatabaseRow]:
        with _Translated():
            empty = self._connection.execute(f"SELECT * FROM (SELECT 1) LEFT JOIN ({query}) ON 0", tuple(values))  # noqa: S608
            names = [name for name, _ in empty.get_description()][1:]
            columns = [f"c{number}" for number in range(len(names))]
            parts = ", ".join(
                f"typeof({c}), CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END" for c in columns
            )
            wrapped = f"WITH found ({', '.join(columns)}) AS ({query}) SELECT {parts} FROM found"  # noqa: S608
            numbers = {name: number for number, name in enumerate(names)}
            return [
                DatabaseRow(tuple(_text_of(*pair) for pair in zip(row[::2], row[1::2], strict=True)), numbers)
                for row in self._connection.execute(wrapped, tuple(values))
            ]

    def executescript(self, script: str) -> None:
        """Run several statements."""
        self.execute(script)

    def serialize(self) -> bytes:
        """The decrypted pages of the database."""
        with _Translated():
            return self._connection.serialize("main")

    def backup(self, target: "Connection") -> None:
        """Write one consistent state into another database with the same key."""
        with _Translated(), target._connection.backup("main", self._connection, "main") as copying:
            while not copying.done:
                copying.step()

    def close(self) -> None:
        """Close it; a second call does nothing."""
        self._connection.close()


def connect(path: Path | str, key: bytes | None, *, read_only: bool = False, timeout_s: float = 10) -> Connection:
    """Open a database, or make it.

    Args:
        path: of its file, or ":memory:".
        key: the library's key; None for a database that is not encrypted.
        read_only: neither make nor change it.
        timeout_s: how long a statement waits for another connection.

    Raises:
        sqlite3.Error: the file cannot be opened. A wrong key shows at the first statement only.
    """
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with _Translated():
        connection = apsw.Connection(str(path), flags=flags)
        connection.set_busy_timeout(int(1000 * timeout_s))
        if key is not None:
            connection.pragma("cipher", _CIPHER)
            connection.pragma("key", _raw(key))
    return Connection(connection)


def open_to_read(path: Path, key: bytes) -> Connection:
    """Open a list of recordings next to a program that may have it open: neither make nor change it.

    Raises:
        OSError, sqlite3.Error: the file cannot be opened, or has another key.
    """
    connection = connect(path, None if is_plain(path) else key, read_only=True)
    try:
        hide_trash(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def hide_trash(connection: Connection) -> None:
    """Let queries on a list of recordings see nothing of the trash, unless they name the schema `main`."""
    if connection.rows("SELECT 1 FROM pragma_table_info('recordings', 'main') WHERE name = 'deleted_at'"):
        connection.executescript(VIEWS)  # an earlier version has a table for its trash


def rewrite(connection: Connection) -> None:
    """Write the whole file of a list of recordings again, outside a transaction. Raises sqlite3.Error.

    SQLite cannot do that below views with names of tables. Without them a connection must not be used, so it is closed
    if they cannot be made again.
    """
    for row in connection.rows("SELECT name FROM temp.sqlite_master WHERE type = 'view'"):
        connection.execute(f"DROP VIEW temp.{row['name']}")
    try:
        connection.execute("VACUUM")
    finally:
        try:
            connection.executescript(VIEWS)
        except sqlite3.Error:
            connection.close()
            raise


def is_plain(path: Path) -> bool:
    """Whether a file is a database without encryption."""
    with path.open("rb") as file:
        return file.read(len(PLAIN_HEADER)) == PLAIN_HEADER


def key_mark(key: bytes) -> bytes:
    """The first bytes of every database that is encrypted with this key, shape (16,)."""
    return HKDF(SHA256(), _MARK_BYTES, None, b"vbdesk pages, mark").derive(key)


def has_mark(path: Path, key: bytes) -> bool:
    """Whether the first bytes of a database are those of this key, or of a database without encryption."""
    with path.open("rb") as file:
        return file.read(_MARK_BYTES) in (PLAIN_HEADER, key_mark(key))


def write_encrypted(plain: Path, target: Path, key: bytes) -> None:
    """Write an encrypted copy of a database that nobody else has open.

    Raises:
        sqlite3.Error: the copy could not be written; `target` is not to be used.
    """
    address = f"{target.absolute().as_uri()}?cipher={_CIPHER}&key={_raw(key)}"
    with _Translated():
        source = apsw.Connection(str(plain), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        try:
            source.execute("VACUUM INTO ?", (address,)).fetchall()
        finally:
            source.close()


def _raw(key: bytes) -> str:
    """A key as SQLite gets it: the key of the pages itself, and the first bytes of the file."""
    page_key = HKDF(SHA256(), _KEY_BYTES, None, b"vbdesk pages").derive(key)
    return f"raw:{page_key.hex()}{key_mark(key).hex()}"


def _columns_of(cursor: apsw.Cursor) -> dict[str, int]:
    try:
        return {name: number for number, (name, _) in enumerate(cursor.get_description())}
    except apsw.ExecutionCompleteError:  # without a row
        return {}


def _text_of(kind: str, value: object) -> object:
    return value.decode("utf-8", "replace") if kind == "text" and isinstance(value, bytes) else value


class _Translated:
    """Raises errors of APSW as those of `sqlite3`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, apsw.Error):
            return
        known = next(theirs for ours, theirs in _ERRORS if isinstance(error, ours))(str(error))
        codes = (getattr(error, name, None) for name in ("extendedresult", "result"))
        known.sqlite_errorname = next((_NAMES[code] for code in codes if code in _NAMES), "SQLITE_MISUSE")
        raise known from error
