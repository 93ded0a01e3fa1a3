"""Cards of the Compare page: one recording with its sound, and rows that compare two."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.waveform import TakeWaveform
from vbdesk.desk.compare.comparison import FeaturePair, Side, SignPair
from vbdesk.desk.compare.view_model import SoundPicture
from vbdesk.desk.playback import Playback
from vbdesk.desk.results.result_rows import FeatureRow
from vbdesk.desk.results.same_subject import SameSubjectRecording
from vbdesk.desk.ui.advice_card import findings_chip
from vbdesk.desk.ui.badges import Chip, LevelBadge, level_badge_size
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, RoundButton
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.fields import ChoiceField
from vbdesk.desk.ui.flow_layout import StackingRow
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.range_marks import PairBandBar
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, pgettext
from vbdesk.report.reader_words import level_in_sentence, level_word
from vbdesk.report.result_texts import overall_in_sentence

_SIDE_PADDING, _GAP = 20, 12
_ONE_LINE_FROM = 720
_VALUE_WIDTH, _CHOICE_WIDTH = 128, 300
MARKS = ("◇", "◆")
"""How charts and headings show the left and the right recording."""


def side_name(index: int) -> str:
    """The left or the right recording, inside a label."""
    if index:
        # Translators: the second of two recordings; in a language from right to left say "second".
        return pgettext("recording", "right")
    # Translators: the first of two recordings; in a language from right to left say "first".
    return pgettext("recording", "left")


def _title(index: int) -> str:
    return pgettext("recording", "Right") if index else pgettext("recording", "Left")


class SideCard(Card):
    """One of the two recordings: choice, facts, level and sound.

    Signals:
        chosen: (RecordingRoute) the user chose another recording.
        toggled: play or pause was pressed.
        sought: (float) position that the user chose, in seconds.
        result_wanted: the user wants its full result.
    """

    chosen = Signal(object)
    toggled = Signal()
    sought = Signal(float)
    result_wanted = Signal()

    def __init__(self, index: int, playback: Playback) -> None:
        self._theme = app_theme()
        super().__init__(padding=18)
        self._name = name = side_name(index)
        self._seconds = 0.0
        self._same_subject: tuple[SameSubjectRecording, ...] = ()
        self.choice = ChoiceField("clock")
        self.choice.setAccessibleName(_("Recording, {side}", side=name))
        self.choice.activated.connect(self._on_chosen)
        self.button = RoundButton(_("Play"), "play", diameter=36)
        self.button.setAccessibleName(_("Play, {side}", side=name))
        self.waveform = TakeWaveform(name=_("Waveform, {side}", side=name))
        self.spectrogram = TakeWaveform(name=_("Spectrogram, {side}, 0 to 8 kilohertz", side=name))
        self._time = Text("", Role.LABEL, "text2")
        self._silence = Text("", Role.LABEL, "text2", wrap=True)
        self._level = QHBoxLayout()
        self._level.setSpacing(10)
        self._facts = QGridLayout()
        self._facts.setHorizontalSpacing(12)
        self._facts.setVerticalSpacing(4)
        self._facts.setColumnStretch(1, 1)
        self.result_button = Button(_("Whole result"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.result_button.setAccessibleName(_("Whole result, {side}", side=name))
        self.result_button.clicked.connect(self.result_wanted)
        label = Text(f"{MARKS[index]} {_title(index)}", Role.CARD_TITLE)
        label.setBuddy(self.choice)
        self.body.addWidget(StackingRow((label, self.choice), least=_CHOICE_WIDTH, spacing=10, shares=(0, 1)))
        self.body.addLayout(self._level)
        self.body.addLayout(self._facts)
        self.body.addWidget(self.result_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self._make_player(playback))
        self.body.addWidget(self._silence)
        self.body.addStretch(1)

    def begin(self) -> None:
        """Show that another recording is being read."""
        self._sound.hide()
        self._silence.hide()
        self.button.setEnabled(False)
        self._time.setText("")
        _empty(self._level)
        _empty(self._facts)

    def show_same_subject(
        self, same_subject: Sequence[SameSubjectRecording], recorded: SameSubjectRecording | None
    ) -> None:
        """Offer these recordings; `recorded` is the one shown."""
        self._same_subject = tuple(same_subject)
        blocked = self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems([one.text for one in self._same_subject])
        self.choice.setCurrentIndex(-1 if recorded is None else self._same_subject.index(recorded))
        self.choice.setEnabled(len(self._same_subject) > 1)
        self.choice.blockSignals(blocked)

    def show_side(self, side: Side) -> None:
        """Show the recording."""
        _empty(self._level)
        _empty(self._facts)
        self.choice.setPlaceholderText(side.name)
        reading = side.reading
        if reading is not None:
            badge = LevelBadge(reading.voice.level, overall=True)
            badge.setAccessibleName(
                _("Overall level, {side}: {level}", side=self._name, level=overall_in_sentence(reading.voice.level))
            )
            self._level.addWidget(badge)
            self._level.addWidget(Text(_("overall level"), Role.CAPTION, "text3"))
            self._level.addStretch(1)
            chip = Chip(findings_chip(len(reading.quality.issues)))
            chip.setAccessibleName(_("Quality, {side}: {findings}", side=self._name, findings=chip.text))
            self._level.addWidget(chip)
        else:
            self._level.addWidget(Text(side.view.heading, Role.LABEL, "text2", wrap=True), 1)
        for row, (name, value) in enumerate(side.facts):
            self._facts.addWidget(Text(name, Role.LABEL, "text3"), row, 0)
            self._facts.addWidget(Text(value, Role.LABEL, "text2", wrap=True), row, 1)
        for part in (self._level, self._facts):
            _show(part)
        self._silence.setText(side.view.silence)
        self._silence.setVisible(bool(side.view.silence))

    def show_sound(self, picture: SoundPicture) -> None:
        """Show its sound, on scales common to both."""
        self._seconds = picture.seconds
        self.waveform.show_take(picture.envelope, picture.seconds, across_s=picture.across_s)
        self.spectrogram.show_take(picture.envelope, picture.seconds, across_s=picture.across_s)
        self.spectrogram.show_spectrogram(picture.shades)
        self._time.setText(clock_text(picture.seconds))
        self._sound.show()

    def _make_player(self, playback: Playback) -> QWidget:
        for picture, height in ((self.waveform, 56), (self.spectrogram, 96)):
            picture.setMinimumHeight(self._theme.px(height))
            picture.sought.connect(self.sought)
        self.button.clicked.connect(self.toggled)
        playback.loaded.connect(self._on_loaded)
        playback.moved.connect(self._on_moved)
        playback.playing_changed.connect(self._on_playing)
        playback.failed.connect(self._on_failed)
        self._sound = QWidget()
        grid = QGridLayout(self._sound)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        grid.addWidget(self.button, 0, 0, 2, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.waveform, 0, 1)
        grid.addWidget(self.spectrogram, 1, 1)
        grid.addWidget(self._time, 0, 2, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(Text(_("8 kHz"), Role.CAPTION, "text3"), 1, 2, Qt.AlignmentFlag.AlignTop)
        grid.setColumnStretch(1, 1)
        self._sound.hide()
        return self._sound

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        self.chosen.emit(self._same_subject[index].recording)

    @Slot()
    def _on_loaded(self) -> None:
        self.button.setEnabled(True)

    @Slot(float)
    def _on_moved(self, seconds: float) -> None:
        self.waveform.show_position(seconds)
        self.spectrogram.show_position(seconds)
        self._time.setText(clock_text(seconds or self._seconds))

    @Slot(bool)
    def _on_playing(self, playing: bool) -> None:
        if playing:
            self.button.show_action(_("Pause"), "pause")
            self.button.setAccessibleName(_("Pause, {side}", side=self._name))
        else:
            self.button.show_action(_("Play"), "play")
            self.button.setAccessibleName(_("Play, {side}", side=self._name))

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self._silence.setText(sentence)
        self._silence.show()


class PairsCard(Card):
    """Rows with both recordings and the difference as text, and a note below."""

    def __init__(self, title: str, heads: tuple[str, str], rows: "Sequence[PairRow]", note: str = "") -> None:
        self._theme = app_theme()
        super().__init__(padding=0)
        self.rows = list(rows)
        self.body.setSpacing(0)
        left, right = (Text(head, Role.CAPTION, "text2", wrap=True) for head in heads)
        self._head = PairRow(
            Text(title, Role.CARD_TITLE, wrap=True), left, right, Text(_("Difference"), Role.CAPTION, "text2")
        )
        self.body.addWidget(self._head)
        for row in self.rows:
            self.body.addWidget(horizontal_line())
            self.body.addWidget(row)
        if note:
            self.body.addWidget(horizontal_line())
            self.body.addWidget(_padded(Text(note, Role.CAPTION, "text3", wrap=True)))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        rows = (self._head, *self.rows)
        one_line = self.width() >= self._theme.px(_ONE_LINE_FROM)
        beside = self.width() - 2 * _SIDE_PADDING - 2 * (self._theme.px(_VALUE_WIDTH) + _GAP)
        above = not one_line and max(row.least_name() for row in rows) > beside
        for row in rows:
            row.arrange(one_line=one_line, name_above=above)


def _value_width(theme: Theme) -> int:
    """Width of a column that holds the badge of every level in the reader's language."""
    return max(theme.px(_VALUE_WIDTH), *(level_badge_size(theme, level_word(level)).width() for level in Level))


class PairRow(QWidget):
    """Name, left, right and difference; in narrow windows the difference is below, then the name above."""

    def __init__(
        self, name: QWidget, left: QWidget, right: QWidget, text: QWidget, below: QWidget | None = None
    ) -> None:
        self._theme = app_theme()
        super().__init__()
        self._name, self._values, self._text, self._below = name, (left, right), text, below
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(_SIDE_PADDING, 9, _SIDE_PADDING, 9)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(0, 5)
        self._arranged: tuple[bool, bool] | None = None
        self.arrange(one_line=True)

    def least_name(self) -> int:
        """Width of the longest word of the name, in pixels."""
        return max(
            part.least_width() for part in (self._name, *self._name.findChildren(Text)) if isinstance(part, Text)
        )

    def arrange(self, *, one_line: bool, name_above: bool = False) -> None:
        """Put the difference to the right or below, and the name before the values or above them."""
        if (one_line, name_above) == self._arranged:
            return
        self._arranged = one_line, name_above
        for part in (self._name, *self._values, self._text):
            self._grid.removeWidget(part)
        top = 1 if name_above else 0
        self._grid.addWidget(self._name, 0, 0, 1, 3 if name_above else 1, Qt.AlignmentFlag.AlignVCenter)
        for column, part in enumerate(self._values, start=1):
            self._grid.addWidget(part, top, column, Qt.AlignmentFlag.AlignVCenter)
        self._grid.setColumnStretch(3, 7 if one_line else 0)
        for column in (1, 2):
            width = _value_width(self._theme) if one_line else self._theme.px(_VALUE_WIDTH)
            self._grid.setColumnMinimumWidth(column, width)
        if one_line:
            self._grid.addWidget(self._text, 0, 3)
        else:
            self._grid.addWidget(self._text, top + 1, 0, 1, 3)
        if self._below is not None:
            self._grid.removeWidget(self._below)
            self._grid.addWidget(self._below, top + 2, 0, 1, 4 if one_line else 3)
        self.updateGeometry()


def _padded(text: Text) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(_SIDE_PADDING, 9, _SIDE_PADDING, 14)
    column.addWidget(text)
    return box


def sign_row(pair: SignPair) -> PairRow:
    """The row of a signal."""
    strong = Role.BODY_STRONG if pair.real else Role.BODY_MEDIUM
    left, right = (_badge(pair.label, side_name(index), level) for index, level in enumerate((pair.left, pair.right)))
    return PairRow(Text(pair.label, strong, wrap=True), left, right, _difference(pair.arrow, pair.text, real=pair.real))


def feature_row(pair: FeaturePair, *, researcher: bool = False) -> PairRow:
    """The row of a vocal feature; for researchers with the subject's own usual range at either time."""
    strong = Role.LABEL_STRONG if pair.real else Role.LABEL_MEDIUM
    left, right = (
        _value(row, mark, researcher=researcher) for row, mark in zip((pair.left, pair.right), MARKS, strict=True)
    )
    bands = PairBandBar(_band(pair.left), _band(pair.right), _spoken(pair))
    text = _difference(pair.arrow, pair.text, real=pair.real)
    return PairRow(_named_feature(pair, strong), left, right, text, bands)


def _named_feature(pair: FeaturePair, strong: Role) -> QWidget:
    """The feature with its everyday words below."""
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(Text(pair.label, strong, wrap=True))
    plain = next((row.plain for row in (pair.right, pair.left) if row is not None), "")
    if plain:
        column.addWidget(Text(plain, Role.CAPTION, "text3", wrap=True))
    return box


def _band(row: FeatureRow | None) -> int | None:
    return None if row is None else row.band


def _spoken(pair: FeaturePair) -> str:
    left, right = (_("Not named") if row is None else row.word for row in (pair.left, pair.right))
    return _("{feature}: left {left}, right {right}", feature=pair.label, left=left, right=right)


def _badge(label: str, name: str, level: Level | None) -> QWidget:
    if level is None:
        return Text(_("Not asked for"), Role.LABEL, "text3", wrap=True)
    badge = LevelBadge(level)
    badge.setAccessibleName(_("{sign}, {side}: {level}", sign=label, side=name, level=level_in_sentence(level)))
    return badge


def _value(row: FeatureRow | None, mark: str, *, researcher: bool) -> QWidget:
    if row is None:
        return Text(_("Not named"), Role.LABEL, "text3", wrap=True)
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(Text(f"{mark} {row.value}", Role.LABEL, "text", wrap=True))
    column.addWidget(Text(row.word, Role.CAPTION, "text2"))
    if researcher and row.own:
        column.addWidget(Text(row.own, Role.CAPTION, "text" if row.own_stands_out else "text2", wrap=True))
    return box


def _difference(arrow: str, text: str, *, real: bool) -> QWidget:
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    ink = "text" if real else "text2"
    row.addWidget(IconView(arrow, ink, 14))
    row.addWidget(Text(text, Role.LABEL_MEDIUM if real else Role.LABEL, ink, wrap=True), 1)
    return box


def _show(layout: QHBoxLayout | QGridLayout) -> None:
    """Show new widgets immediately: otherwise the card is painted once without them."""
    for index in range(layout.count()):
        item = layout.itemAt(index)
        widget = None if item is None else item.widget()
        if widget is not None:
            widget.show()


def _empty(layout: QHBoxLayout | QGridLayout) -> None:
    """Remove the widgets of an earlier recording."""
    while layout.count():
        item = layout.takeAt(0)
        widget = None if item is None else item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
