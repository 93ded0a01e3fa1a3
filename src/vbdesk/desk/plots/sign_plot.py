"""One sign of one subject over time: readings, smoothed estimate, own range, what stands out."""

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QWidget

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk import theme
from vbdesk.desk.plots.trajectory_data import DAY_S, Course, Floats, Readings, SignChart
from vbdesk.desk.theme import Role

ScoreRange = tuple[float, float]

SCORE_RANGE: ScoreRange = (0.10, 0.84)  # the same in all charts, so that heights can be compared
_MARGIN_SHARE = 0.012  # of the span, left of the first and right of the last recording


class SignPlot(pg.PlotWidget):  # type: ignore[misc]
    """The chart of one sign; x in epoch seconds, y the score.

    Signals:
        moment_pointed: (float) epoch seconds under the pointer.
        moment_chosen: (float) epoch seconds that were clicked.
    """

    moment_pointed = Signal(float)
    moment_chosen = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent, background=theme.active().colours.surface)
        self._chart: SignChart | None = None
        self._cursor = pg.InfiniteLine(angle=90)
        self._cursor_dot = pg.ScatterPlotItem(size=9)
        self.setFrameShape(self.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.hideAxis("left")
        self.hideAxis("bottom")
        self.getPlotItem().getViewBox().setMouseEnabled(x=True, y=False)
        self.getPlotItem().getViewBox().setDefaultPadding(0.0)

    def show_chart(self, chart: SignChart, today_s: float, scores: ScoreRange = SCORE_RANGE) -> None:
        """Draw `chart` afresh."""
        self.clear()
        self._chart = chart
        self.setYRange(*scores, padding=0.0)
        colours = theme.active().colours
        self.setBackground(colours.surface)
        self._draw_own_range(chart.course)
        if Level.CONSIDER in chart.cuts:
            dotted = pg.mkPen(theme.active().level(Level.CONSIDER).ink, width=1, style=Qt.PenStyle.CustomDashLine)
            dotted.setDashPattern([2, 4])
            self.addItem(pg.InfiniteLine(chart.cuts[Level.CONSIDER], angle=0, pen=dotted))
        self._draw_estimate(chart.course)
        self._draw_readings(chart.readings)
        self._draw_unusual(chart)
        self.addItem(pg.InfiniteLine(today_s, angle=90, pen=pg.mkPen(colours.text, width=1.25)))
        self._cursor.setPen(pg.mkPen(colours.text2, width=1))
        self._cursor_dot.setBrush(pg.mkBrush(colours.surface))
        self._cursor_dot.setPen(pg.mkPen(colours.accent, width=2.25))
        self.addItem(self._cursor)
        self.addItem(self._cursor_dot)
        self._cursor.hide()
        self._cursor_dot.hide()

    def name_gaps(self) -> None:
        """Say in words, above the readings, how long nothing was recorded."""
        if self._chart is None:
            return
        course = self._chart.course
        top = self.getPlotItem().getViewBox().viewRange()[1][1]
        for before, after in course.gaps():
            days = round((course.t[after] - course.t[before]) / DAY_S)
            words = pg.TextItem(f"no recordings, {days} days", color=theme.active().colours.text3, anchor=(0.5, 0.0))
            words.setFont(theme.active().font(Role.CAPTION))
            words.setPos((course.t[before] + course.t[after]) / 2, top)
            self.addItem(words)

    def show_span(self, start_s: float, end_s: float) -> None:
        """Show the time from `start_s` to `end_s` with a little room on both sides."""
        margin = (end_s - start_s) * _MARGIN_SHARE
        self.setXRange(start_s - margin, end_s + margin, padding=0.0)

    def place_cursor(self, moment_s: float | None) -> None:
        """Stand the cursor at a moment; None takes it away."""
        self._cursor.setVisible(moment_s is not None)
        course = None if self._chart is None else self._chart.course
        here = moment_s is not None and course is not None and len(course.t) > 0
        self._cursor_dot.setVisible(here)
        if moment_s is None:
            return
        self._cursor.setPos(moment_s)
        if here and course is not None:
            nearest = int(np.argmin(np.abs(course.t - moment_s)))
            self._cursor_dot.setData([course.t[nearest]], [course.estimate[nearest]])

    def x_of(self, moment_s: float) -> float:
        """Horizontal pixel of a moment within this widget."""
        scene = self.getPlotItem().getViewBox().mapViewToScene(QPointF(moment_s, 0.0))
        return float(self.mapFromScene(scene).x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell which moment the pointer is at."""
        super().mouseMoveEvent(event)
        self.moment_pointed.emit(self._moment_at(event))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell which moment was clicked."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.moment_chosen.emit(self._moment_at(event))

    def _moment_at(self, event: QMouseEvent) -> float:
        point = self.getPlotItem().getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
        return float(point.x())

    def _band(self, t: Floats, low: Floats, high: Floats, colour: QColor) -> None:
        # curves without a pen, because a filled band between PlotDataItems without one draws nothing
        lower, upper = pg.PlotCurveItem(t, low, pen=None), pg.PlotCurveItem(t, high, pen=None)
        self.addItem(pg.FillBetweenItem(lower, upper, brush=pg.mkBrush(colour)))

    def _draw_own_range(self, course: Course) -> None:
        if len(course.t) > 1:
            self._band(course.t, course.own_low, course.own_high, _faded(theme.active().colours.base, 0.75))

    def _draw_estimate(self, course: Course) -> None:
        accent = theme.active().colours.accent
        for before, after in course.gaps():
            ends = np.array([before, after])
            middle = _across_gap(course, before, after)
            self._band(*middle, _faded(accent, 0.09))
            dots = pg.mkPen(accent, width=1.5, style=Qt.PenStyle.CustomDashLine)
            dots.setDashPattern([1, 5])
            self.addItem(pg.PlotCurveItem(course.t[ends], course.estimate[ends], pen=dots, antialias=True))
        for stretch in course.stretches():
            t = course.t[stretch]
            self._band(t, course.interval_low[stretch], course.interval_high[stretch], _faded(accent, 0.16))
            pen = pg.mkPen(accent, width=2)
            self.addItem(pg.PlotCurveItem(t, course.estimate[stretch], pen=pen, antialias=True))

    def _draw_readings(self, readings: Readings) -> None:
        colours = theme.active().colours
        diameter = 2.0 * (1.8 + 1.9 * readings.weight)
        for mask, brush, pen in (
            (~readings.has_issues, pg.mkBrush(_faded(colours.text2, 0.62)), pg.mkPen(None)),
            (readings.has_issues, pg.mkBrush(colours.surface), pg.mkPen(colours.text2, width=1.4)),
        ):
            if mask.any():
                self.addItem(
                    pg.ScatterPlotItem(
                        readings.t[mask],
                        readings.score[mask],
                        size=diameter[mask],
                        brush=brush,
                        pen=pen,
                        antialias=True,
                    )
                )

    def _draw_unusual(self, chart: SignChart) -> None:
        colours, readings = theme.active().colours, chart.readings
        unusual = [index for index in range(len(readings.t)) if chart.is_unusual(index)]
        if not unusual:
            return
        t, score = readings.t[unusual], readings.score[unusual]
        ring = pg.ScatterPlotItem(
            t, score, size=15, brush=colours.surface, pen=pg.mkPen(colours.text, width=1.75), antialias=True
        )
        brushes = [pg.mkBrush(theme.active().level(readings.levels[index]).shape) for index in unusual]
        self.addItem(ring)
        self.addItem(pg.ScatterPlotItem(t, score, size=8.4, brush=brushes, pen=pg.mkPen(None), antialias=True))


class LevelLadder(QWidget):
    """The level cuts of one sign as a thin ladder, with an arrow at the current estimate."""

    WIDTH = 32
    _RUNG = 5

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cuts: Mapping[Level, float] = {}
        self._estimate: float | None = None
        self._scores = SCORE_RANGE
        self.setFixedWidth(self.WIDTH)

    def show_chart(self, chart: SignChart, scores: ScoreRange = SCORE_RANGE) -> None:
        """Show the cuts and the newest estimate of `chart`."""
        self._cuts, self._scores = chart.cuts, scores
        self._estimate = float(chart.course.estimate[-1]) if len(chart.course.t) else None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rungs from the bottom up, then the arrow."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        levels = [level for level in LEVEL_ORDER if level is Level.NONE or level in self._cuts]
        starts = [self._scores[0], *(self._cuts[level] for level in levels[1:])] if self._cuts else []
        for level, start, stop in zip(levels, starts, [*starts[1:], self._scores[1]], strict=False):
            painter.setBrush(QColor(theme.active().level(level).heat))
            top = self._y(stop) + (0 if level is levels[-1] else 1)
            painter.drawRect(4, round(top), self._RUNG, max(1, round(self._y(start) - top)))
        if self._estimate is not None:
            painter.setBrush(theme.colour("text"))
            y = self._y(min(max(self._estimate, self._scores[0]), self._scores[1]))
            painter.drawPolygon(QPolygonF([QPointF(13, y), QPointF(20, y - 4.5), QPointF(20, y + 4.5)]))
        painter.end()

    def _y(self, score: float) -> float:
        low, high = self._scores
        return self.height() * (1.0 - (score - low) / (high - low))


def _faded(colour: str, alpha: float) -> QColor:
    faded = QColor(colour)
    faded.setAlphaF(alpha)
    return faded


def _across_gap(course: Course, before: int, after: int) -> tuple[Floats, Floats, Floats]:
    """The interval across a gap: widest in its middle, where nothing was heard for longest."""
    t = np.array([course.t[before], (course.t[before] + course.t[after]) / 2, course.t[after]])
    low = np.array([course.interval_low[before], 0.0, course.interval_low[after]])
    high = np.array([course.interval_high[before], 0.0, course.interval_high[after]])
    low[1] = min(low[0], low[2], course.own_low[before])
    high[1] = max(high[0], high[2], course.own_high[before])
    return t, low, high
