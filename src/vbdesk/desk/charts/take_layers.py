"""What is painted over the picture of a take: markers, the pitch, the frequencies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.theme import Role, Theme
from vbdesk.language import _

_LABELLED_HZ = (1000, 2000, 4000, 6000)
_PITCH_HZ = (50.0, 600.0)  # what the analysis looks for
_LABELLED_PITCH_HZ = (100, 200, 400)
_LEAST_GAP_S = 0.025  # longer than two frames: the pitch is not drawn across it
_FLAG = 12


@dataclass(frozen=True, slots=True)
class TakePicture:
    """A spectrogram of a part of a take, with the pitch.

    Attributes:
        shades: shape (columns, bands), lowest frequency first; see `capture.spectrogram`.
        part: what it covers.
        highest_hz: of its highest band.
        pitch_s, pitch_hz: voiced moments and their pitch; empty if it was not measured.
    """

    shades: NDArray[np.uint8]
    part: TrimRange
    highest_hz: float
    pitch_s: NDArray[np.float64]
    pitch_hz: NDArray[np.float64]


def paint_pitch(painter: QPainter, theme: Theme, area: QRectF, picture: TakePicture, x: NDArray[np.float64]) -> None:
    """Paint the pitch as a line with gaps where there is no voice; `x` are the places of its moments.

    The pitch has a scale of its own, written at the right edge: on the scale of the spectrogram it would be flat.
    """
    if not len(x):
        return
    y = area.bottom() - area.height() * _pitch_share(picture.pitch_hz)
    ends = np.flatnonzero(np.diff(picture.pitch_s) > _LEAST_GAP_S) + 1
    for token, width in (("surface", 4.0), ("warn", 2.0)):
        painter.setPen(QPen(theme.colour(token), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        for part in np.split(np.arange(len(x)), ends):
            painter.drawPolyline(QPolygonF([QPointF(x[index], y[index]) for index in part]))
    _paint_pitch_scale(painter, theme, area)


def _pitch_share(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Height of a pitch on its scale, 0 to 1; each octave takes the same height."""
    low, high = np.log2(_PITCH_HZ)
    return np.asarray(np.clip((np.log2(hertz) - low) / (high - low), 0.0, 1.0))


def _paint_pitch_scale(painter: QPainter, theme: Theme, area: QRectF) -> None:
    painter.setFont(theme.font(Role.CAPTION))
    height = theme.line_height(Role.CAPTION)
    shares = _pitch_share(np.array(_LABELLED_PITCH_HZ, np.float64))
    for hertz, share in zip(_LABELLED_PITCH_HZ, shares.tolist(), strict=True):
        y = area.bottom() - area.height() * share
        text = _("{hertz} Hz", hertz=hertz)
        width = painter.fontMetrics().horizontalAdvance(text) + 8
        box = QRectF(area.right() - width - 12, y - height / 2, width, height)
        painter.fillRect(box, _ground(theme))
        painter.setPen(theme.colour("warn"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _ground(theme: Theme) -> QColor:
    """Behind text, so that it can be read over any picture."""
    ground = theme.colour("surface")
    ground.setAlphaF(0.8)
    return ground


def paint_frequencies(painter: QPainter, theme: Theme, area: QRectF, highest_hz: float) -> None:
    """Write frequencies at the left edge, with a short line each."""
    painter.setFont(theme.font(Role.CAPTION))
    height, least = theme.line_height(Role.CAPTION), 0.0
    for hertz in _LABELLED_HZ:
        y = area.bottom() - area.height() * hertz / highest_hz
        if hertz >= highest_hz or y - height / 2 < area.top() or (least and least - y < height):
            continue
        least = y
        text = _("{count} kHz", count=hertz // 1000)
        width = painter.fontMetrics().horizontalAdvance(text)
        box = QRectF(area.left() + 12, y - height / 2, width + 8, height)
        painter.fillRect(box, _ground(theme))
        painter.setPen(theme.colour("text2"))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.left() + 10, y))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def paint_marker(painter: QPainter, theme: Theme, x: float, area: QRectF) -> None:
    """Paint a marker that was set while recording: a dashed line with a flag."""
    pen = QPen(theme.colour("text2"), 1.5)
    pen.setDashPattern([2.0, 2.0])
    painter.setPen(pen)
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
    side = min(_FLAG, area.height() / 2)
    paint_icon(painter, "flag-filled", QRectF(round(x), area.top(), side, side), theme.colour("text2"))
