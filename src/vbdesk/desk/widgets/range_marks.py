"""Small pictures of where a value lies: against the own baseline, on five bands, between two anchors."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk import theme
from vbdesk.desk.widgets.painting import antialiased, rounded

_STRIP_Z = 3.2
_OWN_RANGE_Z = 1.96
_BANDS = 5
_MIDDLE_BAND = 2


class OwnRangeStrip(QWidget):
    """A change against the own baseline, in own variabilities; the words beside it say the same."""

    def __init__(self, z: float, words: str) -> None:
        super().__init__()
        self._z = z
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{words}: {z:+.1f} own variabilities")

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(theme.active().px(116), theme.active().px(20))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        middle = self.height() / 2
        beyond = abs(self._z) > _OWN_RANGE_Z
        ink = theme.colour("accent" if beyond else "text2")
        rounded(painter, QRectF(0, middle - 1, self.width(), 2), 1, theme.colour("sunken"))
        low, high = self._x(-_OWN_RANGE_Z), self._x(_OWN_RANGE_Z)
        rounded(painter, QRectF(low, middle - 5, high - low, 10), 2, theme.colour("base"))
        painter.fillRect(QRectF(self._x(0) - 0.5, middle - 8, 1, 16), theme.colour("text2"))
        x = self._x(self._z)
        painter.setPen(QPen(ink, 2.0))
        painter.drawLine(QPointF(self._x(0), middle), QPointF(x, middle))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("surface"))
        painter.drawEllipse(QPointF(x, middle), 6.5, 6.5)
        painter.setBrush(ink)
        painter.drawEllipse(QPointF(x, middle), 4.75, 4.75)
        painter.end()

    def _x(self, z: float) -> float:
        held = min(_STRIP_Z, max(-_STRIP_Z, z))
        return 7 + (held + _STRIP_Z) / (2 * _STRIP_Z) * (self.width() - 14)


class BandBar(QWidget):
    """Which of five ordinal bands a value lies in; the bands have no numeric edges."""

    def __init__(self, band: int, words: str) -> None:
        super().__init__()
        self._band = band
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{words}: band {band + 1} of {_BANDS}")

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, theme.active().px(14))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        middle, gap = self.height() / 2, 3.0
        width = (self.width() - gap * (_BANDS - 1)) / _BANDS
        for band in range(_BANDS):
            cell = QRectF(band * (width + gap), middle - 4, width, 8)
            rounded(painter, cell, 3, theme.colour("band" if band == _MIDDLE_BAND else "sunken"))
        x = self._band * (width + gap) + width / 2
        painter.setPen(QPen(theme.colour("surface"), 2.0))
        painter.setBrush(theme.colour("text"))
        half = 6.5
        corners = [(x, middle - half), (x + half, middle), (x, middle + half), (x - half, middle)]
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
        painter.end()


class AnchorBar(QWidget):
    """A mean between two verbal anchors, with its spread."""

    def __init__(self, mean: float, spread: float, words: str) -> None:
        super().__init__()
        self._mean, self._spread = mean, spread
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{words}: {mean:.2f}, spread {spread:.2f}")

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, theme.active().px(14))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        middle, width = self.height() / 2, self.width() - 12
        rounded(painter, QRectF(0, middle - 3, self.width(), 6), 3, theme.colour("sunken"))
        low, high = max(0.0, self._mean - self._spread), min(1.0, self._mean + self._spread)
        rounded(painter, QRectF(6 + low * width, middle - 3, (high - low) * width, 6), 3, theme.colour("band"))
        painter.setPen(QPen(theme.colour("surface"), 2.0))
        painter.setBrush(theme.colour("text"))
        painter.drawEllipse(QPointF(6 + self._mean * width, middle), 5.5, 5.5)
        painter.end()
