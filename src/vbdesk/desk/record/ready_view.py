"""The Record page before a recording: set-up at the left, prompt and meter at the right."""

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from vbdesk.capture.meter import SILENCE, InputLevels
from vbdesk.capture.room_check import RoomRating
from vbdesk.desk.language_choice import own_language_name
from vbdesk.desk.record.level_meter import LevelMeterBar, MeterLegend, decibels
from vbdesk.desk.record.protocol_picture import Picture
from vbdesk.desk.record.setup_card import SetupCard
from vbdesk.desk.record.setup_model import RecordForm
from vbdesk.desk.record.view_model import COUNT_IN_S, RecordViewModel, RoomCheck
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import KeyCap, RoundButton, secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area
from vbdesk.desk.ui.fields import ChoiceField
from vbdesk.desk.ui.flow_layout import is_styled
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import ElidedText, PromptLabel, Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, formats, pgettext, translated

_SETUP_WIDTH, _TWO_CARDS, _NO_LIMIT = 320, 820, 16777215
_LEAST_WORDS = 6  # of the prompt; with fewer it says nothing
_RECORD, _RECORD_SMALL = 88, 52
_SETUP, _STAGE = "setup", "stage"
_LOUD_DBFS, _QUIET_DBFS = -3.0, -40.0
_METER_WIDTH = 720  # a wider meter is no easier to read
_PICTURE_LOW = 84
_LOW, _WIDE = 560, 900  # of the card, at 100 % text
_LOWEST = 320  # of the page: below, its title is short and cards are close together, so that a field can be seen
_GAP, _CARD_GAP, _LOWEST_GAP = 16, 24, 8
_PROMPTS = (Role.PROMPT_PREVIEW, Role.PROMPT_COMPACT, Role.PROMPT_LEAST)


_ROOMS = {
    RoomRating.QUIET: (Tone.OK, N_("The room is quiet enough")),
    RoomRating.WATCH: (Tone.INFO, N_("Some noise in the room")),
    RoomRating.NOISY: (Tone.WARN, N_("The room is noisy")),
    RoomRating.SILENT: (Tone.WARN, N_("The microphone gives no sound")),
    RoomRating.DISTURBED: (Tone.INFO, N_("The room was not still")),
}


class StageCard(Card):
    """Prompt, meter, room check and record bar; binds `RecordViewModel`."""

    def __init__(self, model: RecordViewModel) -> None:
        self._theme = app_theme()
        super().__init__(padding=0)
        self.setAccessibleName(pgettext("activity", "Recording"))
        self._preview = self._whole = self._language = ""
        self._model = model
        self.prompt, self.picture = PromptLabel(Role.PROMPT_PREVIEW), Picture()
        self.language = ChoiceField("globe")
        self.language.setAccessibleName(_("Language of the prompt"))
        self.language.addItems([own_language_name(tag) for tag in model.setup.languages])
        self.meter, self._meter_text = LevelMeterBar(), Text("", Role.LABEL, "text2")
        self.room = Banner()
        self.room.reserve(3)
        self.record = RoundButton(_("Start recording"), "mic", diameter=_RECORD, record=True)
        self.title = ElidedText("", Role.DOOR_TITLE, cut=Qt.TextElideMode.ElideMiddle)
        self._below = Text("", Role.BODY, "text2", wrap=True)
        self._lay_out()
        self._bind()

    def _lay_out(self) -> None:
        upper = self._column = QVBoxLayout()
        above = QHBoxLayout()
        self.caption = ElidedText("", Role.CAPTION_MEDIUM, "text2")
        above.addWidget(self.caption, 1)
        above.addWidget(self.language)
        upper.addLayout(above)
        upper.addWidget(self.prompt)
        upper.addWidget(self.picture, 4)
        upper.addStretch(2)
        head = QHBoxLayout()
        head.addWidget(Text(_("Input level"), Role.LABEL_MEDIUM))
        head.addStretch(1)
        head.addWidget(self._meter_text)
        self._level = QWidget()
        level = QVBoxLayout(self._level)
        level.setContentsMargins(0, 0, 0, 0)
        level.setSpacing(8)
        level.addLayout(head)
        level.addWidget(self.meter)
        level.addWidget(MeterLegend())
        upper.addWidget(self._level)
        upper.addStretch(1)
        upper.addWidget(self.room)
        content = QWidget()
        content.setLayout(upper)
        self._upper, self._edge = scroll_area(content), horizontal_line()
        self._upper.viewport().installEventFilter(self)
        self.body.setSpacing(0)
        self.body.addWidget(self._upper, 1)
        self.body.addWidget(self._edge)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addStretch(1)
        texts.addWidget(self.title)
        texts.addWidget(self._below)
        texts.addStretch(1)
        bar = QHBoxLayout()
        bar.setContentsMargins(32, 24, 32, 24)
        bar.setSpacing(22)
        bar.addWidget(self.record)
        bar.addLayout(texts, 1)
        self._key = KeyCap(pgettext("key", "Space"))
        bar.addWidget(self._key)
        self._bar = bar
        self.body.addLayout(bar)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.Resize:
            self._level.setMaximumWidth(self._theme.px(_METER_WIDTH))
            self._fit_prompt()
        return False

    def _fit_prompt(self) -> None:
        """Show the prompt as large as it fits; meter and room check come first, so that both are always visible."""
        px = self._theme.px
        low = self.height() < px(_LOW)
        self._column.setContentsMargins(32, *((12, 32, 10) if low else (28, 32, 24)))
        self._column.setSpacing(8 if low else 12)
        self.picture.setMaximumHeight(px(_PICTURE_LOW) if low else _NO_LIMIT)
        view = self._upper.viewport()
        if not self._preview or not is_styled(self) or view.width() < px(100):
            return
        wide = view.width() >= px(_WIDE)
        ways = [(self._whole, Role.PROMPT), (self._preview, Role.PROMPT)] if wide else []
        for text, role in (*ways, *((self._preview, role) for role in _PROMPTS)):
            self.prompt.show_text(text, role, language=self._language)
            if self._column.totalHeightForWidth(view.width()) <= view.height():
                return
        words = self._preview.removesuffix(" …").split()
        while len(words) > _LEAST_WORDS and self._column.totalHeightForWidth(view.width()) > view.height():
            words = words[: len(words) - max(1, len(words) // 8)]
            self.prompt.show_text(f"{' '.join(words)} …", _PROMPTS[-1], language=self._language)

    def show_upper(self, shown: bool) -> None:
        """Show or hide the part above the record bar."""
        self._upper.setVisible(shown)
        self._edge.setVisible(shown)

    def show_small(self, small: bool) -> None:
        """Make the record bar small, without its key hint."""
        self._key.setVisible(not small)
        self.record.set_diameter(_RECORD_SMALL if small else _RECORD)
        above = 10 if small else 24
        self._bar.setContentsMargins(32, above, 32, above)

    def _bind(self) -> None:
        model = self._model
        self.record.clicked.connect(model.press)
        self.language.activated.connect(model.setup.choose_language)
        model.setup.language_changed.connect(self._show_language)
        self._show_language()
        model.levels_changed.connect(self._show_levels)
        model.room_changed.connect(self._show_room)
        model.setup.form_changed.connect(self._show_form)
        model.setup.ready_changed.connect(self._show_ready)
        model.setup.subject_changed.connect(self._show_ready)
        model.setup.subject_changed.connect(self._show_caption)
        model.setup.devices_changed.connect(self._show_ready)
        model.setup.consent.changed.connect(self._on_consent)
        self._show_form(model.setup.form)
        self._show_ready(None)
        self._show_levels(SILENCE)

    @Slot()
    def _show_language(self) -> None:
        setup = self._model.setup
        self.language.setCurrentIndex(setup.languages.index(setup.language))

    @Slot(object)
    def _show_form(self, form: RecordForm) -> None:
        first, *rest = form.protocol.text.split("\n\n")
        self._preview = f"{first} …" if rest else first
        self._whole = form.protocol.text
        self._language = form.protocol.tasks[0].language
        self._show_caption(None)
        self.picture.show_picture(form.protocol.picture)
        self.prompt.show_text(self._preview, language=self._language)
        self._fit_prompt()
        self._show_ready(None)

    @Slot(object)
    def _show_caption(self, changed: object) -> None:
        """Say what the text is for, or why it is not in the language of the subject."""
        instead = self._model.setup.language_text()
        self.caption.setText(instead or _("Shown large while recording"))
        self.caption.set_ink("warn" if instead else "text2")

    @Slot()
    def _on_consent(self) -> None:
        self._show_ready(None)

    @Slot(object)
    def _show_ready(self, changed: object) -> None:
        setup, missing = self._model.setup, self._model.setup.missing
        subject = setup.subject_name(setup.subject.group_id) if setup.subject.usable else ""
        self.title.setText(_("Start recording {subject}", subject=subject) if subject else _("Start recording"))
        self.record.setAccessibleDescription(subject)
        self.record.setEnabled(not missing)
        begin = setup.form.protocol.begin.format(seconds=formats.number(COUNT_IN_S))
        self._below.setText(missing or begin)

    @Slot(object)
    def _show_levels(self, levels: InputLevels) -> None:
        self.meter.show_input(levels)
        text, ink = _level_text(levels)
        if text != self._meter_text.text():
            self._meter_text.setText(text)
            self._meter_text.set_ink(ink)

    @Slot(object)
    def _show_room(self, check: RoomCheck) -> None:
        if check.listening:
            self.room.say(Tone.INFO, _("Keep quiet for 3 seconds."), title=_("Listening to the room"))
            return
        if check.finding is None:
            self.room.clear()
            return
        tone, title = _ROOMS[check.finding.rating]
        figures = ""
        if check.finding.floor_dbfs is not None:
            figures = _(
                "Noise floor {floor} dBFS, limit {limit}.",
                floor=decibels(check.finding.floor_dbfs),
                limit=decibels(self._model.noise_limit_dbfs),
            )
        advice = "" if check.finding.rating is RoomRating.QUIET else translated(check.finding.sentence)
        check_again = NoticeAction(_("Check again"), self._model.check_room, stays=True)
        self.room.say(tone, f"{figures} {advice}".strip(), check_again, title=_(title))


def _level_text(levels: InputLevels) -> tuple[str, str]:
    """The level as text, and its colour token."""
    if levels.held_peak_dbfs < -90.0:
        return _("No sound"), "text3"
    peak = decibels(levels.held_peak_dbfs)
    if levels.clipping:
        return _("Peak {peak} dBFS · too loud, move away", peak=peak), "fail"
    if levels.held_peak_dbfs >= _LOUD_DBFS:
        return _("Peak {peak} dBFS · loud", peak=peak), "warn"
    if levels.held_peak_dbfs < _QUIET_DBFS:
        return _("Peak {peak} dBFS · quiet", peak=peak), "text2"
    return _("Peak {peak} dBFS · good", peak=peak), "text2"


class ReadyView(QWidget):
    """Title, import and both cards; narrow windows show one card and a choice."""

    def __init__(self, model: RecordViewModel) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setup, self.stage = SetupCard(model.setup), StageCard(model)
        self.parts = SegmentedChoice(
            _("Part of the page"), [(_SETUP, _("Set-up"), ""), (_STAGE, _("Prompt and level"), "")]
        )
        self.import_files = secondary_button(_("Import files"), icon="import")
        self.speaker = secondary_button(_("Patient screen"), icon="talk")
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(pgettext("page", "Record"), Role.PAGE_TITLE))
        self._sentence = Text("", Role.BODY, "text2", wrap=True)
        texts.addWidget(self._sentence)
        self._cards = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._cards.addWidget(self.setup)
        self._cards.addWidget(self.stage, 1)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(PageHeader(texts, self.speaker, self.import_files, texts_width=230))
        column.addWidget(self.parts)
        column.addLayout(self._cards, 1)
        self._setup_model = model.setup
        self.parts.chosen.connect(self._show_part)
        self.setup.subject.returnPressed.connect(self.leave_subject)
        self.setup.subject.focused.connect(self._show_sentence)
        model.setup.ready_changed.connect(self._show_sentence)
        model.setup.subject_changed.connect(self._show_sentence)
        model.setup.devices_changed.connect(self._show_sentence)
        model.setup.consent.changed.connect(self._on_consent)
        model.setup.consent.ticked.connect(self._on_ticked)
        self._show_sentence(None)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        px = self._theme.px
        narrow = self.width() < px(_TWO_CARDS)
        self.parts.setVisible(narrow)
        self.setup.show_consent_at_foot(not narrow)
        lowest = self.height() < px(_LOWEST)
        for button in (self.speaker, self.import_files):
            button.show_text(not lowest)
        self._sentence.setVisible(not lowest)  # the record bar says what is missing
        self._column.setSpacing(_LOWEST_GAP if lowest else _GAP)
        self._cards.setSpacing(_LOWEST_GAP if lowest else _CARD_GAP)
        self.stage.show_small(narrow or self.height() < px(_LOW))
        self.setup.setMaximumWidth(_NO_LIMIT if narrow else px(_SETUP_WIDTH))
        self.setup.setMinimumWidth(0 if narrow else px(_SETUP_WIDTH))
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._cards.setDirection(down if narrow else across)
        self._cards.setStretch(0, 1 if narrow and self.parts.choice() == _SETUP else 0)
        self._cards.setStretch(1, 0 if narrow and self.parts.choice() == _SETUP else 1)
        shown = not narrow or self.parts.choice() == _SETUP
        self.setup.setVisible(shown)
        self.setup.setEnabled(shown)  # Qt gives the keyboard to hidden fields, but not to disabled ones
        self.stage.show_upper(not narrow or self.parts.choice() == _STAGE)

    def enter_subject(self) -> None:
        """Take the keyboard to the subject field, on the part of the page that shows it."""
        self.parts.option(_SETUP).setChecked(True)
        self.setup.subject.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(str)
    def _show_part(self, part: str) -> None:
        self._arrange()

    @Slot()
    def leave_subject(self) -> None:
        """Move from the subject field to the record button, or to the consent that is missing."""
        if self._setup_model.ready:
            self._focus_record()
        elif self._setup_model.consent.missing:
            self.setup.consent.tick.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def _on_ticked(self) -> None:
        """Move from the tick to the record button, so that the next Space begins."""
        if self._setup_model.ready:
            self._focus_record()

    def _focus_record(self) -> None:
        self.parts.option(_STAGE).setChecked(True)
        self.stage.record.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def _on_consent(self) -> None:
        self._show_sentence(None)

    @Slot(object)
    def _show_sentence(self, changed: object) -> None:
        ready = (
            _("Ready. Press Enter, then Space to begin.")
            if self.setup.subject.hasFocus()
            else _("Ready. Press Space to begin.")
        )
        self._sentence.setText(self._setup_model.missing or ready)
