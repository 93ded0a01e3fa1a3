"""Recordings as items: each row is read, proved and opened once for each version of it."""

import sqlite3
from collections.abc import Callable

from vbdesk.outbox.library.column_encryption import ColumnSeal
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.rows import ITEMS, WITHOUT_RESULTS, item_of

READ_TOGETHER = 500  # rows in one query


class Shelf:
    """The items of one library; not safe for several threads, its store is.

    Attributes:
        faulty: take ids of the rows that are not as the desk wrote them, as far as they were read.
    """

    def __init__(self, rows: Callable[[str, tuple[object, ...]], list[sqlite3.Row]], seal: ColumnSeal) -> None:
        self._rows = rows
        self._seal = seal
        self._items: dict[str, RecordingItem] = {}
        self.faulty: set[str] = set()

    def items(self, condition: str, values: tuple[object, ...], order: str) -> list[RecordingItem]:
        """Recordings that meet a condition of ours."""
        query = f"SELECT rowid, take_id, version FROM recordings WHERE {condition} ORDER BY {order}"  # noqa: S608
        found = self._rows(query, values)
        unread = [row for row in found if not self._is_here(row)]
        for begin in range(0, len(unread), READ_TOGETHER):
            self._read(unread[begin : begin + READ_TOGETHER])
        return [self._items[row["take_id"]] for row in found]

    def drop(self, take_id: str) -> None:
        """Read a recording anew; a second change within one transaction has the same version."""
        self._items.pop(take_id, None)

    def clear(self) -> None:
        """Read everything anew."""
        self._items.clear()

    def _is_here(self, row: sqlite3.Row) -> bool:
        known = self._items.get(row["take_id"])
        return known is not None and known.version == row["version"]

    def _read(self, found: list[sqlite3.Row]) -> None:
        """Read rows into items; where pages with results are damaged, one by one, so that only those are lost."""
        places = tuple(row["rowid"] for row in found)  # an id may be spoilt so that nothing is found by it
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
            item = self._items[row["take_id"]] = item_of(row, self._seal)
            if item.fault is not None:
                self.faulty.add(item.take_id)
