"""What the marks of the trajectory charts mean."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk import theme
from vbdesk.desk.theme import Role
from vbdesk.desk.widgets.text import Text

Paint = Callable[[QPainter, QRectF], None]


class Legend(QWidget):
    """One line of marks and words; `Text` items scale with the system font."""

    def __init__(self) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(20, 10, 20, 10)
        layout.setSpacing(8)
        for words, paint, width in (
            ("Reading, larger is surer", _readings, 20),
            ("Quality issue", _hollow, 12),
            ("Smoothed, 90 % interval", _estimate, 24),
            ("Own range", _own_range, 20),
            ("Unusual for this person", _unusual, 18),
            ("Consider", _consider, 20),
        ):
            layout.addWidget(_Mark(paint, width))
            layout.addWidget(Text(words, Role.CAPTION, "text2"))
            layout.addSpacing(14)
        layout.addStretch(1)


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
