"""Painting functions that several widgets share."""

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.theme import Theme, mixed


def antialiased(painter: QPainter) -> QPainter:
    """Return `painter` with antialiasing on, and with the direction of its widget."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    device = painter.device()
    if isinstance(device, QWidget):
        painter.setLayoutDirection(device.layoutDirection())
    return painter


def mirrored(painter: QPainter, part: QRectF, area: QRectF) -> QRectF:
    """`part` of `area` where lines run from left to right; at the other side where they run from right to left."""
    if painter.layoutDirection() is not Qt.LayoutDirection.RightToLeft:
        return part
    return QRectF(area.left() + area.right() - part.right(), part.top(), part.width(), part.height())


def flipped(painter: QPainter, width: float) -> QPainter:
    """Return `painter`, mirrored where lines run from right to left: for scales without text."""
    if painter.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        painter.translate(width, 0)
        painter.scale(-1, 1)
    return painter


def rounded(painter: QPainter, rect: QRectF, radius: float, fill: QColor | None, edge: QColor | None = None) -> None:
    """Paint a rounded box with an optional 1 px border inside `rect`."""
    if edge is not None:
        rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
    painter.setPen(QPen(edge, 1.0) if edge is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect, radius, radius)


def paint_level(painter: QPainter, level: Level, rect: QRectF, shape: QColor, inside: QColor) -> None:
    """Paint the glyph of a level into a square `rect`; `inside` is the background, for cut-outs.

    The shapes differ without colour: ring, half ring, diamond, triangle, octagon, dashed ring with a bar.
    """
    painter.save()
    painter.translate(rect.topLeft())
    painter.scale(rect.width() / 16.0, rect.height() / 16.0)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(shape)
    if level in (Level.NONE, Level.LOW, Level.INCONCLUSIVE):
        _paint_ring(painter, level, shape)
    elif level is Level.CONSIDER:
        painter.drawPolygon(_polygon((8, 1.2), (14.8, 8), (8, 14.8), (1.2, 8)))
    elif level is Level.MODERATE:
        painter.drawPolygon(_polygon((8, 1.6), (15, 14), (1, 14)))
    else:
        painter.drawPolygon(_octagon())
        painter.setBrush(inside)
        painter.drawRoundedRect(QRectF(7.0, 3.6, 2.0, 5.4), 1.0, 1.0)
        painter.drawEllipse(QPointF(8.0, 11.4), 1.2, 1.2)
    painter.restore()


def _paint_ring(painter: QPainter, level: Level, shape: QColor) -> None:
    pen = QPen(shape, 1.75)
    circle = QRectF(2.0, 2.0, 12.0, 12.0)
    if level is Level.LOW:
        half = QPainterPath()
        half.moveTo(2.0, 8.0)
        half.arcTo(circle, 180.0, 180.0)
        painter.drawPath(half)
    if level is Level.INCONCLUSIVE:
        pen.setDashPattern([1.6, 1.3])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawEllipse(circle)
    if level is Level.INCONCLUSIVE:
        painter.setPen(QPen(shape, 1.75, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(QPointF(5.6, 8.0), QPointF(10.4, 8.0))


def _polygon(*points: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])


def _octagon() -> QPolygonF:
    corners = [math.radians(22.5 + 45 * corner) for corner in range(8)]
    return _polygon(*((8 + 7.4 * math.cos(angle), 8 + 7.4 * math.sin(angle)) for angle in corners))


def hover_fill(theme: Theme, fill: str, *, hovered: bool, pressed: bool) -> QColor:
    """Return a fill moved towards the text colour: by 6 % if hovered, by 12 % if pressed."""
    share = 0.12 if pressed else 0.06 if hovered else 0.0
    return mixed(fill, theme.colours.text, share)


def paint_tick_box(
    theme: Theme, painter: QPainter, box: QRectF, *, ticked: bool, hovered: bool, pressed: bool = False
) -> None:
    """Paint a check box into a square `box`."""
    colours = theme.colours
    if ticked:
        rounded(painter, box, 5, hover_fill(theme, colours.accentfill, hovered=hovered, pressed=pressed))
        inset = box.width() * 0.15
        paint_icon(painter, "check", box.adjusted(inset, inset, -inset, -inset), QColor(colours.on_accent))
    else:
        fill = hover_fill(theme, colours.surface, hovered=hovered, pressed=pressed)
        rounded(painter, box, 5, fill, QColor(colours.control))
