"""A subject's small multiples: one row a sign, one time axis, one cursor through all."""

from datetime import datetime

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk import theme
from vbdesk.desk.plots.legend import Legend
from vbdesk.desk.plots.sign_plot import SCORE_RANGE, LevelLadder, ScoreRange, SignPlot
from vbdesk.desk.plots.time_axis import TimeAxis, local_day_and_time
from vbdesk.desk.plots.trajectory_data import DAY_S, SignChart, TrajectoryChart
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.time_words import counted
from vbdesk.desk.widgets.badges import LevelBadge
from vbdesk.desk.widgets.card import line, scrolled
from vbdesk.desk.widgets.painting import antialiased, rounded
from vbdesk.desk.widgets.text import Text

_NAME_WIDTH = 242
_AXIS_HEIGHT = 32
_MIN_ROW, _MAX_ROW = 76, 140
_RING_ROOM = 0.12  # score; the radius of a ring around a reading in the lowest row


class TrajectoryView(QWidget):
    """All signs of one subject.

    Signals:
        recording_chosen: (str) job id of the recording to open.
    """

    recording_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chart: TrajectoryChart | None = None
        self._rows: list[_SignRow] = []
        self._moments = np.empty(0)
        self._cursor: int | None = None
        self._days: float | None = None
        self._shown = 0  # rows that are up to date
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(self._show_next)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Trajectory charts")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._axis = _AxisRow()
        self._charts = QVBoxLayout()
        self._charts.setContentsMargins(0, 0, 0, 0)
        self._charts.setSpacing(0)
        content = QWidget()
        content.setLayout(self._charts)
        self._area = scrolled(content)
        self._area.viewport().installEventFilter(self)
        self._layout.addWidget(self._area, 1)
        self._layout.addWidget(self._axis)
        self._layout.addWidget(line())
        self._layout.addWidget(Legend())
        self._tip = _Tip(self)
        theme.active().changed.connect(self._repaint)

    def show_chart(self, chart: TrajectoryChart, *, gradually: bool = False) -> None:
        """Show another subject or newer data; the range that was chosen stays.

        Args:
            chart: what to show.
            gradually: one row at a time, so that a window stays responsive meanwhile.
        """
        if self._chart is None or self._chart.group_id != chart.group_id:
            for row in self._rows:
                row.hide()
        self._chart = chart
        self._moments = chart.moments()
        self._shown = 0
        self._drop_rows(len(chart.signs))
        self._stand_at(None)
        self._axis.show_today(chart.as_of.timestamp())
        self.show_last(self._days)
        self.setAccessibleDescription(_in_words(chart))
        if gradually:
            self._more.start()
        else:
            self._more.stop()
            while self._shown < len(chart.signs):
                self._show_next()

    def show_last(self, days: float | None) -> None:
        """Show the last `days` days; None shows everything."""
        self._days = days
        if self._chart is not None:
            for plot in (*(row.plot for row in self._rows), self._axis.plot):
                plot.show_span(*self._span(self._chart))

    def _span(self, chart: TrajectoryChart) -> tuple[float, float]:
        first, last = chart.span
        return (first if self._days is None else last - self._days * DAY_S, last)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the axis under the charts when a scroll bar stands beside them."""
        if event.type() == QEvent.Type.Resize:
            self._axis.set_right_margin(self._area.width() - self._area.viewport().width())
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys move the cursor from recording to recording, Enter opens its recording, Escape takes it away."""
        if not len(self._moments):
            super().keyPressEvent(event)
            return
        match event.key():
            case Qt.Key.Key_Left:
                self._stand_at(len(self._moments) - 1 if self._cursor is None else max(0, self._cursor - 1))
            case Qt.Key.Key_Right:
                newest = len(self._moments) - 1
                self._stand_at(newest if self._cursor is None else min(newest, self._cursor + 1))
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self._cursor is not None:
                self._open(self._moments[self._cursor])
            case Qt.Key.Key_Escape:
                self._stand_at(None)
            case _:
                super().keyPressEvent(event)

    @property
    def drawing(self) -> bool:
        """Whether rows are still to be drawn."""
        return self._more.isActive()

    @property
    def cursor_moment(self) -> float | None:
        """Where the cursor stands, epoch seconds."""
        return None if self._cursor is None else float(self._moments[self._cursor])

    @Slot(float)
    def _pointed(self, moment_s: float) -> None:
        if len(self._moments):
            self._stand_at(int(np.argmin(np.abs(self._moments - moment_s))), self.sender())

    @Slot(float)
    def _chosen(self, moment_s: float) -> None:
        if len(self._moments):
            self._open(self._moments[int(np.argmin(np.abs(self._moments - moment_s)))])

    def _open(self, moment_s: float) -> None:
        if self._chart is None:
            return
        for sign in self._chart.signs:
            found = np.flatnonzero(sign.readings.t == moment_s)
            if len(found):
                self.recording_chosen.emit(sign.readings.job_ids[found[-1]])
                return

    @Slot()
    def _repaint(self) -> None:
        self._axis.repaint_axis()
        if self._chart is not None:
            self.show_chart(self._chart)

    @Slot()
    def _show_next(self) -> None:
        """Bring one more row up to date."""
        chart = self._chart
        if chart is None or self._shown >= len(chart.signs):
            self._more.stop()
            return
        if self._shown == len(self._rows):
            self._add_row()
        row = self._rows[self._shown]
        row.show_sign(chart.signs[self._shown], chart.as_of.timestamp(), _score_range(chart))
        row.plot.show_span(*self._span(chart))
        if self._shown == 0:
            row.plot.name_gaps()
        row.show()
        self._shown += 1

    def _add_row(self) -> None:
        row = _SignRow()
        row.plot.moment_pointed.connect(self._pointed)
        row.plot.moment_chosen.connect(self._chosen)
        row.plot.setXLink(self._axis.plot)
        self._charts.addWidget(row, 1)
        self._rows.append(row)

    def _drop_rows(self, count: int) -> None:
        while len(self._rows) > count:
            row = self._rows.pop()
            self._charts.removeWidget(row)
            row.deleteLater()

    def _stand_at(self, index: int | None, source: object = None) -> None:
        self._cursor = index
        moment = self.cursor_moment
        for row in self._rows[: self._shown]:
            row.plot.place_cursor(moment)
        if moment is None or self._chart is None:
            self._tip.hide()
            return
        row = next((row for row in self._rows if row.plot is source), self._rows[0])
        self._tip.show_for(row, moment)


class _SignRow(QFrame):
    """Name, level and trend at the left, the chart, the ladder of levels at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.chart: SignChart | None = None
        self.setMinimumHeight(_MIN_ROW)
        self.setMaximumHeight(_MAX_ROW)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._name = Text(role=Role.BODY_STRONG)
        self._badge = LevelBadge()
        self._trend = Text(role=Role.LABEL, ink="text2")
        words = QHBoxLayout()
        words.setSpacing(12)
        words.addWidget(self._badge)
        words.addWidget(self._trend)
        words.addStretch(1)
        names = QVBoxLayout()
        names.setContentsMargins(20, 0, 0, 0)
        names.setSpacing(6)
        names.addStretch(1)
        names.addWidget(self._name)
        names.addLayout(words)
        names.addStretch(1)
        column = QWidget()
        column.setLayout(names)
        column.setFixedWidth(_NAME_WIDTH)
        self.plot = SignPlot()
        self.ladder = LevelLadder()
        charts = QHBoxLayout()
        charts.setContentsMargins(0, 6, 8, 6)
        charts.setSpacing(8)
        charts.addWidget(column)
        charts.addWidget(self.plot, 1)
        charts.addWidget(self.ladder)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(charts, 1)
        layout.addWidget(line())

    def show_sign(self, sign: SignChart, today_s: float, scores: ScoreRange) -> None:
        """Show one sign."""
        self.chart = sign
        self._name.setText(sign.label)
        self._badge.show_level(sign.level)
        self._trend.setText(sign.trend)
        self._trend.setToolTip(sign.trend_detail)
        self.plot.show_chart(sign, today_s, scores)
        self.ladder.show_chart(sign, scores)
        self.plot.setAccessibleName(f"{sign.label} over time")
        self.plot.setAccessibleDescription(sign.trend_detail)


class _AxisRow(QWidget):
    """The shared time axis under the charts' column."""

    def __init__(self) -> None:
        super().__init__()
        self._axis = TimeAxis()
        self._axis.setStyle(tickLength=-5, tickTextOffset=6)
        self.plot = SignPlot()
        self.plot.setAxisItems({"bottom": self._axis})
        self.plot.showAxis("bottom")
        self.plot.setMouseEnabled(x=False, y=False)
        for moved in (
            self.plot.getPlotItem().getViewBox().sigXRangeChanged,
            self.plot.getPlotItem().getViewBox().sigResized,
        ):
            moved.connect(self._place_today)
        self._today = Text("Today", Role.CAPTION_MEDIUM, parent=self)
        self._today.setContentsMargins(6, 1, 6, 1)
        self._today.hide()
        self._today_s = 0.0
        self.setFixedHeight(_AXIS_HEIGHT)
        self._row = QHBoxLayout(self)
        self._row.addWidget(self.plot)
        self.set_right_margin(0)
        self.repaint_axis()

    def set_right_margin(self, beside: int) -> None:
        """Leave as much room at the right as the charts do, and `beside` more."""
        self._row.setContentsMargins(_NAME_WIDTH + 8, 0, LevelLadder.WIDTH + 16 + beside, 0)

    def show_today(self, today_s: float) -> None:
        """Mark today on the axis with a filled label."""
        self._today_s = today_s
        self._today.show()
        self._today.raise_()
        self._place_today()

    def repaint_axis(self) -> None:
        """Take the colours of the active theme."""
        self._axis.setPen(pg.mkPen(theme.active().colours.control))
        self._axis.setTextPen(pg.mkPen(theme.active().colours.text3))
        self._axis.setStyle(tickFont=theme.active().font(Role.CAPTION))
        self.plot.setBackground(theme.active().colours.surface)
        self._today.setStyleSheet(
            f"background: {theme.active().colours.text}; color: {theme.active().colours.surface}; border-radius: 4px;"
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the mark of today at its place."""
        super().resizeEvent(event)
        self._place_today()

    @Slot()
    def _place_today(self) -> None:
        self._today.adjustSize()
        middle = self.plot.x() + self.plot.x_of(self._today_s)
        x = min(round(middle - self._today.width() / 2), self.width() - self._today.width())
        self._today.move(x, (self.height() - self._today.height()) // 2 + 2)


class _Tip(QFrame):
    """What was heard at the cursor, beside it."""

    _WIDTH = 252

    def __init__(self, view: TrajectoryView) -> None:
        super().__init__(view)
        self._view = view
        self.setFixedWidth(self._WIDTH)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._when = Text(role=Role.LABEL_STRONG)
        self._badge = LevelBadge()
        self._words = Text(role=Role.CAPTION, ink="text2", wrap=True)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(16, 14, 16, 14)
        self._layout.setSpacing(6)
        for widget in (self._when, self._badge, self._words):
            self._layout.addWidget(widget)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the surface with its edge."""
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 10, theme.colour("surface"), theme.colour("control"))
        painter.end()

    def show_for(self, row: _SignRow, moment_s: float) -> None:
        """Tell about the recording of `moment_s` in `row`, at the side of the cursor that has room."""
        sign = row.chart
        if sign is None:
            return
        found = np.flatnonzero(sign.readings.t == moment_s)
        if not len(found):
            self.hide()
            return
        index = int(found[-1])
        self._when.setText(local_day_and_time(moment_s))
        self._badge.show_level(sign.readings.levels[index])
        quality = "The recording had quality issues." if sign.readings.has_issues[index] else "Quality good."
        reason = sign.explanation(index) or "In line with this person's own recordings."
        self._words.setText(f"{sign.label}. {reason} {quality} Enter opens the recording.")
        self.setFixedHeight(self._layout.heightForWidth(self._WIDTH))
        view = self._view
        x = row.plot.mapTo(view, QPoint(round(row.plot.x_of(moment_s)), 0)).x()
        left = x + 14 if x + 14 + self.width() < view.width() else x - 14 - self.width()
        top = min(max(0, row.mapTo(view, QPoint(0, 8)).y()), max(0, view.height() - self.height()))
        self.move(left, top)
        self.show()
        self.raise_()


def _score_range(chart: TrajectoryChart) -> ScoreRange:
    """The common range, wider only where a value would fall out of it."""
    low, high = SCORE_RANGE
    for sign in chart.signs:
        unusual = sign.readings.score[[index for index in range(len(sign.readings.t)) if sign.is_unusual(index)]]
        for values, room in ((sign.readings.score, 0.02), (sign.course.estimate, 0.02), (unusual, _RING_ROOM)):
            if len(values):
                low, high = min(low, float(values.min()) - room), max(high, float(values.max()) + room)
    return low, high


def _in_words(chart: TrajectoryChart) -> str:
    """The charts for a screen reader."""
    until = datetime.fromtimestamp(chart.span[1]).astimezone()
    signs = "; ".join(f"{sign.label}: {sign.level.value}, {sign.trend.lstrip('↑↓= ').lower()}" for sign in chart.signs)
    return f"{counted(chart.recordings, 'recording')} until {until:%d %B %Y}. {signs}."
