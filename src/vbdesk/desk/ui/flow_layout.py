"""Layouts that give way in narrow windows: parts in lines, and rows that become columns.

What becomes narrower never becomes lower. Otherwise the scroll bar of an area around it could come and go without end.
"""

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QLayoutItem, QStackedWidget, QStyle, QWidget

from vbdesk.desk.ui.theme import app_theme


def is_styled(widget: QWidget) -> bool:
    """Whether a widget was shown already; before that, to ask it for a size has Qt style its parts, again each time."""
    return widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished)


class FlowLayout(QLayout):
    """Parts side by side in the direction of reading, in as many lines as they need.

    Its preferred width is that of one line; its height follows the width that it gets.
    """

    def __init__(self, parent: QWidget | None = None, *, margin: int = 0, spacing: int = 12) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._height = -1
        self.setContentsMargins(margin, margin, margin, margin)
        self.setSpacing(spacing)
        if parent is not None:
            parent.setLayout(self)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: D102
        self._items.append(item)

    def count(self) -> int:  # noqa: D102
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: D102
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # noqa: D102
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:  # noqa: D102
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:  # noqa: D102
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: D102
        return self._arrange(QRect(0, 0, width, 0), moving=False)

    def sizeHint(self) -> QSize:  # noqa: D102
        widths = [item.sizeHint().width() for item in self._shown()]
        gaps = self.spacing() * max(0, len(widths) - 1)
        return QSize(sum(widths) + gaps + self._sides(), self._present_height())

    def minimumSize(self) -> QSize:  # noqa: D102
        widest = max((item.minimumSize().width() for item in self._shown()), default=0)
        return QSize(widest + self._sides(), self._present_height())

    def setGeometry(self, rect: QRect) -> None:  # noqa: D102
        super().setGeometry(rect)
        height = self._arrange(rect, moving=True)
        if height != self._height:
            self._height = height
            self.update()  # the height that is asked for has changed

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _sides(self) -> int:
        margins = self.contentsMargins()
        return margins.left() + margins.right()

    def _present_height(self) -> int:
        return self.heightForWidth(self.geometry().width() or 1 << 20)

    def _arrange(self, rect: QRect, *, moving: bool) -> int:
        """Height of the parts in this width; with `moving` they are moved there."""
        inside = rect.marginsRemoved(self.contentsMargins())
        lines: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        x = 0
        for item in self._shown():
            hint = item.sizeHint()
            size = QSize(min(hint.width(), inside.width()), hint.height())
            if x and x + size.width() > inside.width():
                lines.append([])
                x = 0
            lines[-1].append((item, size))
            x += size.width() + self.spacing()
        y = inside.top()
        for number, line in enumerate(lines):
            y += self.spacing() if number else 0
            height = max((size.height() for _, size in line), default=0)
            x = inside.left()
            for item, size in line:
                if moving:
                    area = QRect(QPoint(x, y + (height - size.height()) // 2), size)
                    item.setGeometry(QStyle.visualRect(self._direction(), inside, area))
                x += size.width() + self.spacing()
            y += height
        return y - rect.top() + self.contentsMargins().bottom()

    def _direction(self) -> Qt.LayoutDirection:
        parent = self.parentWidget()
        return Qt.LayoutDirection.LeftToRight if parent is None else parent.layoutDirection()


def field_with_buttons(field: QWidget, *buttons: QWidget, least: int = 200, spacing: int = 12) -> "StackingRow":
    """A field that takes the width, and its buttons after it or, where it would get less than `least`, below it."""
    after = QWidget()
    line = FlowLayout(after, spacing=spacing)
    for button in buttons:
        line.addWidget(button)
    return StackingRow((field, after), least=least, spacing=spacing, shares=(1, 0))


class StackingRow(QWidget):
    """Parts side by side that share the width, or one below the other where a part would get too little.

    Its preferred width is that of one line.

    Signals:
        stacked_changed: (bool) its parts are now below each other, or side by side again.
    """

    stacked_changed = Signal(bool)

    def __init__(
        self,
        parts: Sequence[QWidget],
        *,
        least: int,
        spacing: int = 16,
        shares: Sequence[int] = (),
        whole: bool = False,
    ) -> None:
        """Make the row.

        Args:
            parts: in the order of reading.
            least: width of a part, at 100 % text, below which they are stacked.
            spacing: between them, in pixels.
            shares: of the width, for each part; equal if empty. A part with 0 has its preferred width.
            whole: stack them unless all have their preferred widths.
        """
        self._theme = app_theme()
        super().__init__()
        self._parts = tuple(zip(parts, shares or [1] * len(parts), strict=True))
        self._least, self._whole = least, whole
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(spacing)
        for part, share in self._parts:
            self._box.addWidget(part, share)

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        widest = max(_least_width(part) for part, _share in self._parts)
        return QSize(widest, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(self._one_line(), super().sizeHint().height())

    def is_stacked(self) -> bool:
        """Whether the parts are below each other."""
        return self._box.direction() is QBoxLayout.Direction.TopToBottom

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.LayoutRequest:  # a part came, went, or has other words
            self._arrange()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._arrange()

    def _arrange(self) -> None:
        if not is_styled(self):
            return
        narrow = self._one_line() > self.width()
        if self.is_stacked() is not narrow:
            self._box.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)
            self.updateGeometry()
            self.stacked_changed.emit(narrow)

    def _one_line(self) -> int:
        """Width at which every part gets what it needs, side by side."""
        least, shown = self._theme.px(self._least), [each for each in self._parts if not each[0].isHidden()]
        whole, shares, fixed, per_share = self._whole, 0, 0, 0.0
        for part, share in shown:
            preferred = max(part.sizeHint().width(), part.minimumWidth())
            width = preferred if whole or not share else max(least, _least_width(part))
            if share:
                shares += share
                per_share = max(per_share, width / share)
            else:
                fixed += width
        return math.ceil(per_share * shares) + fixed + self._box.spacing() * max(0, len(shown) - 1)


def _least_width(part: QWidget) -> int:
    return part.minimumWidth() or part.minimumSizeHint().width()


class FillingStack(QStackedWidget):
    """Pages that take the height that is left, but never less than what the page in front needs in this width."""

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(self._measure)

    def hasHeightForWidth(self) -> bool:  # noqa: D102
        return False

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(super().sizeHint().width(), self.minimumHeight())

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self._measure()
        return super().event(event)

    @Slot()
    def _measure(self) -> None:
        page = self.currentWidget()
        layout = None if page is None else page.layout()
        if layout is not None and layout.hasHeightForWidth():
            self.setMinimumHeight(layout.minimumHeightForWidth(self.width()))
        elif page is not None:
            self.setMinimumHeight(max(page.minimumHeight(), page.minimumSizeHint().height()))
