"""A table model whose cells can be edited."""

from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal

from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cells import Cell

Index = QModelIndex | QPersistentModelIndex


class EditableRow(Protocol):
    """A row with cells that can be edited."""

    @property
    def key(self) -> str:
        """Unique key of the row."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each column."""

    def edit_text(self, column: int) -> str | None:
        """A cell's content as it is edited; None if it cannot be edited."""


class EditableCellTable(CellTable):
    """A table that reports edits; it does not change its rows itself.

    Signals:
        edited: (str, int, str) key of the row, column, and the new text.
    """

    edited = Signal(str, int, str)

    def flags(self, index: Index) -> Qt.ItemFlag:  # noqa: D102
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if self.edit_text(index) is not None else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: D102
        return self.edit_text(index) if role == Qt.ItemDataRole.EditRole else super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: D102
        before = self.edit_text(index)
        if role != Qt.ItemDataRole.EditRole or before is None:
            return False
        self.edited.emit(self.row(index.row()).key, index.column(), str(value))
        return True

    def edit_text(self, index: Index) -> str | None:
        """A cell's content as it is edited; None if it cannot be edited."""
        row = self.row(index.row()) if index.isValid() else None
        edit_text: Callable[[int], str | None] | None = getattr(row, "edit_text", None)
        return None if edit_text is None else edit_text(index.column())
