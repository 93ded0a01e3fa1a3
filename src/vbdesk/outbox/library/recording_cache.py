"""Cache of recordings as items: each version of a row is read, authenticated and decrypted once."""

import sqlite3
from collections.abc import Callable

from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.rows import ITEMS, WITHOUT_RESULTS, item_of

READ_TOGETHER = 500  # rows in one query


class RecordingCache:
    """The cached items of one library. Not thread-safe; its store is.

    Attributes:
        faulty: take ids of the rows read so far that somebody else changed.
    """

    def __init__(self, rows: Callable[[str, tuple[object, ...]], list[DatabaseRow]], cipher: ColumnCipher) -> None:
        self._rows = rows
        self._cipher = cipher
        self._items: dict[str, RecordingItem] = {}
        self.faulty: set[str] = set()

    def items(self, table: str, condition: str, values: tuple[object, ...], order: str) -> list[RecordingItem]:
        """Rows of `recordings` or of `trash` that match an SQL condition."""
        query = f"SELECT place, take_id, version FROM {table} WHERE {condition} ORDER BY {order}"  # noqa: S608
        found = self._rows(query, values)
        unread = [row for row in found if not self._is_here(row)]
        for begin in range(0, len(unread), READ_TOGETHER):
            self._read(unread[begin : begin + READ_TOGETHER])
        return [self._items[row["take_id"]] for row in found]

    def drop(self, take_id: str) -> None:
        """Forget a recording; a second change within one transaction has the same version."""
        self._items.pop(take_id, None)

    def clear(self) -> None:
        """Forget everything."""
        self._items.clear()

    def _is_here(self, row: DatabaseRow) -> bool:
        known = self._items.get(row["take_id"])
        return known is not None and known.version == row["version"]

    def _read(self, found: list[DatabaseRow]) -> None:
        """Read rows into items; one by one if pages with results are damaged, so that only those are lost."""
        places = tuple(row["place"] for row in found)  # a damaged take id would find nothing
        condition = f"WHERE recordings.rowid IN ({', '.join('?' * len(places))})"
        try:
            rows = self._rows(f"{ITEMS} {condition}", places)
        except sqlite3.DatabaseError as error:
            if not error.sqlite_errorname.startswith("SQLITE_CORRUPT"):
                raise
            if len(found) > 1:
                for row in found:
                    self._read([row])
                return
            rows = self._rows(f"{WITHOUT_RESULTS} {condition}", places)
        for row in rows:
            item = self._items[row["take_id"]] = item_of(row, self._cipher)
            if item.fault is not None:
                self.faulty.add(item.take_id)
