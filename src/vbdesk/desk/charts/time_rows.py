"""Rows under the charts: notes and the shared time axis."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from vbdesk.clock import utc_now
from vbdesk.contract.timestamps import from_unix_seconds
from vbdesk.desk.charts.sign_painting import ChartFrame
from vbdesk.desk.charts.time_axis import read_text, ticks, zone_text
from vbdesk.desk.charts.time_window import TimeViewBox, TimeWindow
from vbdesk.desk.charts.trajectory_data import NoteMarker, TrajectoryChart
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, rounded
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, ngettext

_LANE_HEIGHT, _AXIS_HEIGHT, _TICK = 24, 32, 5
_FLAG = 13
_REACH_PX = 10.0
_GAP = 10
_ZONE_WIDTH = 190


class NoteLane(QWidget):
    """A row with a flag at every note.

    Signals:
        mark_pointed: (float) epoch seconds of the note under the pointer.
        mark_chosen: (float) epoch seconds of the note that was clicked.
    """

    mark_pointed = Signal(float)
    mark_chosen = Signal(float)

    def __init__(self, window: TimeWindow) -> None:
        self._theme = app_theme()
        super().__init__()
        self._window = window
        self._left, self._right = 0, 0
        self._marks: tuple[NoteMarker, ...] = ()
        self.setMouseTracking(True)
        self.setAccessibleName(_("Notes"))
        window.changed.connect(self.update)

    def set_margins(self, left: int, right: int) -> None:
        """Use the same margins as the charts."""
        self._left, self._right = left, right
        self.setFixedHeight(self._theme.px(_LANE_HEIGHT))
        self.update()

    def frame(self) -> ChartFrame:
        """Mapping of moments to this widget's pixels."""
        rect = QRectF(self.rect()).adjusted(self._left, 0, -self._right, 0)
        return ChartFrame(rect, self._window.start, self._window.end, (0.0, 1.0))

    def show_marks(self, marks: tuple[NoteMarker, ...]) -> None:
        """Show notes; hide the row if there are none."""
        self._marks = marks
        self.setVisible(bool(marks))
        self.setAccessibleDescription(" ".join(f"{mark.text}." for mark in marks))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter, frame = antialiased(QPainter(self)), self.frame()
        painter.setFont(self._theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text3"))
        text = _("Notes")
        at_right = painter.layoutDirection() is Qt.LayoutDirection.RightToLeft
        room = self._right if at_right else self._left
        if room > painter.fontMetrics().horizontalAdvance(text) + 28:
            text_area = mirrored(painter, QRectF(20, 0, room, self.height()), QRectF(self.rect()))
            painter.drawText(text_area, Qt.AlignmentFlag.AlignVCenter, text)
        side = self._theme.px(_FLAG)
        for mark in self._marks:
            x = frame.x_at(mark.t)
            if frame.rect.left() <= x <= frame.rect.right():
                box = QRectF(round(x), round((self.height() - side) / 2), side, side)
                painter.setPen(QPen(self._theme.colour("control"), 1.0))
                painter.drawLine(QLineF(x, 0, x, 4))
                paint_icon(painter, "flag-filled", box.translated(-side * 0.2, 0), self._theme.colour("text2"))
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Emit the note under the pointer."""
        near = self._near(event.position().x())
        if near is not None:
            self.mark_pointed.emit(near)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Emit the note that was clicked."""
        near = self._near(event.position().x())
        if near is not None:
            self.mark_chosen.emit(near)

    def _near(self, x: float) -> float | None:
        frame = self.frame()
        near = min(((abs(frame.x_at(mark.t) - x), mark.t) for mark in self._marks), default=None)
        return near[1] if near is not None and near[0] <= _REACH_PX else None


class TimeAxis(pg.GraphicsView):  # type: ignore[misc]
    """The axis under the charts; their view boxes are linked to its own."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__(background=None)
        self._left, self._right = 0, 0
        self.view_box = TimeViewBox(mouse=False)
        self._days = _TimeAxisItem(self.view_box)
        for item in (self.view_box, self._days):
            item.setParentItem(self.centralWidget)
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the trajectory view has the keyboard focus
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(_("Time axis"))
        self.sigDeviceRangeChanged.connect(self._arrange)
        self._theme.changed.connect(self._repaint)
        self._repaint()

    def set_margins(self, left: int, right: int) -> None:
        """Use the charts' margins; without a left column, the time zone is below the axis."""
        self._left, self._right = left, right
        self._days.zone_below = left < self._theme.px(_ZONE_WIDTH)
        line = self._theme.line_height(Role.CAPTION) if self._days.zone_below else 0
        self.setFixedHeight(self._theme.px(_AXIS_HEIGHT) + line)
        self._arrange()

    def frame(self) -> ChartFrame:
        """Mapping of moments to this widget's pixels."""
        return self._days.frame()

    def show_chart(self, chart: TrajectoryChart) -> None:
        """Show when the chart was read, and the window that counts."""
        self._days.show_chart(chart)
        self.setAccessibleDescription(self.text())

    def text(self) -> str:
        """Time zone and the window that counts, for screen readers."""
        return self._days.text()

    @Slot()
    def _repaint(self) -> None:
        self.setBackground(self._theme.colour("surface"))
        self._days.update()

    @Slot()
    def _arrange(self) -> None:
        width = max(self.width() - self._left - self._right, 1)
        self.view_box.setGeometry(QRectF(self._left, 0, width, 1))
        self._days.setHeight(self.height())
        self._days.setGeometry(QRectF(0, 0, self.width(), self.height()))


class _TimeAxisItem(pg.AxisItem):  # type: ignore[misc]
    """Paints ticks, the day of the read, the start of the window that counts, and the time zone."""

    def __init__(self, box: TimeViewBox) -> None:
        self._theme = app_theme()
        super().__init__("bottom")
        self._box = box
        self._read_s = 0.0
        self._counts_from = 0.0
        self._counts_days = 0
        self.zone_below = False
        self.linkToView(box)

    def show_chart(self, chart: TrajectoryChart) -> None:
        """Show when the chart was read, and the window that counts."""
        self._read_s, self._counts_from, self._counts_days = (
            chart.as_of.timestamp(),
            chart.window[0],
            chart.window_days,
        )
        self.update()

    def text(self) -> str:
        """Time zone and the window that counts, for screen readers."""
        return ngettext(
            "{zone}. The estimates rest on the last {count} day.",
            "{zone}. The estimates rest on the last {count} days.",
            self._counts_days,
            zone=zone_text(self._read_s),
        )

    def frame(self) -> ChartFrame:
        """Mapping of moments to pixels."""
        start, end = self._box.viewRange()[0]
        return ChartFrame(self._box.geometry(), start, end, (0.0, 1.0))

    def paint(self, painter: QPainter, option: object, widget: QWidget | None = None) -> None:
        """Paint line, ticks and texts."""
        antialiased(painter)
        frame = self.frame()
        painter.setPen(QPen(self._theme.colour("control"), 1.0))
        painter.drawLine(QLineF(frame.rect.left(), 0.5, frame.rect.right(), 0.5))
        taken = self._paint_read(painter, frame)
        self._paint_window(painter, frame, taken)
        self._paint_ticks(painter, frame, taken)
        self._paint_zone(painter, frame)

    def _paint_read(self, painter: QPainter, frame: ChartFrame) -> list[tuple[float, float]]:
        """Paint the label of the read; return the pixel ranges that it occupies."""
        x = frame.x_at(self._read_s)
        if not frame.rect.left() <= x <= frame.rect.right() + 1:
            return []
        text = read_text(from_unix_seconds(self._read_s), utc_now())
        painter.setFont(self._theme.font(Role.CAPTION_MEDIUM))
        width, height = painter.fontMetrics().horizontalAdvance(text) + 12, painter.fontMetrics().height() + 2
        left = min(x - width / 2, self.size().width() - width - 2)
        box = QRectF(left, (self._theme.px(_AXIS_HEIGHT) - height) / 2 + 2, width, height)
        rounded(painter, box, 4, self._theme.colour("text"))
        painter.setPen(self._theme.colour("surface"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        return [(box.left() - _GAP, box.right() + _GAP)]

    def _paint_window(self, painter: QPainter, frame: ChartFrame, taken: list[tuple[float, float]]) -> None:
        """Paint the start of the window that counts, with a text if it fits."""
        x = frame.x_at(self._counts_from)
        if not frame.rect.left() <= x <= frame.rect.right():
            return
        painter.setFont(self._theme.font(Role.CAPTION_MEDIUM))
        painter.setPen(QPen(self._theme.colour("control"), 1.0))
        painter.drawLine(QLineF(x, 0, x, self._theme.px(_AXIS_HEIGHT) - 6))
        text = ngettext("{count} day counts", "{count} days count", self._counts_days)
        width = painter.fontMetrics().horizontalAdvance(text)
        if width + 6 < frame.rect.right() - x:
            painter.setPen(self._theme.colour("text2"))
            painter.drawText(QPointF(x + 6, self._base_line(painter)), text)
            taken.append((x - _GAP, x + 6 + width + _GAP))

    def _paint_ticks(self, painter: QPainter, frame: ChartFrame, taken: list[tuple[float, float]]) -> None:
        painter.setFont(self._theme.font(Role.CAPTION))
        metrics = painter.fontMetrics()
        for moment, text in ticks(frame.start, frame.end):
            x, half = frame.x_at(moment), metrics.horizontalAdvance(text) / 2
            painter.setPen(QPen(self._theme.colour("control"), 1.0))
            painter.drawLine(QLineF(x, 0, x, _TICK))
            x = max(x, half + 4)  # not cut off at the left edge
            if all(x + half < left or x - half > right for left, right in taken):
                painter.setPen(self._theme.colour("text3"))
                painter.drawText(QPointF(x - half, self._base_line(painter)), text)
                taken.append((x - half - _GAP, x + half + _GAP))

    def _paint_zone(self, painter: QPainter, frame: ChartFrame) -> None:
        painter.setFont(self._theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text3"))
        text = zone_text(float(np.clip(self._read_s, frame.start, frame.end)))
        if self.zone_below:
            top = self._theme.px(_AXIS_HEIGHT) - 4
            area = QRectF(frame.rect.left(), top, frame.rect.width(), self.size().height() - top)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)
        else:
            at_right = QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft
            x = self.size().width() - 20 - painter.fontMetrics().horizontalAdvance(text) if at_right else 20
            painter.drawText(QPointF(x, self._base_line(painter)), text)

    def _base_line(self, painter: QPainter) -> float:
        metrics = painter.fontMetrics()
        return (self._theme.px(_AXIS_HEIGHT) + metrics.ascent() - metrics.descent()) / 2 + 2
