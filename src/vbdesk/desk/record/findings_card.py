"""The card of a take's check: result, one row for each measure, and notes."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.record.check_text import Review, limit_text, row_value
from vbdesk.desk.ui.badges import FAIL, PASS, WATCH, Chip, ChipStyle
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.gauge import Gauge
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.painting import antialiased
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, translated
from vbdesk.outbox.imports.take_check import CheckRating, CheckRow

_STYLES: dict[CheckRating, ChipStyle] = {CheckRating.PASS: PASS, CheckRating.WATCH: WATCH, CheckRating.FAIL: FAIL}
_TOKENS: dict[CheckRating, str] = {CheckRating.PASS: "ok", CheckRating.WATCH: "warn", CheckRating.FAIL: "fail"}
_TRACKS = {"s": (0.0, 60.0), "%": (0.0, 100.0), "dB": (-60.0, 0.0), "": (0.0, 100.0)}
_ROWS = 5
_ROOMY, _TIGHT = 860, 520
_SIDE = 24
_LEAST_WIDTHS = (100, 60, 92)  # of name, value and limit, at 100 % text


class _Disc(QWidget):
    """The check result as an icon on a tinted disc."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        side = self._theme.px(44)
        self.setFixedSize(side, side)
        self._tint = "sunken"
        self._icon = IconView("clock", "text2", 22)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignCenter)

    def show_style(self, icon: str, ink: str, tint: str) -> None:
        self._icon.show_icon(icon, ink)
        self._tint = tint
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour(self._tint))
        painter.drawEllipse(self.rect())
        painter.end()


class RowView(QWidget):
    """One row of the check; in narrow cards its sentence is below, then its value too, and the gauge is hidden."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        px = self._theme.px
        self.chip = Chip(PASS)
        self.chip.setMinimumWidth(px(108))
        self.name, self.sentence = Text("", Role.BODY_STRONG), Text("", Role.BODY, "text2", wrap=True)
        self.gauge = Gauge()
        self.value, self.limit = Text("", Role.BODY_STRONG), Text("", Role.CAPTION, "text2")
        self.value.setAlignment(Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(_SIDE, px(11), _SIDE, px(11))
        self._grid.setHorizontalSpacing(16)
        self._arrangement: tuple[bool, bool] | None = None
        self.arrange(roomy=True, tight=False)

    def arrange(self, *, roomy: bool, tight: bool) -> None:
        """Lay out the parts for the available width."""
        if (roomy, tight) == self._arrangement:
            return
        self._arrangement = roomy, tight
        middle = Qt.AlignmentFlag.AlignVCenter
        for part in (self.chip, self.name, self.sentence, self.gauge, self.value, self.limit):
            self._grid.removeWidget(part)
        self.gauge.setVisible(roomy)
        self._grid.addWidget(self.chip, 0, 0, middle)
        self._grid.addWidget(self.name, 0, 1, 1, 5 if tight else 1, middle)
        if roomy:
            self._grid.addWidget(self.sentence, 0, 2)
            self._grid.addWidget(self.gauge, 0, 3, middle)
        else:
            self._grid.addWidget(self.sentence, 1, 0, 1, 6)
        line, places = (2, (0, 1)) if tight else (0, (4, 5))
        for part, position in zip((self.value, self.limit), places, strict=True):
            self._grid.addWidget(part, line, position, 1, 5 if tight and position else 1, middle)
        self._grid.setColumnStretch(2, 1)

    def set_low(self, low: bool) -> None:
        """Take less height, in a low window."""
        above = self._theme.px(5 if low else 11)
        self._grid.setContentsMargins(_SIDE, above, _SIDE, above)
        self._grid.setHorizontalSpacing(10 if low else 16)
        self.gauge.set_short(low)

    def show_row(self, row: CheckRow) -> None:
        """Show the findings."""
        self.chip.show_style(_chip_style(row))
        self.name.setText(_(row.name))
        self.sentence.setText(translated(row.sentence))
        self.value.setText(row_value(row))
        self.limit.setText(limit_text(row))
        low, high = _track(row)
        spread = high - low
        good = (
            0.0 if row.low is None else (row.low - low) / spread,
            1.0 if row.high is None else (row.high - low) / spread,
        )
        value = None if row.value is None else (row.value - low) / spread
        self.gauge.show_value(value, good, _TOKENS[row.rating])


def _track(row: CheckRow) -> tuple[float, float]:
    """Ends of the gauge; small shares and long takes have their own track."""
    if row.unit == "%" and row.high is not None and row.low is None:
        return 0.0, 5 * row.high
    low, high = _TRACKS.get(row.unit, (0.0, 100.0))
    return low, max(high, row.value or 0.0)


def _chip_style(row: CheckRow) -> ChipStyle:
    """Icon and text of a row; a failing one says how it misses its limit."""
    return ChipStyle(_(row.missed), FAIL.icon, FAIL.ink, FAIL.fill) if row.missed else _STYLES[row.rating]


class CheckResultCard(Card):
    """Check result, rows and notes."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__(padding=0)
        self.setAccessibleName(_("Check of the recording"))
        self._disc = _Disc()
        self.title = Text("", Role.VERDICT)
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.progress = ProgressBar(_("Checking"))
        self.rows = [RowView() for _ in range(_ROWS)]
        self._lines = [horizontal_line() for _ in range(_ROWS)]
        self._notes = QVBoxLayout()
        self._lay_out()

    def show_checking(self) -> None:
        """Show that the check runs."""
        self.title.setText(_("Checking"))
        self.sentence.setText(_("This takes a moment. The take is safe."))
        self._disc.show_style("clock", "text2", "sunken")
        self.progress.show_share(0.0)
        self._show_rows(shown=False)
        self._show_notes(())

    @Slot(float)
    def show_progress(self, share: float) -> None:
        """Show the progress, 0 to 1."""
        self.progress.show_share(share)

    def show_review(self, review: Review) -> None:
        """Show the review."""
        self._show_rows(shown=True)
        rows = review.check.rows
        for index, view in enumerate(self.rows):
            view.setVisible(index < len(rows))
            self._lines[index].setVisible(index < len(rows))
            if index < len(rows):
                view.show_row(rows[index])
        self._line_up()
        self.title.setText(review.title)
        self.sentence.setText(review.sentence)
        self._disc.show_style(*(("check", "ok", "oktint") if review.good else ("error", "fail", "failtint")))
        self._show_notes(review.check.hints)

    def set_low(self, low: bool) -> None:
        """Take less height, in a low window."""
        self._head.setContentsMargins(_SIDE, *((6, _SIDE, 6) if low else (16, _SIDE, 16)))
        for row in self.rows:
            row.set_low(low)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        px = self._theme.px
        for row in self.rows:
            row.arrange(roomy=self.width() >= px(_ROOMY), tight=self.width() < px(_TIGHT))

    def _lay_out(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.title)
        texts.addWidget(self.sentence)
        texts.addWidget(self.progress)
        head = self._head = QHBoxLayout()
        head.setContentsMargins(_SIDE, 16, _SIDE, 16)
        head.setSpacing(16)
        head.addWidget(self._disc, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(texts, 1)
        self._notes.setContentsMargins(_SIDE, 12, _SIDE, 14)
        self._notes.setSpacing(8)
        self.body.setSpacing(0)
        self.body.addLayout(head)
        for edge, row in zip(self._lines, self.rows, strict=True):
            self.body.addWidget(edge)
            self.body.addWidget(row)
        self._noted = QWidget()
        self._noted.setLayout(self._notes)
        self.body.addWidget(self._noted)

    def _show_rows(self, *, shown: bool) -> None:
        self.progress.setVisible(not shown)
        for part in (*self.rows, *self._lines):
            part.setVisible(shown)

    def _line_up(self) -> None:
        """Give each column the width of its longest text, so that the rows line up."""
        columns = zip(*((row.name, row.value, row.limit) for row in self.rows), strict=True)
        for least, column in zip(_LEAST_WIDTHS, columns, strict=True):
            widest = max(self._theme.px(least), *(part.sizeHint().width() for part in column))
            for part in column:
                part.setMinimumWidth(widest)

    def _show_notes(self, notes: tuple[str, ...]) -> None:
        while (item := self._notes.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._noted.setVisible(bool(notes))
        for note in notes:
            self._notes.addWidget(_Note(translated(note)))


class _Note(QWidget):
    """A sentence without a row."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(IconView("info", "warn", 16), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(Text(sentence, Role.LABEL, "text2", wrap=True), 1)
