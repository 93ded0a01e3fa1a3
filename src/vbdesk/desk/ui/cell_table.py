"""A table model of cells that keeps selection and scroll position while rows change or move."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from vbdesk.desk.ui.cells import Cell, Row

Index = QModelIndex | QPersistentModelIndex

_MANY_RUNS = 50


class CellRole(IntEnum):
    """Item roles in addition to Qt's."""

    CELL = Qt.ItemDataRole.UserRole
    KEY = Qt.ItemDataRole.UserRole + 1


class CellTable(QAbstractTableModel):
    """Rows of cells. Views read only visible rows, so 10,000 rows cost no more than 20."""

    def __init__(self, headings: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._headings = self._names = tuple(headings)
        self._rows: list[Row] = []
        self._indexes: dict[str, int] = {}

    def rows(self) -> Sequence[Row]:
        """All rows, in order."""
        return self._rows

    def row(self, index: int) -> Row:
        """The row at a place."""
        return self._rows[index]

    def index_of(self, key: str) -> int | None:
        """Index of a row by its key; None if it is not in the table."""
        return self._indexes.get(key)

    def replace(self, headings: Sequence[str], rows: Sequence[Row], names: Sequence[str] = ()) -> None:
        """Replace columns and rows; `names` are the headings in full where they are broken or cut."""
        self.beginResetModel()
        self._headings = tuple(headings)
        self._names = tuple(names) or self._headings
        self._take(list(rows))
        self.endResetModel()

    def show(self, rows: Sequence[Row]) -> None:
        """Show `rows`; known keys keep selection and scroll position, unless rows vanish in very many places."""
        wanted = list(rows)
        keys = {row.key for row in wanted}
        if not any(row.key in keys for row in self._rows):
            self.replace(self._headings, wanted, self._names)
            return
        gone = _runs([index for index, row in enumerate(self._rows) if row.key not in keys])
        if len(gone) > _MANY_RUNS:  # views and screen readers scan all rows after each removal
            self.replace(self._headings, wanted, self._names)
            return
        for first, last in reversed(gone):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()
        known = {row.key for row in self._rows}
        fresh = [row for row in wanted if row.key not in known]
        if fresh:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(fresh) - 1)
            self._rows.extend(fresh)
            self.endInsertRows()
        if [row.key for row in self._rows] != [row.key for row in wanted]:
            self._reorder(wanted)
        before = self._rows
        self._take(wanted)
        pairs = enumerate(zip(before, wanted, strict=True))
        changed = [index for index, (old, new) in pairs if old is not new and old != new]
        if changed:
            self.dataChanged.emit(
                self.index(changed[0], 0), self.index(changed[-1], len(self._headings) - 1), list(CellRole)
            )

    def exchange(self, rows: Iterable[Row]) -> None:
        """Replace the content of rows in place; other rows cost nothing."""
        indexes = []
        for row in rows:
            index = self._indexes.get(row.key)
            if index is not None:
                self._rows[index] = row
                indexes.append(index)
        for first, last in _runs(sorted(indexes)):
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self._headings) - 1), list(CellRole))

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        if rows:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(rows) - 1)
            self._take([*self._rows, *rows])
            self.endInsertRows()

    def _take(self, rows: list[Row]) -> None:
        self._rows = rows
        self._indexes = {row.key: index for index, row in enumerate(rows)}

    def _reorder(self, wanted: list[Row]) -> None:
        self.layoutAboutToBeChanged.emit()
        persistent = self.persistentIndexList()
        keys = [self._rows[index.row()].key for index in persistent]
        rows = {row.key: row for row in self._rows}
        self._take([rows[row.key] for row in wanted])
        moved = [self.index(self._indexes[key], index.column()) for key, index in zip(keys, persistent, strict=True)]
        self.changePersistentIndexList(persistent, moved)
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: D102
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: D102
        return 0 if parent.isValid() else len(self._headings)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: D102
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == CellRole.CELL:
            return row.cells[index.column()]
        if role == CellRole.KEY:
            return row.key
        if role == Qt.ItemDataRole.DisplayRole:
            return row.cells[index.column()].text
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.cells[index.column()].text or None  # all of it, where a narrow column cuts it
        if role == Qt.ItemDataRole.AccessibleTextRole:
            heading, text = self._names[index.column()], row.cells[index.column()].text
            return f"{heading}: {text}" if heading else text
        return None

    def headerData(  # noqa: D102
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._headings):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._headings[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._names[section] or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            name = self._names[section]
            return name if name != self._headings[section] else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def cell(self, index: int, column: int) -> Cell:
        """One cell."""
        return self._rows[index].cells[column]


def _runs(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each consecutive run in ascending `indexes`."""
    runs: list[tuple[int, int]] = []
    for index in indexes:
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs
