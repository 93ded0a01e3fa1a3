"""A table whose cells are edited in place: by click, Enter or F2; Tab goes to the next cell that can be edited."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    Qt,
    Slot,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QComboBox,
    QCompleter,
    QLineEdit,
    QStyleOptionViewItem,
    QWidget,
)

from vbdesk.desk.ui.cell_view import CellDelegate, CellView
from vbdesk.desk.ui.editable_table import EditableCellTable
from vbdesk.desk.ui.next_turn import in_next_turn
from vbdesk.desk.ui.theme import app_theme

Index = QModelIndex | QPersistentModelIndex
Choices = Sequence[tuple[str, str]]
"""Value and label of each choice."""

_EDITOR_HEIGHT = 38
_LEAST_EDITOR_WIDTH = 190


class EditableCellView(CellView):
    """A view of `EditableCellTable` with check boxes.

    A click in a cell of several checked rows leaves them checked, so that one edit can be meant for all of them.
    """

    def __init__(
        self,
        name: str,
        table: EditableCellTable,
        widths: Sequence[int],
        *,
        stretch: int,
        droppable: int | Sequence[int] = (),
        least_stretch: int | None = None,
        choices: Callable[[int], Choices],
        completions: Callable[[int], Sequence[str]],
    ) -> None:
        """Show `table`; see `CellView`.

        Args:
            name: for screen readers.
            table: the rows.
            widths: of the columns at 100 % text.
            stretch: the column that takes the remaining width.
            droppable: the columns to hide where space is short.
            least_stretch: minimum width of the stretching column; see `CellView`.
            choices: value and label of each choice of a column; empty for a text.
            completions: proposals for the text of a column.
        """
        super().__init__(
            name, table, widths, stretch=stretch, droppable=droppable, choosable=True, least_stretch=least_stretch
        )
        self._editable = table
        self.setItemDelegate(_EditingDelegate(self, table, choices, completions))
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.begin_edit()
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._go(-1 if event.key() == Qt.Key.Key_Left else 1)
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier and event.button() is Qt.MouseButton.LeftButton
        if plain and index == self.currentIndex() and self._editable.edit_text(index) is not None:
            self.edit(index)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:  # noqa: D102
        hints = QAbstractItemDelegate.EndEditHint
        super().closeEditor(editor, hints.NoHint)
        steps = {hints.EditNextItem: 1, hints.EditPreviousItem: -1}
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        if hint in steps and self._go(steps[hint]):
            in_next_turn(self, self.begin_edit)

    @Slot()
    def begin_edit(self) -> None:
        """Edit the current cell, or the first of its row that can be edited."""
        if self.state() is QAbstractItemView.State.EditingState:  # Return in an editor comes here, too
            return
        index = self.currentIndex()
        if index.isValid() and self._editable.edit_text(index) is None:
            self._go(1)
        if self._editable.edit_text(self.currentIndex()) is not None:
            self.edit(self.currentIndex())

    def _go(self, step: int) -> bool:
        """Go to the next cell of the row that can be edited; whether there is one."""
        index = self.currentIndex()
        column = index.column() + step
        while index.isValid() and 0 <= column < self._editable.columnCount():
            there = index.siblingAtColumn(column)
            if self._editable.edit_text(there) is not None and not self.isColumnHidden(column):
                self._set_current(there)
                return True
            column += step
        return False

    def _set_current(self, index: Index) -> None:
        self.selectionModel().setCurrentIndex(index, self.selectionModel().SelectionFlag.NoUpdate)
        self.viewport().update()


class _EditingDelegate(CellDelegate):
    """Paints cells, shows which one the keyboard edits, and makes editors."""

    def __init__(
        self,
        view: EditableCellView,
        table: EditableCellTable,
        choices: Callable[[int], Choices],
        completions: Callable[[int], Sequence[str]],
    ) -> None:
        self._theme = app_theme()
        super().__init__(view)
        self._cells, self._editing, self._choices, self._completions = table, view, choices, completions

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        current = self._editing.currentIndex()
        here = (current.row(), current.column()) == (index.row(), index.column()) and self._editing.hasFocus()
        if here and self._cells.edit_text(index) is not None:
            painter.save()
            painter.setPen(QPen(self._theme.colour("accent"), 2))
            painter.drawRoundedRect(QRectF(option.rect).adjusted(2, 5, -2, -6), 6, 6)
            painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        choices = self._choices(index.column())
        if choices:
            box = QComboBox(parent)
            for value, label in choices:
                box.addItem(label, value)
            box.activated.connect(self._on_chosen)
            editor: QWidget = box
        else:
            line = QLineEdit(parent)
            proposals = list(self._completions(index.column()))
            if proposals:
                line.setCompleter(_completer(proposals, line))
            editor = line
        heading = self._cells.headerData(index.column(), Qt.Orientation.Horizontal)
        editor.setAccessibleName(f"{heading}, {self._cells.cell(index.row(), 0).text}")
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        text = self._cells.edit_text(index) or ""
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(max(0, editor.findData(text)))
        elif isinstance(editor, QLineEdit) and not editor.isModified():
            editor.setText(text)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        value = editor.currentData() if isinstance(editor, QComboBox) else editor.property("text")
        changed = isinstance(editor, QComboBox) or (isinstance(editor, QLineEdit) and editor.isModified())
        if changed:
            self._cells.setData(index, value)

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        rect = QRectF(option.rect)
        height = min(rect.height() - 4, self._theme.px(_EDITOR_HEIGHT))
        width = max(rect.width() - 2, self._theme.px(_LEAST_EDITOR_WIDTH))
        editor.setGeometry(QRectF(rect.left() + 1, rect.center().y() - height / 2, width, height).toRect())

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        editor = self.sender()
        if isinstance(editor, QComboBox):
            self.commitData.emit(editor)
            self.closeEditor.emit(editor, QAbstractItemDelegate.EndEditHint.NoHint)


def _completer(proposals: list[str], parent: QWidget) -> QCompleter:
    completer = QCompleter(proposals, parent)
    completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    completer.setFilterMode(Qt.MatchFlag.MatchContains)
    return completer
