"""The table view of the desk: cells painted by one delegate, usable by mouse and keyboard."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from vbdesk.desk.ui.badges import chip_size, level_badge_size, paint_chip, paint_level_badge
from vbdesk.desk.ui.cell_table import CellRole, CellTable
from vbdesk.desk.ui.cells import (
    ButtonCell,
    Cell,
    HeatCell,
    LabelCell,
    LevelCell,
    LevelCountsCell,
    ProgressCell,
    StateCell,
    TwoLineCell,
)
from vbdesk.desk.ui.heat_map import paint_heat, paint_level_counts
from vbdesk.desk.ui.painting import antialiased, hover_fill, mirrored, paint_tick_box, rounded
from vbdesk.desk.ui.progress import paint_progress
from vbdesk.desk.ui.state_chip import STATE_CHIP_STYLES
from vbdesk.desk.ui.theme import Role, Theme, app_theme

Index = QModelIndex | QPersistentModelIndex

_PAD = 8
_EDGE = 20
_BUTTON_PAD = 11
_HEADING_PADDING = 16  # above and below, at every text size
_BUTTON_HEIGHT = 30
_BAR_WIDTH = 220
_LEAST_STRETCH, _LEAST_NARROW = 150, 76
_TICK, _TICK_GAP = 18, 12
_LINE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip  # letters may go higher and lower than the line
_NOWHERE = QPoint(-1, -1)
_SHIFT = Qt.KeyboardModifier.ShiftModifier
_CHOOSING = Qt.KeyboardModifier.ControlModifier | _SHIFT
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End)


class CellView(QTableView):
    """A table. A click or Enter opens a row; its button or Space runs the row's action.

    If rows are selectable, each has a check box. A click on it, Shift with arrow keys, or Ctrl+Space toggles it;
    Ctrl+A checks all, Escape none.

    Signals:
        opened: (str) key of the row to open.
        acted: (str) key of the row whose action was requested.
        chosen_changed: the checked rows changed.
        delete_wanted: Delete was pressed.
    """

    opened = Signal(str)
    acted = Signal(str)
    chosen_changed = Signal()
    delete_wanted = Signal()

    def __init__(
        self,
        name: str,
        table: CellTable,
        widths: Sequence[int],
        *,
        stretch: int,
        droppable: int | Sequence[int] = (),
        row_height: int = 55,
        choosable: bool = False,
        narrow: Sequence[int] = (),
        least_stretch: int | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Show `table`.

        Args:
            name: for screen readers.
            table: the rows.
            widths: of the columns at 100 % text.
            stretch: the column that takes the remaining width.
            droppable: the columns to hide where space is short, in this order.
            row_height: at 100 % text.
            choosable: rows have check boxes.
            narrow: widths to use where `widths` do not fit.
            least_stretch: minimum width of the stretching column at 100 % text, before others are hidden or the table
                scrolls; None for no minimum, or 150 if columns can be hidden.
            parent: of the widget.
        """
        self._theme = app_theme()
        super().__init__(parent)
        self.choosable = choosable
        self._narrow = tuple(narrow)
        self._yields = least_stretch is not None or droppable != ()
        self._least_stretch = _LEAST_STRETCH if least_stretch is None else least_stretch
        self.pointer = _NOWHERE  # stored on moves: asking the system for it in every cell is slow
        self._anchor: str | None = None  # where a range of checked rows begins
        self._droppable = (droppable,) if isinstance(droppable, int) else tuple(droppable)
        self._table, self._widths, self._stretch, self._row_height = table, tuple(widths), stretch, row_height
        self.setModel(table)
        self.setItemDelegate(CellDelegate(self))
        self.selectionModel().currentRowChanged.connect(self.viewport().update)  # the frame of the whole row
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        modes = QAbstractItemView.SelectionMode
        self.setSelectionMode(modes.ExtendedSelection if choosable else modes.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.viewport().setAutoFillBackground(False)
        self.setMouseTracking(True)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSectionsClickable(False)
        head.setTextElideMode(Qt.TextElideMode.ElideRight)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._theme.changed.connect(self.fit)
        table.modelReset.connect(self.fit)
        if choosable:
            table.modelReset.connect(self.chosen_changed)  # a model reset clears the selection without a signal
            self.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.fit()

    def set_widths(self, widths: Sequence[int], stretch: int) -> None:
        """Other columns."""
        self._widths, self._stretch = tuple(widths), stretch
        self.fit()

    @Slot()
    def fit(self) -> None:
        """Take row heights and column widths from the text size."""
        px, head = self._theme.px, self.horizontalHeader()
        # from right to left, Qt styles the first column as the last
        first, side = ("last", "right") if self.isRightToLeft() else ("first", "left")
        # transparent: the card behind has round corners
        self.setStyleSheet(
            "QTableView, QHeaderView::section { background: transparent; }"
            f"QHeaderView::section:{first} {{ padding-{side}: {px(self.first_edge())}px; }}"
        )
        self.verticalHeader().setDefaultSectionSize(px(self._row_height))
        head.setMinimumSectionSize(px(24))
        headings = [self._table.headerData(column, Qt.Orientation.Horizontal) for column in range(head.count())]
        lines = max((heading.count("\n") for heading in headings), default=0)
        metrics, room = QFontMetricsF(self._theme.font(Role.CAPTION)), QRectF(0, 0, 1000, 1000)
        text = max((metrics.boundingRect(room, 0, heading).height() for heading in headings), default=0.0)
        head.setFixedHeight(max(px(max(36 + 12 * lines, 4 + 16 * (lines + 1))), round(text) + _HEADING_PADDING))
        cut = Qt.TextElideMode.ElideNone if lines else Qt.TextElideMode.ElideRight
        head.setTextElideMode(cut)  # Qt measures several lines as one
        for column in range(min(len(self._widths), head.count())):
            fills = column == self._stretch
            mode = QHeaderView.ResizeMode.Stretch if fills else QHeaderView.ResizeMode.Fixed
            head.setSectionResizeMode(column, mode)
            if not fills:
                self.setColumnWidth(column, px(self._widths[column]))
        self._drop()
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._drop()

    def _drop(self) -> None:
        """Hide columns if the stretching column is too narrow; if that is not enough, scroll."""
        if not self._yields:
            return
        px = self._theme.px
        # before a column is hidden: next to a stretching one, Qt leaves a gap for it
        self.horizontalHeader().setSectionResizeMode(self._stretch, QHeaderView.ResizeMode.Fixed)
        fits = self._fits_in(self._widths, px(self._least_stretch))
        if not fits and self._narrow:
            fits = self._fits_in(self._narrow, px(_LEAST_NARROW))
        mode = QHeaderView.ResizeMode.Stretch if fits else QHeaderView.ResizeMode.Fixed
        self.horizontalHeader().setSectionResizeMode(self._stretch, mode)
        if not fits:
            self.setColumnWidth(self._stretch, px(self._least_stretch))
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if fits else Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self.setHorizontalScrollBarPolicy(policy)

    def _fits_in(self, widths: Sequence[int], least_stretch: int) -> bool:
        """Take these widths, hiding columns as needed; whether the stretching column has its least width then."""
        px, room = self._theme.px, self.viewport().width() - least_stretch
        left_out = {column for column in range(len(widths)) if self.isColumnHidden(column)} - {*self._droppable}
        counted = {*range(len(widths))} - {self._stretch} - left_out
        needed = sum(px(widths[column]) for column in counted)
        for column in self._droppable:
            self.setColumnHidden(column, needed > room)
            if self.isColumnHidden(column):
                needed -= px(widths[column])
        for column, width in enumerate(widths):
            if column != self._stretch:
                self.setColumnWidth(column, px(width))
        return needed <= room

    def show_column(self, column: int, *, shown: bool) -> None:
        """Show a column, or leave it out; for columns that the reader chooses."""
        # before a column is hidden: next to a stretching one, Qt leaves a gap for it
        self.horizontalHeader().setSectionResizeMode(self._stretch, QHeaderView.ResizeMode.Fixed)
        self.setColumnHidden(column, not shown)
        self.fit()

    def current_key(self) -> str | None:
        """Key of the selected row."""
        index = self.currentIndex()
        return self._table.row(index.row()).key if index.isValid() else None

    def select_key(self, key: str) -> None:
        """Select a row by its key, if it is here."""
        index = self._table.index_of(key)
        if index is not None:
            self.setCurrentIndex(self._table.index(index, 0))
            self._anchor = key

    def chosen_keys(self) -> list[str]:
        """Keys of the checked rows, in list order."""
        selection = self.selectionModel().selection()
        parts = [selection.at(number) for number in range(selection.count())]
        ranges = sorted((part.top(), part.bottom()) for part in parts)
        indexes = (index for first, last in ranges for index in range(first, last + 1))
        return [self._table.row(index).key for index in indexes]

    def choose_keys(self, keys: Iterable[str]) -> None:
        """Check exactly these rows, those that are here."""
        indexes = sorted(index for key in keys if (index := self._table.index_of(key)) is not None)
        rows, last = QItemSelection(), self._table.columnCount() - 1
        for index in indexes:
            rows.select(self._table.index(index, 0), self._table.index(index, last))
        self.selectionModel().select(rows, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def first_edge(self) -> int:
        """Left margin of the first column's text, at 100 % text."""
        return _EDGE + (_TICK + _TICK_GAP if self.choosable else 0)

    def tick_rect(self, row: QRectF) -> QRectF:
        """Rectangle of the check box in the first cell of a row."""
        side = self._theme.px(_TICK)
        x = row.right() - self._theme.px(_EDGE) - side if self.isRightToLeft() else row.left() + self._theme.px(_EDGE)
        return QRectF(x, row.center().y() - side / 2, side, side)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        key = self.current_key()
        plain = not event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if key is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            (self.opened if plain else self.acted).emit(key)
        elif key is not None and event.key() == Qt.Key.Key_Space and plain and self.choosable:
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(self.currentIndex(), flags.Toggle | flags.Rows)
        elif key is not None and event.key() == Qt.Key.Key_Space and plain:
            self.acted.emit(key)
        elif key is not None and self.choosable and event.key() in _MOVES and event.modifiers() & _CHOOSING == _SHIFT:
            super().keyPressEvent(event)
            self._choose_range(self._anchor or key, self.current_key() or key)
        elif self.choosable and event.key() == Qt.Key.Key_Delete:
            if key is not None and not self.chosen_keys():
                self.choose_keys([key])
            self.delete_wanted.emit()
        elif self.choosable and event.key() == Qt.Key.Key_Escape:
            self.clearSelection()
        else:
            super().keyPressEvent(event)
            if event.key() in _MOVES:
                self._anchor = self.current_key()

    def _choose_range(self, first: str, last: str) -> None:
        """Check the rows from one to the other, both with it."""
        self._anchor = first
        ends = [index for key in (first, last) if (index := self._table.index_of(key)) is not None]
        self.choose_keys(self._table.row(index).key for index in range(min(ends), max(ends) + 1))

    def moveCursor(  # noqa: D102
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        ends = {QAbstractItemView.CursorAction.MoveHome: 0, QAbstractItemView.CursorAction.MoveEnd: -1}
        if action in ends and self._table.rowCount():  # Home and End go to the first and last row, not column
            return self._table.index(ends[action] % self._table.rowCount(), 0)
        return super().moveCursor(action, modifiers)

    def selectionCommand(  # noqa: D102
        self, index: QModelIndex | QPersistentModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        command = super().selectionCommand(index, event)
        opens = isinstance(event, QMouseEvent) and not event.modifiers() & _CHOOSING
        moves = event is None or (isinstance(event, QKeyEvent) and event.key() in _MOVES)
        return QItemSelectionModel.SelectionFlag.NoUpdate if self.choosable and (opens or moves) else command

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        point = event.position().toPoint()
        if self._ticks_at(point):
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(self.indexAt(point), flags.Toggle | flags.Rows)
        elif not self.choosable or self._button_at(point) is None:  # a click on a button does not change the selection
            super().mousePressEvent(event)
        if not event.modifiers() & _SHIFT:
            self._anchor = self.current_key()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        super().mouseMoveEvent(event)
        point = self.pointer = event.position().toPoint()
        over = self._button_at(point) is not None or self._ticks_at(point)
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        super().mouseReleaseEvent(event)
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        index = self.indexAt(event.position().toPoint())
        if not index.isValid() or self._ticks_at(event.position().toPoint()):
            return
        key = self._table.row(index.row()).key
        if self._button_at(event.position().toPoint()) is not None:
            self.acted.emit(key)
        elif not self.choosable or not event.modifiers() & _CHOOSING:
            self.opened.emit(key)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: D102
        super().leaveEvent(event)
        self.pointer = _NOWHERE
        self.viewport().update()

    def hovered_row(self) -> int:
        """Row under the pointer; -1 for none."""
        return self.rowAt(self.pointer.y())

    @Slot()
    def _on_selection_changed(self) -> None:
        self.chosen_changed.emit()

    def _ticks_at(self, point: QPoint) -> bool:
        index = self.indexAt(point)
        if not self.choosable or not index.isValid() or index.column() != 0:
            return False
        cell, edge = self.visualRect(index), self._theme.px(self.first_edge() - _TICK_GAP // 2)
        return point.x() > cell.right() - edge if self.isRightToLeft() else point.x() < cell.left() + edge

    def _button_at(self, point: QPoint) -> QRect | None:
        index = self.indexAt(point)
        cell = index.data(CellRole.CELL) if index.isValid() else None
        if not isinstance(cell, ButtonCell) or not cell.text:
            return None
        rect = button_rect(self._theme, cell, QRectF(self.visualRect(index)), last=True).toRect()
        return rect if rect.contains(point) else None


class CellDelegate(QStyledItemDelegate):
    """Paints every kind of cell."""

    def __init__(self, view: "CellView") -> None:
        self._theme = app_theme()
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: D102
        return QSize(40, self._theme.px(55))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: D102
        painter.save()
        antialiased(painter)
        rect = QRectF(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = self._view.hovered_row() == index.row()
        self._paint_ground(painter, rect, index, selected=selected, hovered=hovered)
        last = index.column() == index.model().columnCount() - 1
        left = self._view.first_edge() if index.column() == 0 else _PAD
        area = rect.adjusted(self._theme.px(left), 0, -self._theme.px(_EDGE if last else _PAD), 0)
        area = mirrored(painter, area, rect)
        if self._view.choosable and index.column() == 0:
            paint_tick_box(self._theme, painter, self._view.tick_rect(rect), ticked=selected, hovered=hovered)
        cell: Cell = index.data(CellRole.CELL)
        match cell:
            case LabelCell():
                _paint_text(self._theme, painter, cell, area)
            case TwoLineCell():
                _paint_two_lines(self._theme, painter, cell, area)
            case StateCell():
                paint_chip(
                    self._theme,
                    painter,
                    STATE_CHIP_STYLES[cell.state],
                    _centred(painter, area, chip_size(self._theme, STATE_CHIP_STYLES[cell.state])),
                )
            case LevelCell():
                _paint_level(self._theme, painter, cell, area)
            case ProgressCell():
                _paint_progress_cell(self._theme, painter, cell, area)
            case HeatCell():
                paint_heat(self._theme, painter, cell, rect)
            case LevelCountsCell():
                paint_level_counts(self._theme, painter, cell, area)
            case ButtonCell() if cell.text:
                box = button_rect(self._theme, cell, rect, last=last)
                over = hovered and box.contains(self._view.pointer)
                _paint_button(self._theme, painter, cell, box, hovered=over)
        painter.restore()

    def _paint_ground(self, painter: QPainter, rect: QRectF, index: Index, *, selected: bool, hovered: bool) -> None:
        if selected or hovered:
            painter.fillRect(rect, self._theme.colour("accenttint" if selected else "surface2"))
        if selected and index.column() == 0:
            bar = mirrored(painter, QRectF(rect.left(), rect.top(), 3, rect.height()), rect)
            painter.fillRect(bar, self._theme.colour("accent"))
        if self._view.choosable and self._view.hasFocus() and index.row() == self._view.currentIndex().row():
            self._paint_frame(painter, rect, index)
        if index.row() < index.model().rowCount() - 1:
            painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), self._theme.colour("border"))

    def _paint_frame(self, painter: QPainter, rect: QRectF, index: Index) -> None:
        """Frame the row that the keyboard is at, cell by cell."""
        left, top, width, height = rect.left(), rect.top(), rect.width(), rect.height()
        edges = [QRectF(left, top, width, 2), QRectF(left, top + height - 3, width, 2)]
        if index.column() == 0:
            edges.append(mirrored(painter, QRectF(left, top, 2, height), rect))
        if index.column() == index.model().columnCount() - 1:
            edges.append(mirrored(painter, QRectF(left + width - 2, top, 2, height), rect))
        for edge in edges:
            painter.fillRect(edge, self._theme.colour("accent"))


def button_rect(theme: Theme, button: ButtonCell, cell: QRectF, *, last: bool) -> QRectF:
    """Rectangle of a cell's button, at the edge where lines end."""
    px = theme.px
    width = QFontMetricsF(theme.font(Role.LABEL_MEDIUM)).horizontalAdvance(button.text) + 2 * px(_BUTTON_PAD)
    edge = px(_EDGE if last else _PAD)
    right_to_left = QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft
    left = cell.left() + edge if right_to_left else cell.right() - edge - width
    return QRectF(left, cell.center().y() - px(_BUTTON_HEIGHT) / 2, width, px(_BUTTON_HEIGHT))


def _centred(painter: QPainter, area: QRectF, size: QSize) -> QRectF:
    box = QRectF(area.left(), area.center().y() - size.height() / 2, size.width(), size.height())
    return mirrored(painter, box, area)


def _paint_level(theme: Theme, painter: QPainter, cell: LevelCell, area: QRectF) -> None:
    if cell.level is None:
        _paint_text(theme, painter, LabelCell(cell.text, "text3"), area)
    else:
        box = _centred(painter, area, level_badge_size(theme, cell.text))
        paint_level_badge(theme, painter, cell.level, cell.text, box)


def _paint_text(theme: Theme, painter: QPainter, cell: LabelCell, area: QRectF) -> None:
    """Paint one or two lines; longer text ends in an ellipsis, and screen readers get all of it."""
    font = theme.font(Role.LABEL_STRONG if cell.strong else Role.LABEL)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    painter.setPen(theme.colour(cell.ink))
    side = Qt.AlignmentFlag.AlignRight if cell.right else Qt.AlignmentFlag.AlignLeft
    if metrics.horizontalAdvance(cell.text) <= area.width():
        painter.drawText(area, _LINE | side, cell.text)
        return
    if cell.name:
        shown = metrics.elidedText(cell.text, Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area, _LINE | side, shown)
        return
    first, rest = _broken(cell.text, metrics, area.width())
    height = theme.line_height(Role.LABEL)
    top = area.center().y() - (height if rest else height / 2)
    painter.drawText(QRectF(area.left(), top, area.width(), height), _LINE | side, first)
    if rest:
        shown = metrics.elidedText(rest, Qt.TextElideMode.ElideRight, area.width())
        below = QRectF(area.left(), top + height, area.width(), height)
        painter.drawText(below, _LINE | side, shown)


def _broken(text: str, metrics: QFontMetricsF, width: float) -> tuple[str, str]:
    """Split text into the first line and the rest."""
    words = text.split(" ")
    count = 1
    while count < len(words) and metrics.horizontalAdvance(" ".join(words[: count + 1])) <= width:
        count += 1
    first = metrics.elidedText(" ".join(words[:count]), Qt.TextElideMode.ElideRight, width)
    return first, " ".join(words[count:])


def _paint_two_lines(theme: Theme, painter: QPainter, cell: TwoLineCell, area: QRectF) -> None:
    """Paint a name over a caption; a long caption takes as many lines as fit."""
    first, second = theme.line_height(Role.LABEL_STRONG), theme.line_height(Role.CAPTION)
    caption = QFontMetricsF(theme.font(Role.CAPTION))
    lines: list[str] = []
    rest = cell.second
    room = int((area.height() - first - second) // second)
    while rest and len(lines) < room and caption.horizontalAdvance(rest) > area.width():
        begun, rest = _broken(rest, caption, area.width())
        lines.append(begun)
    lines += [rest] if rest else []
    top = area.center().y() - (first + second * len(lines)) / 2
    for index, text in enumerate((cell.first, *lines)):
        font = theme.font(Role.CAPTION if index else Role.LABEL_STRONG)
        painter.setFont(font)
        painter.setPen(theme.colour("text2" if index else "text"))
        cut = Qt.TextElideMode.ElideRight if index else Qt.TextElideMode.ElideMiddle
        shown = QFontMetricsF(font).elidedText(text, cut, area.width())
        y = top + (first + second * (index - 1) if index else 0)
        line = QRectF(area.left(), y, area.width(), second if index else first)
        painter.drawText(line, _LINE, shown)


def _paint_progress_cell(theme: Theme, painter: QPainter, cell: ProgressCell, area: QRectF) -> None:
    height = theme.line_height(Role.LABEL)
    top = area.center().y() - height + 2
    strong = theme.font(Role.LABEL_STRONG)
    painter.setFont(strong)
    painter.setPen(theme.colour("text"))
    line = QRectF(area.left(), top, area.width(), height)
    figures = painter.fontMetrics().elidedText(cell.figures, Qt.TextElideMode.ElideRight, int(line.width()))
    painter.drawText(line, _LINE, figures)
    start = QFontMetricsF(strong).horizontalAdvance(figures + " ")
    painter.setFont(theme.font(Role.LABEL))
    painter.setPen(theme.colour("text2"))
    more = painter.fontMetrics().elidedText(cell.more, Qt.TextElideMode.ElideRight, int(line.width() - start))
    painter.drawText(mirrored(painter, line.adjusted(start, 0, 0, 0), line), _LINE, more)
    width = min(area.width(), theme.px(_BAR_WIDTH))
    bar = mirrored(painter, QRectF(area.left(), top + height + 3, width, theme.px(6)), area)
    paint_progress(theme, painter, bar, cell.share)


def _paint_button(theme: Theme, painter: QPainter, button: ButtonCell, box: QRectF, *, hovered: bool) -> None:
    colours = theme.colours
    fill: QColor | None = hover_fill(theme, colours.surface, hovered=hovered, pressed=False)
    edge: QColor | None = theme.colour("control")
    if button.quiet:
        fill, edge = (theme.colour("sunken"), None) if hovered else (None, None)
    rounded(painter, box, 8, fill, edge)
    painter.setFont(theme.font(Role.LABEL_MEDIUM))
    painter.setPen(QPen(theme.colour("text2" if button.quiet else "text")))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, button.text)
