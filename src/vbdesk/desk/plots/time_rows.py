"""What stands under the charts: the notes on recordings, and the shared time axis."""

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from vbdesk.desk import theme
from vbdesk.desk.icons import paint_icon
from vbdesk.desk.plots.sign_painting import Frame
from vbdesk.desk.plots.time_axis import ticks, zone_words
from vbdesk.desk.plots.time_window import TimeWindow
from vbdesk.desk.plots.trajectory_data import Mark, TrajectoryChart
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.time_words import counted
from vbdesk.desk.widgets.painting import antialiased, rounded

_LANE_HEIGHT, _AXIS_HEIGHT, _TICK = 24, 32, 5
_FLAG = 13
_REACH_PX = 10.0
_GAP = 10
_ZONE_WIDTH = 190


class TimeRow(QWidget):
    """A row that shares the charts' column and shows the time of `window`."""

    def __init__(self, window: TimeWindow, height: int) -> None:
        super().__init__()
        self.window_of_time = window
        self._height = height
        self._left, self._right = 0, 0
        window.changed.connect(self.update)
        theme.active().changed.connect(self._fit)
        self._fit()

    def set_margins(self, left: int, right: int) -> None:
        """Leave as much room at both sides as the charts do."""
        self._left, self._right = left, right
        self.update()

    def frame(self) -> Frame:
        """Where moments are in this widget."""
        rect = QRectF(self.rect()).adjusted(self._left, 0, -self._right, 0)
        return Frame(rect, self.window_of_time.start, self.window_of_time.end, (0.0, 1.0))

    @property
    def row_height(self) -> int:
        """Height at the present text size."""
        return theme.active().px(self._height)

    @Slot()
    def _fit(self) -> None:
        self.setFixedHeight(self.row_height)


class MarkLane(TimeRow):
    """A flag at every note.

    Signals:
        mark_pointed: (float) epoch seconds of the note under the pointer.
        mark_chosen: (float) of the note that was clicked.
    """

    mark_pointed = Signal(float)
    mark_chosen = Signal(float)

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(window, _LANE_HEIGHT)
        self._marks: tuple[Mark, ...] = ()
        self.setMouseTracking(True)
        self.setAccessibleName("Notes")

    def show_marks(self, marks: tuple[Mark, ...]) -> None:
        """Show these; no row at all for none."""
        self._marks = marks
        self.setVisible(bool(marks))
        self.setAccessibleDescription(" ".join(f"{mark.words}." for mark in marks))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter, frame = antialiased(QPainter(self)), self.frame()
        painter.setFont(theme.active().font(Role.CAPTION))
        painter.setPen(theme.colour("text3"))
        words = "Notes"
        if self._left > painter.fontMetrics().horizontalAdvance(words) + 28:
            painter.drawText(QRectF(20, 0, self._left, self.height()), Qt.AlignmentFlag.AlignVCenter, words)
        side = theme.active().px(_FLAG)
        for mark in self._marks:
            x = frame.x_at(mark.t)
            if frame.rect.left() <= x <= frame.rect.right():
                box = QRectF(round(x), round((self.height() - side) / 2), side, side)
                painter.setPen(QPen(theme.colour("control"), 1.0))
                painter.drawLine(QLineF(x, 0, x, 4))
                paint_icon(painter, "flag-filled", box.translated(-side * 0.2, 0), theme.colour("text2"))
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell which note the pointer is at."""
        near = self._near(event.position().x())
        if near is not None:
            self.mark_pointed.emit(near)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell which note was clicked."""
        near = self._near(event.position().x())
        if near is not None:
            self.mark_chosen.emit(near)

    def _near(self, x: float) -> float | None:
        frame = self.frame()
        near = min(((abs(frame.x_at(mark.t) - x), mark.t) for mark in self._marks), default=None)
        return near[1] if near is not None and near[0] <= _REACH_PX else None


class TimeAxis(TimeRow):
    """Days, today, where the window begins that counts, and which local time it is."""

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(window, _AXIS_HEIGHT)
        self._today_s = 0.0
        self._counts_from = 0.0
        self._counts_days = 0
        self._zone_below = False
        self.setAccessibleName("Time axis")

    def show_chart(self, chart: TrajectoryChart) -> None:
        """Show when the chart was read, and what it rests on."""
        self._today_s, self._counts_from, self._counts_days = (
            chart.as_of.timestamp(),
            chart.window[0],
            chart.window_days,
        )
        self.setAccessibleDescription(self.words())
        self.update()

    def set_margins(self, left: int, right: int) -> None:
        """Leave room at both sides; without a column at the left the zone stands below the days."""
        super().set_margins(left, right)
        self._zone_below = left < theme.active().px(_ZONE_WIDTH)
        line = theme.active().line_height(Role.CAPTION) if self._zone_below else 0
        self.setFixedHeight(self.row_height + line)

    def words(self) -> str:
        """Which zone, and what counts."""
        counted_days = counted(self._counts_days, "day")
        return f"{zone_words(self._today_s)}. The estimates rest on the last {counted_days}."

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter, frame = antialiased(QPainter(self)), self.frame()
        font = theme.active().font(Role.CAPTION)
        painter.setFont(font)
        painter.setPen(QPen(theme.colour("control"), 1.0))
        painter.drawLine(QLineF(frame.rect.left(), 0.5, frame.rect.right(), 0.5))
        taken = self._paint_today(painter, frame)
        self._paint_window(painter, frame, taken)
        self._paint_ticks(painter, frame, taken)
        self._paint_zone(painter, frame)
        painter.end()

    def _paint_today(self, painter: QPainter, frame: Frame) -> list[tuple[float, float]]:
        """The filled label; returns the stretches of pixels that are taken."""
        x = frame.x_at(self._today_s)
        if not frame.rect.left() <= x <= frame.rect.right() + 1:
            return []
        painter.setFont(theme.active().font(Role.CAPTION_MEDIUM))
        width, height = painter.fontMetrics().horizontalAdvance("Today") + 12, painter.fontMetrics().height() + 2
        left = min(x - width / 2, self.width() - width - 2)
        box = QRectF(left, (self.row_height - height) / 2 + 2, width, height)
        rounded(painter, box, 4, theme.colour("text"))
        painter.setPen(theme.colour("surface"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "Today")
        return [(box.left() - _GAP, box.right() + _GAP)]

    def _paint_window(self, painter: QPainter, frame: Frame, taken: list[tuple[float, float]]) -> None:
        """Where the window begins: an edge on the axis, and what it is, where there is room."""
        x = frame.x_at(self._counts_from)
        if not frame.rect.left() <= x <= frame.rect.right():
            return
        painter.setFont(theme.active().font(Role.CAPTION_MEDIUM))
        painter.setPen(QPen(theme.colour("control"), 1.0))
        painter.drawLine(QLineF(x, 0, x, self.row_height - 6))
        words = f"{self._counts_days} days count"
        width = painter.fontMetrics().horizontalAdvance(words)
        if width + 6 < frame.rect.right() - x:
            painter.setPen(theme.colour("text2"))
            painter.drawText(QPointF(x + 6, self._base_line(painter)), words)
            taken.append((x - _GAP, x + 6 + width + _GAP))

    def _paint_ticks(self, painter: QPainter, frame: Frame, taken: list[tuple[float, float]]) -> None:
        painter.setFont(theme.active().font(Role.CAPTION))
        metrics = painter.fontMetrics()
        for moment, words in ticks(frame.start, frame.end):
            x = frame.x_at(moment)
            painter.setPen(QPen(theme.colour("control"), 1.0))
            painter.drawLine(QLineF(x, 0, x, _TICK))
            half = metrics.horizontalAdvance(words) / 2
            if all(x + half < left or x - half > right for left, right in taken):
                painter.setPen(theme.colour("text3"))
                painter.drawText(QPointF(x - half, self._base_line(painter)), words)
                taken.append((x - half - _GAP, x + half + _GAP))

    def _paint_zone(self, painter: QPainter, frame: Frame) -> None:
        painter.setFont(theme.active().font(Role.CAPTION))
        painter.setPen(theme.colour("text3"))
        words = zone_words(float(np.clip(self._today_s, frame.start, frame.end)))
        if self._zone_below:
            area = QRectF(frame.rect.left(), self.row_height - 4, frame.rect.width(), self.height() - self.row_height)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, words)
        else:
            painter.drawText(QPointF(20, self._base_line(painter)), words)

    def _base_line(self, painter: QPainter) -> float:
        metrics = painter.fontMetrics()
        return (self.row_height + metrics.ascent() - metrics.descent()) / 2 + 2
