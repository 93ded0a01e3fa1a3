"""Painting functions for the chart of one sign."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from shiboken6 import VoidPtr

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.marker_pixmaps import draw_readings, draw_unusual
from vbdesk.desk.charts.trajectory_data import DAY_S, EstimateSeries, Floats, SignChart
from vbdesk.desk.ui.theme import Role, Theme
from vbdesk.language import ngettext
from vbdesk.report.analysis_changes import AnalysisChange

ScoreRange = tuple[float, float]

_LONE_HALF_WIDTH = 2.0  # px; bands of a single timepoint
_CROWDED_PX = 5.0  # with less space for each reading, readings move behind the estimate
_CROWDED_SCALE = 0.62
_SILENT_HEIGHT = 6.0
_DIAMOND_RADIUS = 10.0  # around the ring of an unusual reading


@dataclass(frozen=True, slots=True)
class ChartFrame:
    """Maps a chart's moments and scores to pixels of its rectangle."""

    rect: QRectF
    start: float
    end: float
    scores: ScoreRange

    def x(self, moment_s: Floats) -> Floats:
        """Pixels of moments."""
        return self.rect.left() + (moment_s - self.start) * (self.rect.width() / (self.end - self.start))

    def y(self, score: Floats) -> Floats:
        """Pixels of scores."""
        low, high = self.scores
        return self.rect.bottom() - (score - low) * (self.rect.height() / (high - low))

    def x_at(self, moment_s: float) -> float:
        """Pixel of one moment."""
        return float(self.x(np.float64(moment_s)))  # type: ignore[arg-type]

    def y_at(self, score: float) -> float:
        """Pixel of one score."""
        return float(self.y(np.float64(score)))  # type: ignore[arg-type]

    def moment_at(self, x: float) -> float:
        """Moment at a pixel."""
        return self.start + (x - self.rect.left()) * (self.end - self.start) / self.rect.width()

    def seen(self, t: Floats) -> slice:
        """Slice of ordered moments that are visible, plus one at either side."""
        first, last = np.searchsorted(t, (self.start, self.end))
        return slice(max(int(first) - 1, 0), int(last) + 1)


def paint_sign(theme: Theme, painter: QPainter, chart: SignChart, frame: ChartFrame) -> None:
    """Paint bands, baseline, estimate, readings and unusual readings."""
    estimates = chart.estimates
    stretches = [part for part in (_seen_part(run, frame, estimates.t) for run in estimates.stretches()) if part]
    colours = theme.colours
    for part in stretches:
        _band(
            painter, frame, estimates.t[part], estimates.own_low[part], estimates.own_high[part], QColor(colours.base)
        )
    if Level.CONSIDER in chart.cuts:
        y = frame.y_at(chart.cuts[Level.CONSIDER])
        painter.setPen(dotted(theme.level(Level.CONSIDER).ink))
        painter.drawLine(QLineF(frame.rect.left(), y, frame.rect.right(), y))
    for part in stretches:
        _line(painter, frame, estimates.t[part], estimates.baseline[part], dashed(colours.control))
    crowded = _crowded(chart.readings.t, frame)
    if crowded:
        _paint_readings(theme, painter, chart, frame, scale=_CROWDED_SCALE, alpha=0.30)
    for part in stretches:
        _paint_estimate(theme, painter, estimates, part, frame)
    if not crowded:
        _paint_readings(theme, painter, chart, frame, scale=1.0, alpha=0.62)
    _paint_missing(theme, painter, chart.silent, frame)
    _paint_unusual(theme, painter, chart, frame, _CROWDED_SCALE if crowded else 1.0)
    _paint_other_voice(theme, painter, chart, frame)


def paint_uncounted_time(theme: Theme, painter: QPainter, frame: ChartFrame, window: tuple[float, float]) -> None:
    """Shade the time before the window that counts, with a line at its start."""
    begins = frame.x_at(window[0])
    if begins <= frame.rect.left():
        return
    outside = QRectF(frame.rect)
    outside.setRight(begins)
    painter.fillRect(outside, shade(theme))
    painter.setPen(QPen(theme.colour("control"), 1.0))
    sharp = round(begins) + 0.5
    painter.drawLine(QLineF(sharp, frame.rect.top(), sharp, frame.rect.bottom()))


def paint_changes(theme: Theme, painter: QPainter, changes: Sequence[AnalysisChange], frame: ChartFrame) -> None:
    """Paint a line where another calibration made the readings."""
    painter.setPen(change_pen(theme))
    for change in changes:
        x = round(frame.x_at(change.at.timestamp())) + 0.5
        painter.drawLine(QLineF(x, frame.rect.top(), x, frame.rect.bottom()))


def change_pen(theme: Theme) -> QPen:
    """Pen of a change of the analysis."""
    pen = QPen(theme.colour("text2"), 1.5)
    pen.setDashPattern([5, 3])
    return pen


def paint_gaps(theme: Theme, painter: QPainter, estimates: EstimateSeries, frame: ChartFrame) -> None:
    """Write the length of each gap between recordings, where the text fits."""
    painter.setFont(theme.font(Role.CAPTION))
    painter.setPen(theme.colour("text3"))
    metrics = painter.fontMetrics()
    for before, after in estimates.gaps():
        left, right = frame.x_at(estimates.t[before]), frame.x_at(estimates.t[after])
        days = round((estimates.t[after] - estimates.t[before]) / DAY_S)
        for text in (
            ngettext("no recordings, {count} day", "no recordings, {count} days", days),
            ngettext("{count} day", "{count} days", days),
        ):
            if metrics.horizontalAdvance(text) + 12 <= right - left:
                area = QRectF(left, frame.rect.top(), right - left, metrics.height())
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)
                break


def dotted(colour: str) -> QPen:
    """Pen of a level cut."""
    pen = QPen(QColor(colour), 1.0)
    pen.setDashPattern([2, 4])
    return pen


def dashed(colour: str) -> QPen:
    """Pen of the baseline."""
    pen = QPen(QColor(colour), 1.25)
    pen.setDashPattern([6, 3])
    return pen


def shade(theme: Theme) -> QColor:
    """Overlay colour of time that does not count."""
    colour = theme.colour("sunken")
    colour.setAlphaF(0.7)
    return colour


def faded(theme: Theme, token: str, alpha: float) -> QColor:
    """A colour token with transparency."""
    colour = theme.colour(token)
    colour.setAlphaF(alpha)
    return colour


def paint_voice_marker(theme: Theme, painter: QPainter, at: QPointF, r: float = _DIAMOND_RADIUS) -> None:
    """Paint the diamond of radius `r` around a reading whose voice raises a question."""
    painter.setPen(QPen(theme.colour("warn"), 1.75))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolygon(QPolygonF([at + QPointF(*corner) for corner in ((0, -r), (r, 0), (0, r), (-r, 0))]))


def _seen_part(run: slice, frame: ChartFrame, t: Floats) -> slice | None:
    seen = frame.seen(t)
    start, stop = max(run.start, seen.start), min(run.stop, seen.stop)
    return slice(start, stop) if stop > start else None


def _polygon(x: Floats, y: Floats) -> QPolygonF:
    """Polygon from two arrays, copied in one step."""
    polygon = QPolygonF()
    polygon.resize(len(x))
    if len(x):
        memory: Any = VoidPtr(polygon.data(), 16 * len(x), True)  # type: ignore[arg-type,call-arg]
        points = np.frombuffer(memory, dtype=np.float64).reshape(-1, 2)
        points[:, 0], points[:, 1] = x, y
    return polygon


def _band(painter: QPainter, frame: ChartFrame, t: Floats, low: Floats, high: Floats, fill: QColor) -> None:
    x, low, high = frame.x(t), frame.y(low), frame.y(high)
    if len(x) == 1:
        x = np.array([x[0] - _LONE_HALF_WIDTH, x[0] + _LONE_HALF_WIDTH])
        low, high = np.repeat(low, 2), np.repeat(high, 2)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fill)
    painter.drawPolygon(_polygon(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])))


def _line(painter: QPainter, frame: ChartFrame, t: Floats, score: Floats, pen: QPen) -> None:
    painter.setPen(pen)
    painter.drawPolyline(_polygon(frame.x(t), frame.y(score)))


def _paint_estimate(theme: Theme, painter: QPainter, estimates: EstimateSeries, part: slice, frame: ChartFrame) -> None:
    t = estimates.t[part]
    _band(painter, frame, t, estimates.interval_low[part], estimates.interval_high[part], faded(theme, "accent", 0.16))
    pen = QPen(theme.colour("accent"), 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.BevelJoin)
    _line(painter, frame, t, estimates.estimate[part], pen)


def _crowded(t: Floats, frame: ChartFrame) -> bool:
    seen = frame.seen(t)
    return bool((seen.stop - seen.start) * _CROWDED_PX > frame.rect.width())


def _paint_readings(
    theme: Theme, painter: QPainter, chart: SignChart, frame: ChartFrame, *, scale: float, alpha: float
) -> None:
    readings = chart.readings
    seen = frame.seen(readings.t)
    x, y = frame.x(readings.t[seen]), frame.y(readings.score[seen])
    draw_readings(theme, painter, x, y, readings.weight[seen], readings.has_issues[seen], scale=scale, alpha=alpha)


def _paint_missing(theme: Theme, painter: QPainter, silent: Floats, frame: ChartFrame) -> None:
    painter.setPen(QPen(theme.colour("control"), 1.25))
    bottom = frame.rect.bottom()
    for x in frame.x(silent[frame.seen(silent)]).tolist():
        painter.drawLine(QLineF(x, bottom - _SILENT_HEIGHT, x, bottom))


def _paint_unusual(theme: Theme, painter: QPainter, chart: SignChart, frame: ChartFrame, scale: float) -> None:
    readings, seen = chart.readings, frame.seen(chart.readings.t)
    unusual = [index for index in sorted(chart.unusual) if seen.start <= index < seen.stop]
    x, y = frame.x(readings.t[unusual]), frame.y(readings.score[unusual])
    draw_unusual(theme, painter, x, y, [readings.levels[index] for index in unusual], scale=scale)


def _paint_other_voice(theme: Theme, painter: QPainter, chart: SignChart, frame: ChartFrame) -> None:
    readings = chart.readings
    for index in sorted(chart.other_voice):
        if frame.start <= readings.t[index] <= frame.end:
            at = QPointF(frame.x_at(readings.t[index]), frame.y_at(readings.score[index]))
            paint_voice_marker(theme, painter, at)
