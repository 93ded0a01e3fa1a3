"""The tables of an open library: rows that the checksums cover, and the audit log, each changed in a transaction."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vbdesk.outbox.library.audit import AuditAction, AuditActor, AuditLog, AuditPart, Content
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, Sums, move, table_row_mac


class ProvedTables:
    """The rows of `PROVED_TABLES`. Thread-safe.

    Attributes:
        cipher: of the library.
        log: the audit log.
    """

    def __init__(
        self, database: Connection, cipher: ColumnCipher, now: Callable[[], str], actor: AuditActor | None = None
    ) -> None:
        """Take the tables of a connection; `now` is the time as stored."""
        self.cipher = cipher
        self._database, self._now = database, now
        self._lock = threading.RLock()
        self._sums: Sums | None = None  # of the current transaction; None: not known
        self.log = AuditLog(database, cipher, actor or AuditActor())

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep changes by other threads out until the end."""
        with self._lock:
            yield

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[DatabaseRow]:
        """Query rows; undecodable text is replaced, so that a damaged row fails its MAC instead of the query.

        Recordings of the trash are not seen, unless the query names the schema `main`; see `tables.VIEWS`.
        """
        with self._lock:
            return self._database.rows(query, values)

    def note(
        self,
        what: AuditAction,
        take_id: str | None = None,
        detail: str = "",
        part: AuditPart | None = None,
        content: Callable[[int], Content] | None = None,
    ) -> None:
        """Add an action to the audit log. Within the transaction that does it.

        Args:
            what: the action.
            take_id: the recording; None if it concerns no single recording.
            detail: one more word or number of ours, never what a person wrote.
            part: the acting part; the one that has opened the library if None.
            content: of an event of subjects, for its number; see `Journal`.
        """
        seq = self.log.note(self._now(), what, take_id, detail, part, content)
        if content is not None:
            self._count("audit", None, self._table_row_mac("audit", seq))

    def put(self, table: str, *row: object) -> None:
        """Insert or replace a row of one of `PROVED_TABLES`. Within a transaction."""
        marks = ", ".join("?" * len(row))
        before = self._table_row_mac(table, row[0])
        self._database.execute(f"INSERT OR REPLACE INTO main.{table} VALUES ({marks})", row)  # noqa: S608 - names are ours
        self._count(table, before, self._table_row_mac(table, row[0]))

    def add(self, table: str, *row: object) -> None:
        """Insert a row of one of `PROVED_TABLES`. Within a transaction. Raises sqlite3.IntegrityError."""
        marks = ", ".join("?" * len(row))
        self._database.execute(f"INSERT INTO main.{table} VALUES ({marks})", row)  # noqa: S608 - names are ours
        self._count(table, None, self._table_row_mac(table, row[0]))

    def drop(self, table: str, key: object) -> None:
        """Delete a row of one of `PROVED_TABLES`, if it exists. Within a transaction."""
        before = self._table_row_mac(table, key)
        self._database.execute(f"DELETE FROM main.{table} WHERE {PROVED_TABLES[table][0]} = ?", (key,))  # noqa: S608
        self._count(table, before, None)

    def last_foreign_commit(self) -> int:
        """A number that changes when another connection writes to the database."""
        number: int = self._database.execute("PRAGMA data_version").fetchone()[0]
        return number

    def _count(self, table: str, before: object, after: object) -> None:
        """Update the sum of a table."""
        if self._sums is not None:
            move(self._sums, table, before, after)

    def _table_row_mac(self, table: str, key: object) -> bytes | None:
        columns = PROVED_TABLES[table]
        rows = self.rows(f"SELECT {', '.join(columns)} FROM main.{table} WHERE {columns[0]} = ?", (key,))  # noqa: S608
        return table_row_mac(self.cipher, table, tuple(rows[0])) if rows else None
