"""Cards of a result: overall level, narrative, sound, features, metrics, quality, JSON."""

from collections.abc import Sequence
from html import escape

import numpy as np
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.waveform import TakeWaveform
from vbdesk.desk.playback import Loaded, Playback
from vbdesk.desk.results.metric_rows import MetricRow
from vbdesk.desk.results.result_rows import FeatureRow, own_ranges_note
from vbdesk.desk.results.result_text import Speaker, VoiceReading
from vbdesk.desk.ui.badges import LevelGlyph
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, RoundButton, secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.fields import ChoiceField
from vbdesk.desk.ui.flow_layout import FlowLayout
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.range_marks import AnchorBar, BandBar, BandLegend, SpreadLegend
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _
from vbdesk.report.narrative import ShownNarrative
from vbdesk.report.result_texts import overall_word

_MIDDLE_BAND = 2
_LONG = 34  # letters of value and band, above which the value has its own line
_TWO_COLUMNS_FROM = 560


class OverallCard(Card):
    """Overall level and suggested action or, if inconclusive, why and what to do next time."""

    def __init__(self, voice: VoiceReading, inconclusive: tuple[tuple[str, ...], tuple[str, ...]] | None) -> None:
        self._theme = app_theme()
        super().__init__(padding=24)
        title, sentence = voice.action
        level = Text(overall_word(voice.level), Role.OVERALL)
        level.setStyleSheet(f"color: {self._theme.level(voice.level).ink};")
        text = FlowLayout(spacing=10)
        text.addWidget(level)
        if voice.level is not Level.NONE:
            text.addWidget(Text(_("overall level"), Role.BODY, "text2"))
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addStretch(1)
        column.addLayout(text)
        action = Text("", Role.BODY, wrap=True)
        action.setTextFormat(Qt.TextFormat.RichText)
        action.setText(f"<b>{escape(title)}</b> {escape(sentence)}")
        column.addWidget(action)
        if voice.compared:
            column.addWidget(Text(voice.compared, Role.LABEL, "text2", wrap=True))
        for head, sentences in zip((_("Why"), _("Next time")), inconclusive or (), strict=False):
            if sentences:
                column.addSpacing(8)
                column.addWidget(Text(head, Role.LABEL_STRONG))
                column.addWidget(Text(" ".join(sentences), Role.BODY, "text2", wrap=True))
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(20)
        glyph = LevelGlyph(voice.level, size=28, tinted=60)
        row.addWidget(glyph, 0, Qt.AlignmentFlag.AlignTop if inconclusive else Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(column, 1)
        self.body.addLayout(row)


class SpeakerCard(Card):
    """A choice of speaker, if several were separated.

    Signals:
        chosen: (int) index of the speaker; -1 for the whole recording.
    """

    chosen = Signal(int)

    def __init__(self, speakers: tuple[Speaker, ...], index: int) -> None:
        super().__init__(padding=16)
        self.choice = ChoiceField("person")
        self.choice.setAccessibleName(_("Whose voice"))
        self.choice.addItems([_("The whole recording"), *(speaker.label for speaker in speakers)])
        self.choice.setCurrentIndex(index + 1)
        self.choice.currentIndexChanged.connect(self._on_chosen)
        row = QHBoxLayout()
        row.setSpacing(14)
        label = Text(_("Whose voice"), Role.CARD_TITLE)
        label.setBuddy(self.choice)
        row.addWidget(label)
        row.addWidget(self.choice, 1)
        self.body.addLayout(row)

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        self.chosen.emit(index - 1)


class NarrativeCard(Card):
    """The text for care staff, from the signals; or the service's own text."""

    def __init__(self, narrative: ShownNarrative) -> None:
        super().__init__(_("For care staff, not a diagnosis"), quiet=True)
        self.body.setSpacing(6)
        self.body.addWidget(Text(narrative.text, Role.BODY, "text2", wrap=True))
        if narrative.of_service:
            own = _("These are the service's own words, in its language: vbdesk does not know all of its signals.")
            self.body.addWidget(Text(own, Role.CAPTION, "text3", wrap=True))


class PlayerCard(Card):
    """The recording's sound, or why it is missing here."""

    def __init__(self, playback: Playback) -> None:
        super().__init__(padding=16)
        self._playback = playback
        self._seconds = 0.0
        self.shown_for: tuple[str | None, str] = (None, "")
        self.button = RoundButton(_("Play"), "play", diameter=36)
        self.waveform = TakeWaveform()
        self._time = Text("", Role.LABEL, "text2")
        self._sound = QWidget()
        row = QHBoxLayout(self._sound)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(14)
        row.addWidget(self.button)
        row.addWidget(self.waveform, 1)
        row.addWidget(self._time)
        self._text = Text("", Role.LABEL, "text2", wrap=True)
        self._silence = QWidget()
        without = QHBoxLayout(self._silence)
        without.setContentsMargins(0, 0, 0, 0)
        without.setSpacing(12)
        without.addWidget(IconView("mute", "text3", 20), 0, Qt.AlignmentFlag.AlignTop)
        without.addWidget(self._text, 1)
        self.body.setSpacing(6)
        self.body.addWidget(self._sound)
        self.body.addWidget(self._silence)
        self.button.clicked.connect(playback.toggle)
        self.waveform.sought.connect(playback.seek)
        playback.loaded.connect(self._on_loaded)
        playback.moved.connect(self._on_moved)
        playback.playing_changed.connect(self._on_playing)
        playback.failed.connect(self._on_failed)

    def begin(self, take_id: str | None, silence: str) -> None:
        """Show another recording; `silence` says why it cannot be played, empty if it can."""
        self.shown_for = (take_id, silence)
        self.button.setEnabled(False)
        self._time.setText("")
        self.waveform.show_take(np.zeros((0, 2), np.float32), 0.0)
        self._sound.setVisible(not silence)
        self._say(silence)

    def show_segments(self, segments: Sequence[tuple[float, float]]) -> None:
        """Underline the speech of one speaker; nothing for the whole recording."""
        self.waveform.show_segments(segments)

    def text(self) -> str:
        """Why it cannot be played; empty if it can."""
        return self._text.text()

    def _say(self, sentence: str) -> None:
        self._text.setText(sentence)
        self._silence.setVisible(bool(sentence))

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        self._seconds = loaded.seconds
        self.button.setEnabled(True)
        self.waveform.show_take(loaded.envelope, loaded.seconds)
        self.waveform.show_markers(loaded.marks_s)
        self._time.setText(clock_text(loaded.seconds))

    @Slot(float)
    def _on_moved(self, seconds: float) -> None:
        self.waveform.show_position(seconds)
        self._time.setText(clock_text(seconds) if seconds else clock_text(self._seconds))

    @Slot(bool)
    def _on_playing(self, playing: bool) -> None:
        self.button.show_action(_("Pause") if playing else _("Play"), "pause" if playing else "play")

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self._say(sentence)


class FeaturesCard(Card):
    """Vocal features on five bands; for researchers with the subject's own usual range."""

    def __init__(self, features: tuple[FeatureRow, ...], *, researcher: bool) -> None:
        self._theme = app_theme()
        super().__init__(_("Vocal features"), padding=18, right=BandLegend())
        self.body.setSpacing(16)
        for feature in features:
            self.body.addLayout(_feature(self._theme, feature, researcher=researcher))
        note = own_ranges_note(features) if researcher else ""
        if note:
            self.body.addWidget(Text(note, Role.CAPTION, "text3", wrap=True))


def _feature(theme: Theme, feature: FeatureRow, *, researcher: bool) -> QVBoxLayout:
    head = QHBoxLayout()
    head.setSpacing(12)
    head.addWidget(Text(feature.label, Role.LABEL_MEDIUM, wrap=True), 1)
    below = len(feature.value) + len(feature.word) > _LONG
    if not below:
        head.addWidget(Text(feature.value, Role.LABEL, "text2"))
    font = (Role.LABEL_STRONG, "text") if feature.finding else (Role.LABEL, "text2")
    word = Text(feature.word, *font)
    word.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    word.setMinimumWidth(theme.px(78))
    head.addWidget(word)
    column = QVBoxLayout()
    column.setSpacing(5)
    column.addLayout(head)
    if below:
        column.addWidget(Text(feature.value, Role.LABEL, "text2"))
    about = feature_about(feature)
    if about:
        column.addWidget(Text(about, Role.CAPTION, "text3", wrap=True))
    sentence = _("{feature}: {band}", feature=feature.label, band=feature.word)
    column.addWidget(BandBar(feature.band, sentence))
    if researcher and feature.own:
        ink = "text" if feature.own_stands_out else "text2"
        column.addWidget(Text(feature.own, Role.CAPTION, ink, wrap=True))
    return column


def feature_about(feature: FeatureRow) -> str:
    """The feature in everyday words, and whether its band is no finding."""
    if not feature.plain or feature.finding or feature.band == _MIDDLE_BAND:
        return feature.plain
    if feature.band < _MIDDLE_BAND:
        return _("{plain}. A low value is no finding.", plain=feature.plain)
    return _("{plain}. A high value is no finding.", plain=feature.plain)


class MetricsCard(Card):
    """Extended metrics for researchers: how the voice sounds, not how the person feels, with evidence and spread."""

    def __init__(self, metrics: tuple[MetricRow, ...]) -> None:
        self._theme = app_theme()
        super().__init__(_("How the voice sounds"), padding=20, right=SpreadLegend())
        self._cells = [_metric(metric) for metric in metrics]
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(32)
        self._grid.setVerticalSpacing(16)
        self.body.addLayout(self._grid)
        self._columns = 0
        self._arrange(2)
        for metric in metrics:
            if metric.disagreement:
                self.body.addWidget(Text(metric.disagreement, Role.LABEL, "text2", wrap=True))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= self._theme.px(_TWO_COLUMNS_FROM) else 1)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for index, cell in enumerate(self._cells):
            self._grid.addWidget(cell, index // columns, index % columns)
        for column in range(2):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)


def _metric(metric: MetricRow) -> QWidget:
    head = QHBoxLayout()
    head.addWidget(Text(metric.label, Role.LABEL_MEDIUM), 1)
    head.addWidget(Text(_("{mean:.2f} ± {spread:.2f}", mean=metric.mean, spread=metric.spread), Role.LABEL, "text2"))
    ends = QHBoxLayout()
    ends.addWidget(Text(metric.low, Role.CAPTION, "text3"))
    ends.addStretch(1)
    ends.addWidget(Text(metric.high, Role.CAPTION, "text3"))
    cell = QWidget()
    column = QVBoxLayout(cell)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(3)
    column.addLayout(head)
    column.addWidget(
        AnchorBar(metric.mean, metric.spread, _("{metric}: {position}", metric=metric.label, position=metric.text))
    )
    column.addLayout(ends)
    for text in (metric.expected, metric.evidence):
        if text:
            column.addWidget(Text(text, Role.CAPTION, "text3", wrap=True))
    column.addStretch(1)
    return cell


class NotesCard(Card):
    """Notes that limit the result."""

    def __init__(self, notes: Sequence[str]) -> None:
        super().__init__(padding=16, quiet=True)
        self.body.setSpacing(8)
        for note in notes:
            row = QHBoxLayout()
            row.setSpacing(10)
            row.addWidget(IconView("info", "accent", 16), 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(Text(note, Role.LABEL, "text2", wrap=True), 1)
            self.body.addLayout(row)


class JsonPanel(Card):
    """The result as JSON, to read, to copy and to save.

    Signals:
        closed: the user closed the panel.
        save_wanted: the user wants it in a file.
    """

    closed = Signal()
    save_wanted = Signal()

    def __init__(self) -> None:
        self._theme = app_theme()
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.copy_button = secondary_button(_("Copy"), size=ButtonSize.ROW)
        self.save_button = secondary_button(_("Save"), size=ButtonSize.ROW)
        self.close_button = Button(_("Close"), ButtonKind.QUIET, size=ButtonSize.ROW)
        for button in (self.copy_button, self.save_button, self.close_button):
            row.addWidget(button)
        super().__init__(_("Raw JSON"), padding=18, right=buttons)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(_("Raw JSON of the result"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.body.addWidget(self.text, 1)
        self.copy_button.clicked.connect(self._copy)
        self.save_button.clicked.connect(self.save_wanted)
        self.close_button.clicked.connect(self.closed)

    def show_text(self, text: str) -> None:
        """Show another document."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(self._theme.px(12))
        self.text.setFont(font)
        self.text.setPlainText(text)
        self.copy_button.setText(_("Copy"))

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copy_button.setText(_("Copied"))
