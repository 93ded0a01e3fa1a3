"""Chart markers, painted once into a pixmap strip and copied: thousands cost a millisecond."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from shiboken6 import wrapInstance

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.trajectory_data import Flags, Floats
from vbdesk.desk.ui.painting import paint_level
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Palette

RING_RADIUS = 7.5
_GLYPH = 9.0
_SIZES = 8
_HEAVIEST = 1.5  # larger weights are drawn with this size
_CELL = 2.0 * (RING_RADIUS + 2.0)
_LEVELS = tuple(Level)
_FRAGMENT_FIELDS = 10  # of QPainter.PixmapFragment: centre, source rectangle, scale, rotation, opacity

Cells = NDArray[np.intp]


def draw_readings(
    theme: Theme,
    painter: QPainter,
    x: Floats,
    y: Floats,
    weight: Floats,
    has_issues: Flags,
    *,
    scale: float,
    alpha: float,
) -> None:
    """Draw dots sized by weight; rings for recordings with quality issues."""
    size = np.rint(np.clip(weight, 0.0, _HEAVIEST) / _HEAVIEST * (_SIZES - 1)).astype(np.intp)
    colours, ratio = theme.colours, painter.device().devicePixelRatioF()
    _draw_markers(
        painter, x, y, size + _SIZES * has_issues, _reading_strip(colours.text2, colours.surface, scale, alpha, ratio)
    )


def draw_unusual(theme: Theme, painter: QPainter, x: Floats, y: Floats, levels: list[Level], *, scale: float) -> None:
    """Draw the level glyph of each reading in a ring."""
    cells = np.array([_LEVELS.index(level) for level in levels], dtype=np.intp)
    ratio = painter.device().devicePixelRatioF()
    shapes = tuple(theme.level(level).shape for level in _LEVELS)
    _draw_markers(painter, x, y, cells, _unusual_strip(theme.colours, shapes, scale, ratio))


def paint_unusual_marker(theme: Theme, painter: QPainter, at: QPointF, level: Level) -> None:
    """Paint the glyph of a level in a ring."""
    _paint_unusual(painter, at, level, theme.level(level).shape, theme.colours)


def _paint_unusual(painter: QPainter, at: QPointF, level: Level, shape: str, colours: Palette) -> None:
    painter.setPen(QPen(QColor(colours.text), 1.75))
    painter.setBrush(QColor(colours.surface))
    painter.drawEllipse(at, RING_RADIUS, RING_RADIUS)
    glyph = QRectF(at.x() - _GLYPH / 2, at.y() - _GLYPH / 2, _GLYPH, _GLYPH)
    paint_level(painter, level, glyph, QColor(shape), QColor(colours.surface))


def _draw_markers(painter: QPainter, x: Floats, y: Floats, cells: Cells, strip: QPixmap) -> None:
    """Draw cells of a strip; x and y are centres."""
    if not len(x):
        return
    side = strip.height()
    fields = np.empty((len(x), _FRAGMENT_FIELDS))
    fields[:, 0], fields[:, 1] = x, y
    fields[:, 2], fields[:, 3] = side * cells, 0.0
    fields[:, 4:6] = side
    fields[:, 6:8] = 1.0 / strip.devicePixelRatio()
    fields[:, 8], fields[:, 9] = 0.0, 1.0
    first = wrapInstance(fields.ctypes.data, QPainter.PixmapFragment)  # reads the array in place
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.drawPixmapFragments(first, len(x), strip)  # type: ignore[arg-type]  # shiboken types it as Object


@lru_cache(maxsize=8)
def _reading_strip(ink: str, surface: str, scale: float, alpha: float, ratio: float) -> QPixmap:
    """Dots from light to heavy, then rings from light to heavy."""
    faded = QColor(ink)
    faded.setAlphaF(alpha)

    def paint(painter: QPainter, cell: int, at: QPointF) -> None:
        radius = scale * (1.8 + 1.9 * _HEAVIEST * (cell % _SIZES) / (_SIZES - 1))
        ring = cell >= _SIZES
        painter.setPen(QPen(QColor(ink), 1.4) if ring else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(surface) if ring else faded)
        painter.drawEllipse(at, radius, radius)

    return _render_strip(2 * _SIZES, 1.0, ratio, paint)


@lru_cache(maxsize=8)
def _unusual_strip(colours: Palette, shapes: tuple[str, ...], scale: float, ratio: float) -> QPixmap:
    """A marker for each level."""

    def paint(painter: QPainter, cell: int, at: QPointF) -> None:
        _paint_unusual(painter, at, _LEVELS[cell], shapes[cell], colours)

    return _render_strip(len(_LEVELS), scale, ratio, paint)


def _render_strip(cells: int, scale: float, ratio: float, paint: Callable[[QPainter, int, QPointF], None]) -> QPixmap:
    side = round(_CELL * scale * ratio)
    strip = QPixmap(side * cells, side)
    strip.setDevicePixelRatio(ratio)
    strip.fill(Qt.GlobalColor.transparent)
    painter = QPainter(strip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for cell in range(cells):
        painter.resetTransform()
        painter.translate((cell + 0.5) * side / ratio, side / 2 / ratio)
        painter.scale(scale, scale)
        paint(painter, cell, QPointF(0.0, 0.0))
    painter.end()
    return strip
