"""The chart of one sign of one subject over time, and the ladder of its levels."""

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk.charts.sign_painting import (
    ChartFrame,
    ScoreRange,
    paint_changes,
    paint_gaps,
    paint_sign,
    paint_uncounted_time,
)
from vbdesk.desk.charts.time_window import TimeViewBox, TimeWindow
from vbdesk.desk.charts.trajectory_data import DAY_S, SignChart
from vbdesk.desk.ui.painting import antialiased
from vbdesk.desk.ui.theme import app_theme

SCORE_RANGE: ScoreRange = (0.10, 0.84)  # the same in all charts, so that heights can be compared
ZOOM_STEP = 1.25


class SignPlot(pg.GraphicsView):  # type: ignore[misc]
    """Time on x, score on y: one view box, linked in time to those of the other signs.

    Signals:
        moment_pointed: (float) epoch seconds under the pointer.
        moment_chosen: (float) epoch seconds that were clicked.
        pointer_left: the pointer left the chart.
    """

    moment_pointed = Signal(float)
    moment_chosen = Signal(float)
    pointer_left = Signal()

    def __init__(self, window: TimeWindow, *, shows_gap_texts: bool = False) -> None:
        """Show the time of `window`; `shows_gap_texts` (topmost chart only) writes gap texts."""
        self._theme = app_theme()
        super().__init__(background=None)
        self._window, self._series_t, self._series_estimate = window, np.empty(0), np.empty(0)
        self.wheel_zooms = True
        self.view_box = TimeViewBox(mouse=True)
        self.setCentralItem(self.view_box)
        self._item = _SignItem(shows_gap_texts=shows_gap_texts)
        self._cursor = pg.InfiniteLine(angle=90)
        self._cursor_dot = pg.ScatterPlotItem(size=9)
        for item in (self._item, self._cursor, self._cursor_dot):
            self.view_box.addItem(item, ignoreBounds=True)
        self._cursor.hide()
        self._cursor_dot.hide()
        self.setViewportUpdateMode(self.ViewportUpdateMode.FullViewportUpdate)  # else a cursor leaves traces
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the trajectory view has the keyboard focus
        self.setMouseTracking(True)
        self.setMinimumWidth(120)
        self.scene().sigMouseClicked.connect(self._on_clicked)
        window.link(self.view_box)
        self._theme.changed.connect(self._repaint)
        self._repaint()

    def show_chart(
        self, chart: SignChart, today_s: float, counts: tuple[float, float], scores: ScoreRange = SCORE_RANGE
    ) -> None:
        """Show `chart`; `counts` is the window of time that the estimates rest on."""
        self._series_t, self._series_estimate = chart.estimates.t, chart.estimates.estimate
        self._item.show_chart(chart, today_s, counts)
        self.view_box.setYRange(*scores, padding=0.0)

    def move_cursor(self, moment_s: float | None) -> None:
        """Move the cursor to a moment; None hides it."""
        self._cursor.setVisible(moment_s is not None)
        at = None
        if moment_s is not None:
            self._cursor.setPos(moment_s)
            at = self._timepoint(moment_s)
        self._cursor_dot.setVisible(at is not None)
        if at is not None:
            self._cursor_dot.setData([self._series_t[at]], [self._series_estimate[at]])

    def frame(self) -> ChartFrame:
        """Mapping of moments and scores to this widget's pixels."""
        return self._item.frame()

    def x_of(self, moment_s: float) -> float:
        """Horizontal pixel of a moment within this widget."""
        return self.frame().x_at(moment_s)

    def detach(self) -> None:
        """Unlink the chart from the shared time before it is deleted."""
        self._window.detach(self.view_box)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Emit the moment under the pointer."""
        super().mouseMoveEvent(event)
        if not event.buttons():
            self.moment_pointed.emit(self.frame().moment_at(event.position().x()))

    def leaveEvent(self, event: QEvent) -> None:  # noqa: D102
        super().leaveEvent(event)
        self.pointer_left.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the pointer; if the charts scroll, only with Ctrl."""
        if self.wheel_zooms or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def viewportEvent(self, event: QEvent) -> bool:
        """Zoom by a touch pad gesture."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture:
            factor, moment = 1.0 / max(1.0 + event.value(), 0.2), self.frame().moment_at(event.position().x())
            self._window.zoom(factor, moment)
            self._window.moved.emit()
            return True
        return bool(super().viewportEvent(event))

    def _timepoint(self, moment_s: float) -> int | None:
        """Index of a moment's timepoint; None if the sign has no reading then."""
        if not len(self._series_t):
            return None
        nearest = int(np.argmin(np.abs(self._series_t - moment_s)))
        return nearest if abs(self._series_t[nearest] - moment_s) <= DAY_S else None

    @Slot(object)
    def _on_clicked(self, click: object) -> None:
        if click.button() == Qt.MouseButton.LeftButton:  # type: ignore[attr-defined]
            self.moment_chosen.emit(self.frame().moment_at(click.scenePos().x()))  # type: ignore[attr-defined]

    @Slot()
    def _repaint(self) -> None:
        colours = self._theme.colours
        self._cursor.setPen(pg.mkPen(colours.text2, width=1))
        self._cursor_dot.setBrush(pg.mkBrush(colours.surface))
        self._cursor_dot.setPen(pg.mkPen(colours.accent, width=2.25))
        self._item.redraw()


class _SignItem(pg.GraphicsObject):  # type: ignore[misc]
    """All content except the cursor, painted once for each range into a pixmap."""

    def __init__(self, *, shows_gap_texts: bool) -> None:
        self._theme = app_theme()
        super().__init__()
        self._shows_gap_texts = shows_gap_texts
        self._chart: SignChart | None = None
        self._today_s = 0.0
        self._counts = (0.0, 0.0)
        self._picture: QPixmap | None = None

    def show_chart(self, chart: SignChart, today_s: float, counts: tuple[float, float]) -> None:
        """Show other data."""
        self._chart, self._today_s, self._counts = chart, today_s, counts
        self.redraw()

    def redraw(self) -> None:
        """Discard the pixmap and repaint."""
        self._picture = None
        self.update()

    def frame(self) -> ChartFrame:
        """Mapping of the visible range to pixels."""
        box = self.getViewBox()
        (start, end), scores = box.viewRange()
        return ChartFrame(box.mapRectToScene(box.rect()), start, end, (scores[0], scores[1]))

    def boundingRect(self) -> QRectF:
        """The visible range, in moments and scores."""
        return QRectF(self.viewRect())

    def viewTransformChanged(self) -> None:
        """Handle a new range or size; called by pyqtgraph."""
        self.prepareGeometryChange()
        self.redraw()

    def paint(self, painter: QPainter, option: object, widget: QWidget | None = None) -> None:
        """Draw the pixmap without a transformation."""
        ratio = painter.device().devicePixelRatioF()
        frame = self.frame()
        if self._picture is None or self._picture.devicePixelRatio() != ratio:
            self._picture = self._painted(frame, ratio)
        painter.save()
        painter.resetTransform()
        painter.drawPixmap(frame.rect.topLeft(), self._picture)
        painter.restore()

    def _painted(self, frame: ChartFrame, ratio: float) -> QPixmap:
        picture = QPixmap((frame.rect.size() * ratio).toSize())
        picture.setDevicePixelRatio(ratio)
        picture.fill(self._theme.colour("surface"))
        if self._chart is None:
            return picture
        painter = antialiased(QPainter(picture))
        painter.translate(-frame.rect.topLeft())
        paint_uncounted_time(self._theme, painter, frame, self._counts)
        paint_sign(self._theme, painter, self._chart, frame)
        paint_changes(self._theme, painter, self._chart.changes, frame)
        if self._shows_gap_texts:
            paint_gaps(self._theme, painter, self._chart.estimates, frame)
        today = frame.x_at(self._today_s)
        painter.setPen(QPen(self._theme.colour("text"), 1.25))
        painter.drawLine(QLineF(today, frame.rect.top(), today, frame.rect.bottom()))
        painter.end()
        return picture


class LevelLadder(QWidget):
    """The level cuts of one sign as a thin ladder, with an arrow at the current estimate."""

    WIDTH = 32
    _RUNG = 5

    def __init__(self, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._cuts: Mapping[Level, float] = {}
        self._estimate: float | None = None
        self._scores = SCORE_RANGE
        self.setFixedWidth(self.WIDTH)

    def show_chart(self, chart: SignChart, scores: ScoreRange = SCORE_RANGE) -> None:
        """Show the cuts and the newest estimate of `chart`."""
        self._cuts, self._scores = chart.cuts, scores
        self._estimate = float(chart.estimates.estimate[-1]) if len(chart.estimates.t) else None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rungs from the bottom up, then the arrow."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        levels = [level for level in LEVEL_ORDER if level is Level.NONE or level in self._cuts]
        starts = [self._scores[0], *(self._cuts[level] for level in levels[1:])] if self._cuts else []
        for level, start, stop in zip(levels, starts, [*starts[1:], self._scores[1]], strict=False):
            painter.setBrush(QColor(self._theme.level(level).heat))
            top = self._y(stop) + (0 if level is levels[-1] else 1)
            painter.drawRect(4, round(top), self._RUNG, max(1, round(self._y(start) - top)))
        if self._estimate is not None:
            painter.setBrush(self._theme.colour("text"))
            y = self._y(min(max(self._estimate, self._scores[0]), self._scores[1]))
            painter.drawPolygon(QPolygonF([QPointF(13, y), QPointF(20, y - 4.5), QPointF(20, y + 4.5)]))
        painter.end()

    def _y(self, score: float) -> float:
        low, high = self._scores
        return self.height() * (1.0 - (score - low) / (high - low))
