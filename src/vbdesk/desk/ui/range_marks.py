"""Marks for a value: against the own baseline, on five bands, between two anchors."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from vbdesk.contract.baseline_changes import OWN_RANGE_Z
from vbdesk.desk.ui.painting import antialiased, flipped, rounded
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.language import _

_STRIP_Z = 3.2
_BANDS = 5
_MIDDLE_BAND = 2
_BAND_GAP = 3.0


class OwnRangeStrip(QWidget):
    """A change against the own baseline, in units of own variability; the text next to it says the same."""

    def __init__(self, z: float, sentence: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._z = z
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(sentence)

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(self._theme.px(116), self._theme.px(20))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = flipped(antialiased(QPainter(self)), self.width())
        middle = self.height() / 2
        beyond = abs(self._z) > OWN_RANGE_Z
        ink = self._theme.colour("accent" if beyond else "text2")
        rounded(painter, QRectF(0, middle - 1, self.width(), 2), 1, self._theme.colour("sunken"))
        low, high = self._x(-OWN_RANGE_Z), self._x(OWN_RANGE_Z)
        scale = self._theme.scale
        rounded(painter, QRectF(low, middle - 5 * scale, high - low, 10 * scale), 2, self._theme.colour("base"))
        painter.fillRect(QRectF(self._x(0) - 0.5, middle - 8 * scale, 1, 16 * scale), self._theme.colour("text2"))
        x = self._x(self._z)
        painter.setPen(QPen(ink, 2.0))
        painter.drawLine(QPointF(self._x(0), middle), QPointF(x, middle))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("surface"))
        painter.drawEllipse(QPointF(x, middle), 6.5 * scale, 6.5 * scale)
        painter.setBrush(ink)
        painter.drawEllipse(QPointF(x, middle), 4.75 * scale, 4.75 * scale)
        painter.end()

    def _x(self, z: float) -> float:
        held = min(_STRIP_Z, max(-_STRIP_Z, z))
        margin = 7 * self._theme.scale
        return margin + (held + _STRIP_Z) / (2 * _STRIP_Z) * (self.width() - 2 * margin)


class BandBar(QWidget):
    """The band of a value, one of five ordinal bands without numeric edges."""

    def __init__(self, band: int, text: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._band = band
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(_("{value}: band {band} of {bands}", value=text, band=band + 1, bands=_BANDS))

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, self._theme.px(14))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = flipped(antialiased(QPainter(self)), self.width())
        _paint_bands(self._theme, painter, self.width(), self.height())
        _paint_diamond(self._theme, painter, _middle_of(self._band, self.width()), self.height() / 2, filled=True)
        painter.end()


class PairBandBar(QWidget):
    """The bands of two values: left an open diamond, right a filled one; None for no value."""

    def __init__(self, left: int | None, right: int | None, text: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._left, self._right = left, right
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, self._theme.px(14))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = flipped(antialiased(QPainter(self)), self.width())
        _paint_bands(self._theme, painter, self.width(), self.height())
        apart = 9 * self._theme.scale if self._left == self._right else 0.0
        for band, shift, filled in ((self._left, -apart, False), (self._right, apart, True)):
            if band is not None:
                x = _middle_of(band, self.width()) + shift
                _paint_diamond(self._theme, painter, x, self.height() / 2, filled=filled)
        painter.end()


def _band_width(width: float) -> float:
    return (width - _BAND_GAP * (_BANDS - 1)) / _BANDS


def _middle_of(band: int, width: float) -> float:
    return band * (_band_width(width) + _BAND_GAP) + _band_width(width) / 2


def _paint_bands(theme: Theme, painter: QPainter, width: float, height: float) -> None:
    thickness = 8 * theme.scale
    for band in range(_BANDS):
        left = band * (_band_width(width) + _BAND_GAP)
        cell = QRectF(left, (height - thickness) / 2, _band_width(width), thickness)
        rounded(painter, cell, 3, theme.colour("band" if band == _MIDDLE_BAND else "sunken"))


def _paint_diamond(theme: Theme, painter: QPainter, x: float, middle: float, *, filled: bool) -> None:
    half = (6.5 if filled else 5.5) * theme.scale
    painter.setPen(QPen(theme.colour("surface" if filled else "text"), 2.0 if filled else 1.5))
    painter.setBrush(theme.colour("text" if filled else "surface"))
    corners = [(x, middle - half), (x + half, middle), (x, middle + half), (x - half, middle)]
    painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))


class BandLegend(QWidget):
    """Legend of the five bands."""

    def __init__(self) -> None:
        super().__init__()
        row = _legend_row(self)
        row.addWidget(_Swatch())
        row.addWidget(Text(_("within range"), Role.CAPTION, "text3"))


class SpreadLegend(QWidget):
    """Legend of dot and bar of a scale."""

    def __init__(self) -> None:
        super().__init__()
        row = _legend_row(self)
        row.addWidget(_Swatch(dot=True))
        row.addWidget(Text(_("mean and spread"), Role.CAPTION, "text3"))


def _legend_row(legend: QWidget) -> QHBoxLayout:
    row = QHBoxLayout(legend)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    return row


class _Swatch(QWidget):
    """A piece of the tinted band, with or without a dot."""

    def __init__(self, *, dot: bool = False) -> None:
        self._theme = app_theme()
        super().__init__()
        self._dot = dot
        self.setFixedSize(self._theme.px(20), self._theme.px(12))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = flipped(antialiased(QPainter(self)), self.width())
        middle, scale = self.height() / 2, self._theme.scale
        rounded(painter, QRectF(0, middle - 4 * scale, self.width(), 8 * scale), 3, self._theme.colour("band"))
        if self._dot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("text"))
            painter.drawEllipse(QPointF(self.width() / 2, middle), 4 * scale, 4 * scale)
        painter.end()


class AnchorBar(QWidget):
    """A mean between two verbal anchors, with its spread."""

    def __init__(self, mean: float, spread: float, text: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._mean, self._spread = mean, spread
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, self._theme.px(14))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = flipped(antialiased(QPainter(self)), self.width())
        scale = self._theme.scale
        margin, thickness = 6 * scale, 6 * scale
        top, width = (self.height() - thickness) / 2, self.width() - 2 * margin
        rounded(painter, QRectF(0, top, self.width(), thickness), 3, self._theme.colour("sunken"))
        low, high = max(0.0, self._mean - self._spread), min(1.0, self._mean + self._spread)
        spread = QRectF(margin + low * width, top, (high - low) * width, thickness)
        rounded(painter, spread, 3, self._theme.colour("band"))
        painter.setPen(QPen(self._theme.colour("surface"), 2.0))
        painter.setBrush(self._theme.colour("text"))
        painter.drawEllipse(QPointF(margin + self._mean * width, self.height() / 2), 5.5 * scale, 5.5 * scale)
        painter.end()
