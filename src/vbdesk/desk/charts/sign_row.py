"""One sign of a subject: its name, level and trend, the chart, the ladder of levels."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.sign_painting import ScoreRange
from vbdesk.desk.charts.sign_plot import LevelLadder, SignPlot
from vbdesk.desk.charts.time_window import TimeWindow
from vbdesk.desk.charts.trajectory_data import SignChart, TrajectoryChart, direction_text
from vbdesk.desk.ui.badges import LevelBadge, level_badge_size
from vbdesk.desk.ui.card import horizontal_line
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.text import ElidedText, Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.language import _
from vbdesk.report.reader_words import level_word

_NAME_WIDTH, _NAME_SIDE, _NAME_GAP = 242, 20, 12
_PLOT_HEIGHT, _MOST_HEIGHT = 54, 140
_BESIDE, _LADDER_GAP, _RIGHT = 8, 8, 8


class SignChartRow(QFrame):
    """The name is left of the chart, or above it in narrow windows."""

    def __init__(self, window: TimeWindow, *, topmost: bool) -> None:
        self._theme = app_theme()
        super().__init__()
        self.chart: SignChart | None = None
        self.setObjectName("signRow")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._name = ElidedText(role=Role.BODY_STRONG)
        self._badge = LevelBadge()
        self._trend = Text(role=Role.LABEL, ink="text2")
        heading = QHBoxLayout()
        heading.setSpacing(_NAME_GAP)
        heading.addWidget(self._badge)
        heading.addWidget(self._trend)
        heading.addStretch(1)
        self._names = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._names.setSpacing(6)
        self._names.addStretch(1)  # px above the name
        self._names.addWidget(self._name)
        self._names.addLayout(heading)
        self._names.addStretch(1)
        self._column = QWidget()
        self._column.setLayout(self._names)
        self.plot = SignPlot(window, shows_gap_texts=topmost)
        self.ladder = LevelLadder()
        charts = QHBoxLayout()
        charts.setSpacing(_LADDER_GAP)
        charts.addWidget(self.plot, 1)
        charts.addWidget(self.ladder)
        self._parts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._parts.setContentsMargins(margins(0, 6, _RIGHT, 6))
        self._parts.addWidget(self._column)
        self._parts.addLayout(charts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._parts, 1)
        layout.addWidget(horizontal_line())
        self.set_stacked(name_width(self._theme), stacked=False)

    def set_stacked(self, width: int, *, stacked: bool) -> None:
        """Put the name above the chart, or left of it in this width; call again after the text size changed."""
        px = self._theme.px
        self._parts.setDirection(QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight)
        self._parts.setSpacing(2 if stacked else _BESIDE)
        self._parts.setContentsMargins(margins(_BESIDE if stacked else 0, 6, _RIGHT, 6))
        self._names.setDirection(QBoxLayout.Direction.LeftToRight if stacked else QBoxLayout.Direction.TopToBottom)
        self._names.setStretch(0, 0 if stacked else 1)
        self._names.setSpacing(16 if stacked else 6)
        self._names.setContentsMargins(margins(12 if stacked else _NAME_SIDE, 0, 0, 0))
        self._column.setMinimumWidth(0 if stacked else width)
        self._column.setMaximumWidth(16_777_215 if stacked else width)
        self.plot.setMinimumHeight(px(_PLOT_HEIGHT) if stacked else _PLOT_HEIGHT)
        text = self._column.sizeHint().height()
        least = text + self.plot.minimumHeight() + 2 if stacked else max(text, _PLOT_HEIGHT)
        self.setMinimumHeight(least + 13)
        self.setMaximumHeight(max(px(_MOST_HEIGHT), least + 13))

    def show_sign(self, chart: TrajectoryChart, sign: SignChart, scores: ScoreRange) -> None:
        """Show one sign of a subject."""
        self.chart = sign
        self._name.setText(sign.shown_label)
        self._badge.show_level(sign.level)
        self._trend.setText(sign.trend)
        self._trend.setToolTip(sign.trend_detail)
        self.plot.show_chart(sign, chart.as_of.timestamp(), chart.window, scores)
        self.ladder.show_chart(sign, scores)
        self.plot.setAccessibleName(_("{sign} over time", sign=sign.shown_label))
        present = sign.explanation(len(sign.readings.t) - 1) if sign.present is not None else ""
        self.plot.setAccessibleDescription(" ".join(part for part in (sign.trend_detail, present) if part))

    def set_highlighted(self, *, lit: bool) -> None:
        """Highlight the row that the keyboard cursor is in."""
        self._name.set_ink("accent" if lit else "text")


def name_width(theme: Theme, trends: Iterable[str] = ()) -> int:
    """Width of the names at the left of the charts: any level fits with any direction, and with these `trends`."""
    level = max(level_badge_size(theme, level_word(level)).width() for level in Level)
    measured = QFontMetrics(theme.font(Role.LABEL))
    trend = max(map(measured.horizontalAdvance, [*direction_text().values(), *trends]))
    return max(theme.px(_NAME_WIDTH), _NAME_SIDE + level + _NAME_GAP + trend + 1)


def sign_row_margins(width: int, *, stacked: bool) -> tuple[int, int]:
    """Return the space to the left and right of the charts, in pixels, with names of this width."""
    names = _BESIDE if stacked else width + _BESIDE
    ladder = _LADDER_GAP + LevelLadder.WIDTH + _RIGHT
    return (ladder, names) if QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft else (names, ladder)
