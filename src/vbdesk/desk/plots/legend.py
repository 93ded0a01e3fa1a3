"""What the marks of the trajectory charts mean."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk import theme
from vbdesk.desk.theme import Role
from vbdesk.desk.widgets.text import Text

Paint = Callable[[QPainter, QRectF], None]


class Legend(QWidget):
    """Marks and words in one line, or in two where there is no room; `Text` items scale with the system font."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[QWidget] = []
        self._rows = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(20, 10, 20, 10)
        self._grid.setHorizontalSpacing(22)
        self._grid.setVerticalSpacing(4)
        for words, paint, width in (
            ("Reading, larger is surer", _readings, 20),
            ("Quality issue", _hollow, 12),
            ("Smoothed, 90 % interval", _estimate, 24),
            ("Own range", _own_range, 20),
            ("Unusual for this person", _unusual, 18),
            ("Consider", _consider, 20),
        ):
            entry = QWidget()
            row = QHBoxLayout(entry)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(8)
            row.addWidget(_Mark(paint, width))
            row.addWidget(Text(words, Role.CAPTION, "text2"))
            self._entries.append(entry)
        self._arrange(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take a second line where one is too narrow."""
        super().resizeEvent(event)
        spacing, margins = self._grid.horizontalSpacing(), self._grid.contentsMargins()
        needed = sum(entry.sizeHint().width() + spacing for entry in self._entries) - spacing
        self._arrange(1 if needed <= event.size().width() - margins.left() - margins.right() else 2)

    def minimumSizeHint(self) -> QSize:
        """Narrower than one line: it breaks into two."""
        return QSize(0, super().minimumSizeHint().height())

    def _arrange(self, rows: int) -> None:
        if rows == self._rows:
            return
        self._rows = rows
        columns = -(-len(self._entries) // rows)
        self._grid.setColumnStretch(len(self._entries), 1)
        for place, entry in enumerate(self._entries):
            self._grid.addWidget(entry, place // columns, place % columns)


class _Mark(QWidget):
    """One mark, as the charts draw it."""

    def __init__(self, paint: Paint, width: int) -> None:
        super().__init__()
        self._paint = paint
        self.setFixedSize(width, 18)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint(painter, QRectF(self.rect()))
        painter.end()


def _disc(painter: QPainter, centre: QPointF, radius: float, fill: QColor, pen: QPen | None = None) -> None:
    painter.setPen(pen or QPen(Qt.PenStyle.NoPen))
    painter.setBrush(fill)
    painter.drawEllipse(centre, radius, radius)


def _readings(painter: QPainter, rect: QRectF) -> None:
    dot = theme.colour("text2")
    dot.setAlphaF(0.62)
    _disc(painter, QPointF(4, rect.center().y()), 2.2, dot)
    _disc(painter, QPointF(14, rect.center().y()), 4.2, dot)


def _hollow(painter: QPainter, rect: QRectF) -> None:
    _disc(painter, rect.center(), 3.5, theme.colour("surface"), QPen(theme.colour("text2"), 1.4))


def _estimate(painter: QPainter, rect: QRectF) -> None:
    accent = theme.colour("accent")
    band = QColor(accent)
    band.setAlphaF(0.16)
    painter.fillRect(rect.adjusted(0, 4, 0, -4), band)
    painter.setPen(QPen(accent, 2))
    painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()))


def _own_range(painter: QPainter, rect: QRectF) -> None:
    painter.fillRect(rect.adjusted(0, 4, 0, -4), theme.colour("base"))


def _unusual(painter: QPainter, rect: QRectF) -> None:
    _disc(painter, rect.center(), 7.0, theme.colour("surface"), QPen(theme.colour("text"), 1.75))
    _disc(painter, rect.center(), 4.2, QColor(theme.active().level(Level.MODERATE).shape))


def _consider(painter: QPainter, rect: QRectF) -> None:
    pen = QPen(QColor(theme.active().level(Level.CONSIDER).ink), 1)
    pen.setDashPattern([2, 4])
    painter.setPen(pen)
    painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()))
