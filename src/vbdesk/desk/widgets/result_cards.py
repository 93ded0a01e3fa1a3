"""The cards of a result beside its signals: overall level, narrative, sound, features, metrics, quality, JSON."""

from html import escape

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from vbdesk.desk import theme
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.playback import Loaded, Playback
from vbdesk.desk.viewmodels.result_reading import FeatureRow, MetricRow, ResultReading
from vbdesk.desk.viewmodels.time_words import clock_words
from vbdesk.desk.widgets.badges import WATCH, Chip, ChipLook, LevelGlyph, level_word
from vbdesk.desk.widgets.buttons import Button, ButtonSize, Kind, RoundButton, secondary_button
from vbdesk.desk.widgets.card import Card
from vbdesk.desk.widgets.range_marks import AnchorBar, BandBar
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.widgets.waveform import TakeWaveform

_MIDDLE_BAND = 2


class OverallCard(Card):
    """Overall level and what is suggested, in words."""

    def __init__(self, reading: ResultReading) -> None:
        super().__init__(padding=24)
        title, sentence = reading.action
        level = Text(level_word(reading.level), Role.OVERALL)
        level.setStyleSheet(f"color: {theme.active().level(reading.level).ink};")
        words = QHBoxLayout()
        words.setSpacing(10)
        words.addWidget(level)
        words.addWidget(Text("overall level", Role.BODY, "text2"), 0, Qt.AlignmentFlag.AlignBottom)
        words.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addStretch(1)
        column.addLayout(words)
        action = Text("", Role.BODY, wrap=True)
        action.setTextFormat(Qt.TextFormat.RichText)
        action.setText(f"<b>{escape(title)}</b> {escape(sentence)}")
        column.addWidget(action)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(20)
        row.addWidget(LevelGlyph(reading.level, size=28, tinted=60))
        row.addLayout(column, 1)
        self.body.addLayout(row)


class NarrativeCard(Card):
    """What the service wrote for care staff."""

    def __init__(self, narrative: str) -> None:
        super().__init__("For care staff, not a diagnosis", quiet=True)
        self.body.setSpacing(6)
        self.body.addWidget(Text(narrative, Role.BODY, "text2", wrap=True))


class PlayerCard(Card):
    """The recording's sound; hidden while there is none here."""

    def __init__(self, playback: Playback) -> None:
        super().__init__(padding=16)
        self._playback = playback
        self._seconds = 0.0
        self.button = RoundButton("Play", "play", diameter=36)
        self.button.setEnabled(False)
        self.waveform = TakeWaveform()
        self._time = Text("", Role.LABEL, "text2")
        self._fault = Text("", Role.CAPTION, "text2", wrap=True)
        self._fault.hide()
        row = QHBoxLayout()
        row.setSpacing(14)
        row.addWidget(self.button)
        row.addWidget(self.waveform, 1)
        row.addWidget(self._time)
        self.body.setSpacing(6)
        self.body.addLayout(row)
        self.body.addWidget(self._fault)
        self.button.clicked.connect(playback.toggle)
        self.waveform.sought.connect(playback.seek)
        playback.loaded.connect(self._on_loaded)
        playback.moved.connect(self._on_moved)
        playback.playing_changed.connect(self._on_playing)
        playback.failed.connect(self._on_failed)

    def begin(self) -> None:
        """Another recording is being read."""
        self._fault.hide()
        self.button.setEnabled(False)
        self._time.setText("")

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        self._seconds = loaded.seconds
        self.button.setEnabled(True)
        self.waveform.show_take(loaded.envelope, loaded.seconds)
        self._time.setText(clock_words(loaded.seconds))

    @Slot(float)
    def _on_moved(self, seconds: float) -> None:
        self.waveform.show_position(seconds)
        self._time.setText(clock_words(seconds) if seconds else clock_words(self._seconds))

    @Slot(bool)
    def _on_playing(self, playing: bool) -> None:
        self.button.show_act("Pause" if playing else "Play", "pause" if playing else "play")

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self._fault.setText(sentence)
        self._fault.show()


class FeaturesCard(Card):
    """Vocal features on five bands."""

    def __init__(self, features: tuple[FeatureRow, ...]) -> None:
        super().__init__("Vocal features", padding=18, right=Text("low to high", Role.CAPTION, "text3"))
        self.body.setSpacing(16)
        for feature in features:
            self.body.addLayout(_feature(feature))


def _feature(feature: FeatureRow) -> QVBoxLayout:
    ordinary = feature.band == _MIDDLE_BAND
    head = QHBoxLayout()
    head.setSpacing(12)
    head.addWidget(Text(feature.label, Role.LABEL_MEDIUM, wrap=True), 1)
    head.addWidget(Text(feature.value, Role.LABEL, "text2"))
    word = Text(feature.word, Role.LABEL if ordinary else Role.LABEL_STRONG, "text2" if ordinary else "text")
    word.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    word.setMinimumWidth(theme.active().px(78))
    head.addWidget(word)
    column = QVBoxLayout()
    column.setSpacing(5)
    column.addLayout(head)
    column.addWidget(BandBar(feature.band, f"{feature.label} {feature.word}"))
    return column


class MetricsCard(Card):
    """Extended metrics, for researchers: how the voice sounds, not how the person feels."""

    def __init__(self, metrics: tuple[MetricRow, ...]) -> None:
        super().__init__("How the voice sounds", padding=18, right=Text("mean and spread", Role.CAPTION, "text3"))
        self.body.setSpacing(14)
        for metric in metrics:
            head = QHBoxLayout()
            head.addWidget(Text(metric.label, Role.LABEL_MEDIUM), 1)
            head.addWidget(Text(f"{metric.mean:.2f} ± {metric.spread:.2f}", Role.LABEL, "text2"))
            ends = QHBoxLayout()
            ends.addWidget(Text(metric.low, Role.CAPTION, "text3"))
            ends.addStretch(1)
            ends.addWidget(Text(metric.high, Role.CAPTION, "text3"))
            column = QVBoxLayout()
            column.setSpacing(3)
            column.addLayout(head)
            column.addWidget(AnchorBar(metric.mean, metric.spread, metric.label))
            column.addLayout(ends)
            self.body.addLayout(column)


class QualityCard(Card):
    """How good the recording was, and what to do next time."""

    def __init__(self, reading: ResultReading) -> None:
        notes = reading.quality_notes
        look = ChipLook("Good", "check", "ok", "oktint")
        if notes:
            look = ChipLook("One note" if notes == 1 else f"{notes} notes", WATCH.icon, WATCH.ink, WATCH.fill)
        super().__init__("Recording quality", padding=18, right=Chip(look))
        self.body.setSpacing(8)
        self.body.addWidget(Text(reading.quality, Role.LABEL, "text2", wrap=True))


class JsonPanel(Card):
    """The result as JSON, to read and to copy.

    Signals:
        closed: the panel is to go.
    """

    closed = Signal()

    def __init__(self) -> None:
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.copy_button = secondary_button("Copy", size=ButtonSize.ROW)
        self.close_button = Button("Close", Kind.QUIET, size=ButtonSize.ROW)
        row.addWidget(self.copy_button)
        row.addWidget(self.close_button)
        super().__init__("Raw JSON", padding=18, right=buttons)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName("Raw JSON of the result")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.body.addWidget(self.text, 1)
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.closed)

    def show_text(self, text: str) -> None:
        """Show another document."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(theme.active().px(12))
        self.text.setFont(font)
        self.text.setPlainText(text)
        self.copy_button.setText("Copy")

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copy_button.setText("Copied")
