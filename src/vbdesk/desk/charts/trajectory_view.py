"""The charts of a subject: one row for each sign, one time axis, one cursor."""

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from vbdesk.contract.timestamps import from_unix_seconds, in_zone
from vbdesk.desk.charts.cursor_text import cursor_text
from vbdesk.desk.charts.cursor_tip import CursorTip
from vbdesk.desk.charts.legend import Legend
from vbdesk.desk.charts.sign_painting import ScoreRange
from vbdesk.desk.charts.sign_plot import SCORE_RANGE, ZOOM_STEP
from vbdesk.desk.charts.sign_row import SignChartRow, name_width, sign_row_margins
from vbdesk.desk.charts.time_rows import NoteLane, TimeAxis
from vbdesk.desk.charts.time_window import TimeWindow, at_least_a_day
from vbdesk.desk.charts.trajectory_data import DAY_S, Floats, TrajectoryChart
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.card import horizontal_line, scroll_area
from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import _, formats, ngettext
from vbdesk.report.reader_words import level_in_sentence

_LEAST_CHART = 400  # px; with less chart width at 100 % text, names are above the charts
_LEAST_WITH_LEGEND = 340  # px at 100 % text; lower windows need the space for charts
_DOT_ROOM, _RING_ROOM = 0.07, 0.12  # score; room for markers in the lowest row
_PAN_SHARE = 0.25


class TrajectoryView(QWidget):
    """All signs of one subject.

    Signals:
        recording_chosen: (str) job id of the recording to open.
        moved: the user moved the visible time away from the chosen range.
    """

    recording_chosen = Signal(str)
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._chart: TrajectoryChart | None = None
        self._span = (0.0, DAY_S)
        self._rows: list[SignChartRow] = []
        self._moments: Floats = np.empty(0)
        self._unusual: Floats = np.empty(0)
        self._cursor: float | None = None
        self._sign = 0  # row of the cursor
        self._days: float | None = None
        self._whole = False
        self._follows = True  # the visible time is the chosen range
        self._shown = 0  # rows that are up to date
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(self._show_next)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(_("Trajectory charts"))
        self._axis = TimeAxis()
        self.time = TimeWindow(self._axis.view_box, self)
        self.time.moved.connect(self._on_moved)
        self._lane = NoteLane(self.time)
        self._lane.mark_pointed.connect(self._pointed)
        self._lane.mark_chosen.connect(self._chosen)
        self._charts = QVBoxLayout()
        self._charts.setContentsMargins(0, 0, 0, 0)
        self._charts.setSpacing(0)
        self._content = QWidget()
        self._content.setLayout(self._charts)
        self._area = scroll_area(self._content)
        self._content.installEventFilter(self)
        self._area.viewport().installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._area, 1)
        self._legend = Legend()
        for part in (self._lane, self._axis, horizontal_line(), self._legend):
            layout.addWidget(part)
        self.tip = CursorTip(self)
        self._lane.hide()
        self.time.changed.connect(self._on_time_changed)
        self._theme.changed.connect(self._fit)

    def show_chart(self, chart: TrajectoryChart, *, gradually: bool = False) -> None:
        """Show another subject or newer data; range, position and cursor stay.

        Args:
            chart: what to show.
            gradually: one row at a time, to keep the window responsive.
        """
        same = self._chart is not None and self._chart.group_id == chart.group_id
        self._chart = chart
        self._moments = np.union1d(chart.moments(), np.array([mark.t for mark in chart.marks]))
        self._unusual = chart.unusual_moments()
        self._shown = 0
        self._drop_rows(len(chart.signs))
        self._axis.show_chart(chart)
        self._lane.show_marks(chart.marks)
        self._legend.show_changes(shown=bool(chart.changes))
        first, last = self._span = _whole_time(chart)
        self.time.set_limits(min(first, chart.window[0]), last)
        if not same or self._follows:
            self.show_last(self._days)
        if not same:
            self._sign = 0
            for row in self._rows:
                row.hide()
        self._move_cursor(self._cursor if same and self._cursor in self._moments else None)
        self.setAccessibleDescription(f"{_as_text(chart)} {self._axis.text()}")
        if gradually:
            self._more.start()
        else:
            self._more.stop()
            while self._shown < len(chart.signs):
                self._show_next()
        self._fit()

    def show_last(self, days: float | None) -> None:
        """Show the last `days` days; None shows from the first recording on."""
        self._days, self._follows = days, True
        if self._chart is not None:
            first, last = self._span
            self.time.show(first if days is None else last - days * DAY_S, last)

    def show_whole(self, *, whole: bool) -> None:
        """Take the height of all charts, in a page that scrolls, or scroll them here."""
        if self._whole is not whole:
            self._whole = whole
            self._fit()

    def move_cursor_to(self, moment_s: float, sign: str) -> None:
        """Scroll to a recording and put the cursor at one of its signs."""
        if self._chart is not None:
            names = [chart.name for chart in self._chart.signs]
            self._sign = names.index(sign) if sign in names else 0
            self._move_by_key(moment_s)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the axis aligned with the charts when a scroll bar appears, and all charts whole where they are."""
        if event.type() == QEvent.Type.Resize and watched is not self._content:
            self._fit()
        elif event.type() == QEvent.Type.LayoutRequest and watched is self._content:
            self._take_height()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._legend.setVisible(self.height() >= self._theme.px(_LEAST_WITH_LEGEND))
        self._move_cursor(self._cursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the cursor in time and between signs, and the visible time; see the page's help."""
        if self._chart is None or not len(self._moments) or not self._press(event.key(), event.modifiers()):
            super().keyPressEvent(event)

    @property
    def drawing(self) -> bool:
        """Whether some rows are not drawn yet."""
        return self._more.isActive()

    @property
    def cursor_moment(self) -> float | None:
        """Position of the cursor, epoch seconds."""
        return self._cursor

    def _press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        match key:
            case Qt.Key.Key_Left | Qt.Key.Key_Right if shift:
                self.time.pan((1 if key == Qt.Key.Key_Right else -1) * _PAN_SHARE * self.time.seconds)
                self._on_moved()
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                self._step(self._unusual if control else self._moments, forward=key == Qt.Key.Key_Right)
            case Qt.Key.Key_Home | Qt.Key.Key_End:
                self._move_by_key(float(self._moments[0 if key == Qt.Key.Key_Home else -1]))
            case Qt.Key.Key_Up | Qt.Key.Key_Down if self._cursor is not None:
                self._sign = min(max(self._sign + (1 if key == Qt.Key.Key_Down else -1), 0), len(self._rows) - 1)
                self._move_by_key(self._cursor)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal | Qt.Key.Key_Minus:
                centre_s = self._cursor if self._cursor is not None else self.time.end
                self.time.zoom(ZOOM_STEP if key == Qt.Key.Key_Minus else 1 / ZOOM_STEP, centre_s)
                self._on_moved()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self._cursor is not None:
                self._open(self._cursor)
            case Qt.Key.Key_Escape if self._cursor is not None:
                self._move_cursor(None)
            case _:
                return False
        return True

    def _step(self, moments: Floats, *, forward: bool) -> None:
        """Move the cursor to the next of `moments`; without a cursor, to the newest."""
        if not len(moments):
            announce(self, _("No recording stands out."))
        elif self._cursor is None:
            self._move_by_key(float(moments[-1]))
        else:
            index = int(np.searchsorted(moments, self._cursor, side="right" if forward else "left"))
            index = index if forward else index - 1
            self._move_by_key(float(moments[min(max(index, 0), len(moments) - 1)]))

    def _move_by_key(self, moment_s: float) -> None:
        """Move the cursor by keyboard: scroll to it and announce it."""
        self.time.scroll_to(moment_s)
        self._move_cursor(moment_s)
        row = self._row()
        if row is not None:
            self._area.ensureWidgetVisible(row, 0, 0)
        if self._chart is not None and row is not None and row.chart is not None:
            announce(self, cursor_text(self._chart, row.chart, moment_s).announcement(), urgent=True)

    @Slot(float)
    def _pointed(self, moment_s: float) -> None:
        if len(self._moments):
            source = self.sender()
            self._sign = next((index for index, row in enumerate(self._rows) if row.plot is source), self._sign)
            self._move_cursor(float(self._moments[int(np.argmin(np.abs(self._moments - moment_s)))]))

    @Slot(float)
    def _chosen(self, moment_s: float) -> None:
        if len(self._moments):
            self._open(float(self._moments[int(np.argmin(np.abs(self._moments - moment_s)))]))

    @Slot()
    def _on_pointer_left(self) -> None:
        if not self.hasFocus():
            self._move_cursor(None)

    @Slot()
    def _on_moved(self) -> None:
        self._follows = False
        self.moved.emit()

    @Slot()
    def _on_time_changed(self) -> None:
        self._move_cursor(self._cursor)

    def _open(self, moment_s: float) -> None:
        job_id = None if self._chart is None else self._chart.job_at(moment_s)
        if job_id is not None:
            self.recording_chosen.emit(job_id)

    @Slot()
    def _fit(self) -> None:
        """Size rows and axis for the text size and width."""
        width = self._area.viewport().width()
        trends = {sign.trend for sign in self._chart.signs} if self._chart is not None else ()
        names = name_width(self._theme, trends)  # once for all rows: it measures words
        stacked = width < names + _LEAST_CHART
        for row in self._rows:
            row.set_stacked(names, stacked=stacked)
        left, right = sign_row_margins(names, stacked=stacked)
        beside = self._area.width() - width
        for part in (self._axis, self._lane):
            part.set_margins(left, right + beside)
        scrolls = self._content.minimumSizeHint().height() > self._area.viewport().height()
        for row in self._rows:
            row.plot.wheel_zooms = not scrolls and not self._whole
        self._take_height()

    def _take_height(self) -> None:
        self._area.setMinimumHeight(self._content.minimumSizeHint().height() if self._whole else 0)

    @Slot()
    def _show_next(self) -> None:
        """Update one more row."""
        chart = self._chart
        if chart is None or self._shown >= len(chart.signs):
            self._more.stop()
            return
        if self._shown == len(self._rows):
            self._add_row()
        row = self._rows[self._shown]
        row.show_sign(chart, chart.signs[self._shown], _score_range(chart))
        row.plot.move_cursor(self._cursor)
        row.show()
        self._shown += 1

    def _add_row(self) -> None:
        row = SignChartRow(self.time, topmost=not self._rows)
        row.plot.moment_pointed.connect(self._pointed)
        row.plot.moment_chosen.connect(self._chosen)
        row.plot.pointer_left.connect(self._on_pointer_left)
        self._charts.addWidget(row, 1)
        self._rows.append(row)
        self._fit()

    def _drop_rows(self, count: int) -> None:
        while len(self._rows) > count:
            row = self._rows.pop()
            row.plot.detach()
            self._charts.removeWidget(row)
            row.deleteLater()

    def _row(self) -> SignChartRow | None:
        return self._rows[self._sign] if self._sign < min(self._shown, len(self._rows)) else None

    def _move_cursor(self, moment_s: float | None) -> None:
        self._cursor = moment_s
        for index, row in enumerate(self._rows):
            row.plot.move_cursor(moment_s)
            row.set_highlighted(lit=moment_s is not None and index == self._sign)
        row_of_cursor = self._row()
        seen = moment_s is not None and self.time.start <= moment_s <= self.time.end
        if not seen or moment_s is None or self._chart is None or row_of_cursor is None or row_of_cursor.chart is None:
            self.tip.hide()
            return
        x = row_of_cursor.plot.mapTo(self, QPoint(round(row_of_cursor.plot.x_of(moment_s)), 0)).x()
        y = row_of_cursor.mapTo(self, QPoint(0, 8)).y()
        self.tip.show_next_to(cursor_text(self._chart, row_of_cursor.chart, moment_s), QPoint(x, y), self)


def _score_range(chart: TrajectoryChart) -> ScoreRange:
    """The common score range, widened for values outside it."""
    low, high = SCORE_RANGE
    for sign in chart.signs:
        unusual = sign.readings.score[sorted(sign.unusual)]
        for values, room in (
            (sign.readings.score, _DOT_ROOM),
            (sign.estimates.estimate, _DOT_ROOM),
            (unusual, _RING_ROOM),
        ):
            if len(values):
                low, high = min(low, float(values.min()) - room), max(high, float(values.max()) + room)
    return low, high


def _as_text(chart: TrajectoryChart) -> str:
    """Description of the charts for screen readers."""
    until = in_zone(from_unix_seconds(chart.span[1]))
    day = formats.long_day(until)
    sentences = [
        ngettext("{count:,} recording until {day}.", "{count:,} recordings until {day}.", chart.recordings, day=day),
        _("Older recordings are left out.") if chart.truncated else "",
        *(
            _(
                "{sign}: {level}. Trend: {trend}.",
                sign=sign.shown_label,
                level=level_in_sentence(sign.level),
                trend=sign.trend.lstrip("↑↓= "),
            )
            for sign in chart.signs
        ),
        chart.change_note,
    ]
    return " ".join(filter(None, sentences))


def _whole_time(chart: TrajectoryChart) -> tuple[float, float]:
    """From the first recording to the end; a single recording is in the middle."""
    first, last = at_least_a_day(*chart.span)
    moments = chart.moments()
    if len(moments) != 1:
        return first, last
    moment = float(moments[0])
    half = max(moment - first, last - moment)
    return moment - half, moment + half
