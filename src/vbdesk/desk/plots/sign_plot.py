"""The chart of one sign of one subject over time, and the ladder of its levels."""

from collections.abc import Mapping

import numpy as np
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
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk import theme
from vbdesk.desk.plots.sign_painting import Frame, ScoreRange, paint_gaps, paint_outside, paint_sign
from vbdesk.desk.plots.time_window import TimeWindow
from vbdesk.desk.plots.trajectory_data import DAY_S, SignChart
from vbdesk.desk.widgets.painting import antialiased

SCORE_RANGE: ScoreRange = (0.10, 0.84)  # the same in all charts, so that heights can be compared
ZOOM_STEP = 1.25
_NOTCH = 120.0  # what a wheel tells for one step
_INSET = 6.0


class SignPlot(QWidget):
    """Time from left to right, the score upwards. What does not move is painted once into a picture.

    Signals:
        moment_pointed: (float) epoch seconds under the pointer.
        moment_chosen: (float) epoch seconds that were clicked.
        pointer_left: the pointer is elsewhere.
        moved: a person moved the time that is shown.
    """

    moment_pointed = Signal(float)
    moment_chosen = Signal(float)
    pointer_left = Signal()
    moved = Signal()

    def __init__(self, window: TimeWindow, *, says_gaps: bool = False) -> None:
        """Show what `window` shows; `says_gaps` is for the topmost chart."""
        super().__init__()
        self._window, self._says_gaps = window, says_gaps
        self._chart: SignChart | None = None
        self._scores = SCORE_RANGE
        self._today_s = 0.0
        self._counts = (0.0, 0.0)
        self._picture: QPixmap | None = None
        self._cursor: float | None = None
        self._pressed: QPointF | None = None
        self._dragged = False
        self.wheel_zooms = True
        self.setMouseTracking(True)
        self.setMinimumWidth(120)
        window.changed.connect(self._paint_anew)
        theme.active().changed.connect(self._paint_anew)

    def show_chart(
        self, chart: SignChart, today_s: float, counts: tuple[float, float], scores: ScoreRange = SCORE_RANGE
    ) -> None:
        """Show `chart`; `counts` is the window of time that the estimates rest on."""
        self._chart, self._today_s, self._counts, self._scores = chart, today_s, counts, scores
        self._paint_anew()

    def place_cursor(self, moment_s: float | None) -> None:
        """Stand the cursor at a moment; None takes it away."""
        if moment_s != self._cursor:
            self._cursor = moment_s
            self.update()

    def frame(self) -> Frame:
        """Where moments and scores are in this widget."""
        rect = QRectF(self.rect()).adjusted(0, _INSET, 0, -_INSET)
        return Frame(rect, self._window.start, self._window.end, self._scores)

    def x_of(self, moment_s: float) -> float:
        """Horizontal pixel of a moment within this widget."""
        return self.frame().x_at(moment_s)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        ratio = self.devicePixelRatioF()
        if self._picture is None or self._picture.devicePixelRatio() != ratio:
            self._picture = self._painted(ratio)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        if self._cursor is not None:
            self._paint_cursor(antialiased(painter), self._cursor)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._paint_anew()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click or a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the time along, or tell which moment the pointer is at."""
        if self._pressed is None:
            self.moment_pointed.emit(self.frame().moment_at(event.position().x()))
            return
        away = event.position().x() - self._pressed.x()
        if self._dragged or abs(away) >= QApplication.startDragDistance():
            self._dragged = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._pressed = event.position()
            self._window.pan(-away * self._window.seconds / max(self.width(), 1))
            self.moved.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell which moment was clicked, unless the time was dragged."""
        if event.button() == Qt.MouseButton.LeftButton and self._pressed is not None:
            clicked, self._pressed = not self._dragged, None
            self.unsetCursor()
            if clicked:
                self.moment_chosen.emit(self.frame().moment_at(event.position().x()))

    def leaveEvent(self, event: QEvent) -> None:  # noqa: D102
        self.pointer_left.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Upwards shows less time around the pointer, sideways moves; a list that scrolls keeps the plain wheel."""
        turned, control = event.angleDelta(), event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if abs(turned.x()) > abs(turned.y()):
            self._window.pan(-turned.x() / _NOTCH * self._window.seconds / 12)
        elif self.wheel_zooms or control:
            self._zoom(ZOOM_STEP ** (-turned.y() / _NOTCH), event.position().x())
        else:
            event.ignore()
            return
        self.moved.emit()

    def event(self, event: QEvent) -> bool:
        """Two fingers on a touch pad zoom."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture:
            self._zoom(1.0 / max(1.0 + event.value(), 0.2), event.position().x())
            self.moved.emit()
            return True
        return super().event(event)

    def _zoom(self, factor: float, x: float) -> None:
        self._window.zoom(factor, self.frame().moment_at(x))

    @Slot()
    def _paint_anew(self) -> None:
        self._picture = None
        self.update()

    def _painted(self, ratio: float) -> QPixmap:
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(theme.colour("surface"))
        if self._chart is None:
            return picture
        painter, frame = antialiased(QPainter(picture)), self.frame()
        paint_outside(painter, frame, self._counts)
        paint_sign(painter, self._chart, frame)
        if self._says_gaps:
            paint_gaps(painter, self._chart.course, frame)
        today = frame.x_at(self._today_s)
        painter.setPen(QPen(theme.colour("text"), 1.25))
        painter.drawLine(QLineF(today, 0, today, self.height()))
        painter.end()
        return picture

    def _paint_cursor(self, painter: QPainter, moment_s: float) -> None:
        frame, course = self.frame(), None if self._chart is None else self._chart.course
        x = frame.x_at(moment_s)
        painter.setPen(QPen(theme.colour("text2"), 1.0))
        painter.drawLine(QLineF(x, 0, x, self.height()))
        if course is None or not len(course.t):
            return
        nearest = int(np.argmin(np.abs(course.t - moment_s)))
        if abs(course.t[nearest] - moment_s) > DAY_S:
            return  # this sign was not heard then
        painter.setPen(QPen(theme.colour("accent"), 2.25))
        painter.setBrush(theme.colour("surface"))
        at = QPointF(frame.x_at(float(course.t[nearest])), frame.y_at(float(course.estimate[nearest])))
        painter.drawEllipse(at, 4.5, 4.5)


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
