"""The Record page after a recording: playback, trim, the check, and what to do with the take."""

from datetime import datetime

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.protocols import protocols
from vbdesk.desk import theme
from vbdesk.desk.icons import IconView
from vbdesk.desk.span import Span
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.playback import Loaded
from vbdesk.desk.viewmodels.take_review import Origin, Review, Source, TakeReviewViewModel, row_value
from vbdesk.desk.widgets.badges import FAIL, PASS, WATCH, Chip, ChipLook
from vbdesk.desk.widgets.buttons import Button, ButtonSize, Kind, RoundButton, quiet_button, secondary_button
from vbdesk.desk.widgets.card import Card, line, scrolled
from vbdesk.desk.widgets.gauge import Gauge
from vbdesk.desk.widgets.painting import antialiased
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.widgets.waveform import TakeWaveform, clock_words
from vbdesk.outbox.check import CheckRow, Verdict

_LOOKS: dict[Verdict, ChipLook] = {Verdict.PASS: PASS, Verdict.WATCH: WATCH, Verdict.FAIL: FAIL}
_TOKENS: dict[Verdict, str] = {Verdict.PASS: "ok", Verdict.WATCH: "warn", Verdict.FAIL: "fail"}
_TRACKS = {"s": (0.0, 60.0), "%": (0.0, 100.0), "dB": (-60.0, 0.0), "dBFS": (-60.0, 0.0), "": (0.0, 100.0)}


class _Disc(QWidget):
    """The verdict as an icon on a tinted disc."""

    def __init__(self) -> None:
        super().__init__()
        side = theme.active().px(44)
        self.setFixedSize(side, side)
        self._tint = "sunken"
        self._icon = IconView("clock", "text2", 22)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignCenter)

    def show_look(self, icon: str, ink: str, tint: str) -> None:
        self._icon.show_icon(icon, ink)
        self._tint = tint
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(self._tint))
        painter.drawEllipse(self.rect())
        painter.end()


class _RowView:
    """The widgets of one row of the check, in a grid."""

    def __init__(self, grid: QGridLayout, place: int) -> None:
        self.chip = Chip(PASS)
        self.chip.setFixedWidth(theme.active().px(84))
        self.name, self.sentence = Text("", Role.BODY_STRONG), Text("", Role.BODY, "text2", wrap=True)
        self.gauge = Gauge()
        self.value, self.limit = Text("", Role.BODY_STRONG), Text("", Role.CAPTION, "text2")
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(line(), 2 * place, 0, 1, 8)
        grid.setRowMinimumHeight(2 * place + 1, theme.active().px(47))
        middle = Qt.AlignmentFlag.AlignVCenter
        grid.addWidget(self.chip, 2 * place + 1, 1, middle)
        for column, widget in enumerate((self.name, self.sentence, self.gauge, self.value, self.limit), 2):
            grid.addWidget(widget, 2 * place + 1, column, middle if column != 3 else Qt.AlignmentFlag(0))

    def show_row(self, row: CheckRow) -> None:
        self.chip.show_look(_look(row))
        self.name.setText(row.name)
        self.sentence.setText(row.sentence)
        self.value.setText(row_value(row))
        self.limit.setText(row.limit_text)
        low, high = _track(row)
        spread = high - low
        good = (
            0.0 if row.low is None else (row.low - low) / spread,
            1.0 if row.high is None else (row.high - low) / spread,
        )
        value = None if row.value is None else (row.value - low) / spread
        self.gauge.show_value(value, good, _TOKENS[row.verdict])


def _track(row: CheckRow) -> tuple[float, float]:
    """Ends of the gauge: shares that must stay tiny get a track of their own."""
    if row.unit == "%" and row.high is not None and row.low is None:
        return 0.0, 5 * row.high
    return _TRACKS.get(row.unit, (0.0, 100.0))


def _look(row: CheckRow) -> ChipLook:
    """A failing row says on which side of its limit it is."""
    if row.verdict is Verdict.FAIL and row.value is not None:
        below = row.low is not None and row.value < row.low
        return ChipLook("Too low" if below else "Too high", FAIL.icon, FAIL.ink, FAIL.fill)
    return _LOOKS[row.verdict]


class CheckView(QWidget):
    """Everything after a recording; binds `TakeReviewViewModel`."""

    def __init__(self, model: TakeReviewViewModel) -> None:
        super().__init__()
        self._model = model
        self._review: Review | None = None
        self._subject, self._about = Text("", Role.BODY_STRONG), Text("", Role.BODY, "text2")
        self._kept = Text("Take saved and encrypted", Role.LABEL, "text2")
        self.play = RoundButton("Play", "play", diameter=48)
        self.waveform = TakeWaveform(trimmable=True)
        self._position, self._length = Text("0:00", Role.BODY_STRONG), Text("", Role.LABEL, "text2")
        self._trimmed = Text("", Role.LABEL, "text2")
        self.undo_trim = secondary_button("Undo trim", icon="trim", size=ButtonSize.ROW)
        self._disc = _Disc()
        self.title = Text("", Role.VERDICT)
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self._reason_icon = IconView("error", "fail", 18)
        self.reason = Text("", Role.LABEL_MEDIUM, wrap=True)
        self._reason_below = Text("", Role.CAPTION, "text2", wrap=True)
        self.keep = quiet_button("Keep, do not send", size=ButtonSize.LARGE)
        self.retake = Button("Retake", Kind.SECONDARY, icon="retake", key="R", size=ButtonSize.LARGE)
        self.send = Button("Send", Kind.PRIMARY, icon="arrow-right", key="Enter", size=ButtonSize.LARGE)
        self._lay_out()
        self._bind()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(Text("Check", Role.PAGE_TITLE))
        head.addWidget(self._subject)
        head.addWidget(self._about)
        head.addStretch(1)
        head.addWidget(IconView("lock", "ok", 16))
        head.addWidget(self._kept)
        content = QWidget()
        inner = QVBoxLayout(content)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(16)
        inner.addWidget(self._playback_card())
        inner.addWidget(self._verdict_card())
        inner.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        column.addLayout(head)
        column.addWidget(scrolled(content), 1)
        column.addLayout(self._actions())

    def _playback_card(self) -> Card:
        card = Card(padding=0)
        below = QHBoxLayout()
        below.setSpacing(18)
        below.addWidget(self._position)
        below.addWidget(self._length)
        below.addStretch(1)
        below.addWidget(self._trimmed)
        below.addWidget(self.undo_trim)
        grid = QGridLayout()
        grid.setContentsMargins(22, 8, 22, 14)
        grid.setHorizontalSpacing(18)
        grid.addWidget(self.play, 0, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.waveform, 0, 1)
        grid.addLayout(below, 1, 1)
        card.body.addLayout(grid)
        return card

    def _verdict_card(self) -> Card:
        card = Card(padding=0)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.title)
        words.addWidget(self.sentence)
        head = QHBoxLayout()
        head.setContentsMargins(24, 16, 24, 16)
        head.setSpacing(16)
        head.addWidget(self._disc)
        head.addLayout(words, 1)
        grid = QGridLayout()
        grid.setContentsMargins(1, 0, 1, 1)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(0)
        px = theme.active().px
        for column, width in ((0, 7), (1, 84), (2, 100), (4, 180), (5, 60), (6, 92), (7, 1)):
            grid.setColumnMinimumWidth(column, px(width))
        grid.setColumnStretch(3, 1)
        self.rows = [_RowView(grid, place) for place in range(5)]
        card.body.setSpacing(0)
        card.body.addLayout(head)
        card.body.addLayout(grid)
        return card

    def _actions(self) -> QHBoxLayout:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.reason)
        words.addWidget(self._reason_below)
        row = QHBoxLayout()
        row.setContentsMargins(0, 8, 0, 8)
        row.setSpacing(12)
        row.addWidget(self._reason_icon)
        row.addLayout(words, 1)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(12)
        for button in (self.keep, self.retake, self.send):
            self._buttons.addWidget(button)
        row.addLayout(self._buttons)
        return row

    def _bind(self) -> None:
        model, playback = self._model, self._model.playback
        self.play.clicked.connect(playback.toggle)
        self.waveform.sought.connect(playback.seek)
        self.waveform.trimmed.connect(self._on_trimmed)
        self.undo_trim.clicked.connect(model.undo_trim)
        self.keep.clicked.connect(model.keep)
        self.retake.clicked.connect(model.retake)
        self.send.clicked.connect(model.send)
        model.started.connect(self._show_source)
        model.checked.connect(self._show_review)
        playback.loaded.connect(self._show_sound)
        playback.moved.connect(self._show_position)
        playback.playing_changed.connect(self._show_playing)

    @Slot(object)
    def _on_trimmed(self, span: Span) -> None:
        self._model.trim(span)

    @Slot(object)
    def _show_source(self, source: Source) -> None:
        self._review = None
        self._subject.setText(source.metadata.group_id)
        titles = {protocol.protocol_id: protocol.title for protocol in protocols()}
        what = source.path.name if source.origin is Origin.FILE else titles.get(source.metadata.protocol, "")
        self._about.setText(" · ".join(part for part in (what, _when(source.metadata.recorded_at)) if part))
        self._kept.setText(
            "Copied and encrypted when kept" if source.origin is Origin.FILE else "Take saved and encrypted"
        )
        self.retake.setVisible(source.origin is not Origin.FILE)
        self.title.setText("Checking")
        self.sentence.setText("This takes a moment.")
        self._disc.show_look("clock", "text2", "sunken")
        for row in self.rows:
            row.sentence.setText("")
        self.reason.setText("")
        self._reason_below.setText("This take is kept until you decide.")
        self._reason_icon.setVisible(False)
        for button in (self.send, self.keep):
            button.setEnabled(False)

    @Slot(object)
    def _show_sound(self, sound: Loaded) -> None:
        span = None if self._review is None else self._review.span
        self.waveform.show_take(sound.envelope, sound.seconds, span)
        self._length.setText(f"of {clock_words(sound.seconds)}")

    @Slot(object)
    def _show_review(self, review: Review) -> None:
        self._review = review
        for view, row in zip(self.rows, review.check.rows, strict=False):
            view.show_row(row)
        self.title.setText(review.title)
        self.sentence.setText(review.sentence)
        self._disc.show_look(*(("check", "ok", "oktint") if review.good else ("error", "fail", "failtint")))
        self.waveform.show_span(review.span)
        trimmed_s = self._model.trimmed_s
        self._trimmed.setText(f"Trimmed at the ends: {trimmed_s:.1f} s" if trimmed_s > 0.05 else "")
        self.undo_trim.setVisible(trimmed_s > 0.05)
        self._show_actions(review)

    def _show_actions(self, review: Review) -> None:
        self._reason_icon.setVisible(not review.good)
        self.reason.set_ink("text" if review.good else "fail")
        if review.good:
            self.reason.setText(f"Sends about {review.flac_bytes / 1e6:.1f} MB as lossless FLAC")
            self._reason_below.setText("Goes to the Outbox at once. The next subject can begin.")
        else:
            self.reason.setText(review.reason)
            self._reason_below.setText("This take is kept until you decide.")
        main, other = (self.send, self.retake) if review.good else (self.retake, self.send)
        main.set_kind(Kind.PRIMARY)
        other.set_kind(Kind.SECONDARY)
        self._buttons.removeWidget(main)
        self._buttons.addWidget(main)
        self.send.setText("Send" if review.good else "Send anyway")
        self.send.set_key("Enter" if review.good else "")
        self.send.setEnabled(review.sendable)
        self.keep.setEnabled(True)

    @Slot(float)
    def _show_position(self, seconds: float) -> None:
        self.waveform.show_position(seconds)
        self._position.setText(clock_words(seconds))

    @Slot(bool)
    def _show_playing(self, playing: bool) -> None:
        self.play.show_act("Pause" if playing else "Play", "pause" if playing else "play")


def _when(moment: datetime) -> str:
    local = moment.astimezone()
    if local.date() == datetime.now().astimezone().date():
        return f"today {local:%H:%M}"
    return f"{local.day} {local:%b %Y, %H:%M}"
