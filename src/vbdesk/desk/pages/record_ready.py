"""The Record page before a recording: set-up at the left, what will be said and the meter at the right."""

from PySide6.QtCore import QLocale, QStringListModel, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCompleter,
    QHBoxLayout,
    QListView,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from vbdesk.capture.devices import Device
from vbdesk.capture.meter import SILENCE, Levels
from vbdesk.capture.room import RoomVerdict
from vbdesk.contract.catalog import MODEL_SIGNS, STANDALONE_SIGNS
from vbdesk.desk import theme
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.record import RecordViewModel, RoomCheck
from vbdesk.desk.viewmodels.record_setup import Form, RecordSetupViewModel, Subject
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.buttons import KeyCap, RoundButton, secondary_button
from vbdesk.desk.widgets.card import Card, line, scrolled
from vbdesk.desk.widgets.fields import ChoiceField, Field, LineField, TagsField, TickBox
from vbdesk.desk.widgets.level_meter import LevelMeter, MeterLegend
from vbdesk.desk.widgets.page_head import PageHead
from vbdesk.desk.widgets.picture import Picture
from vbdesk.desk.widgets.segment import Segment
from vbdesk.desk.widgets.text import Elided, Prompt, Text
from vbdesk.outbox.items import Target

_SETUP_WIDTH, _TWO_CARDS, _NO_LIMIT = 320, 820, 16777215
_RECORD, _RECORD_SMALL = 88, 52
_SETUP, _STAGE = "setup", "stage"
_NAMES = {"default": "System default", "pulse": "PulseAudio", "pipewire": "PipeWire"}
_LOUD_DBFS, _QUIET_DBFS = -3.0, -40.0


_ROOMS = {
    RoomVerdict.QUIET: (Tone.OK, "The room is quiet enough"),
    RoomVerdict.WATCH: (Tone.INFO, "Some noise in the room"),
    RoomVerdict.NOISY: (Tone.WARN, "The room is noisy"),
    RoomVerdict.SILENT: (Tone.WARN, "The microphone gives no sound"),
    RoomVerdict.DISTURBED: (Tone.INFO, "The room was not still"),
}


class SetupCard(Card):
    """Subject, protocol, microphone, what is asked for, tags, note, consent; binds `RecordSetupViewModel`."""

    def __init__(self, model: RecordSetupViewModel) -> None:
        super().__init__(padding=0)
        self.setAccessibleName("Set-up of the recording")
        self._model = model
        self.subject = LineField(icon="person", placeholder="For example ward4-0172")
        self.protocol, self.device, self.target = ChoiceField("layout"), ChoiceField("mic"), ChoiceField("chart")
        self.tags, self.note = TagsField("Enter makes a tag"), QPlainTextEdit()
        self.consent = TickBox("Consent given", model.consent_words())
        self.subject_field = Field("Subject", self.subject, help_text="Letters, digits and . _ ~ : -")
        self.protocol_field = Field("Protocol", self.protocol)
        self.device_field = Field("Microphone", self.device, help_text="Looking for microphones")
        self._known = QStringListModel(self)
        self._fill()
        self._lay_out()
        self._bind()

    def _fill(self) -> None:
        self._show_language()
        for name, signs in MODEL_SIGNS.items():
            words = f"{name.value.capitalize()}, {len(signs)} sign{'' if len(signs) == 1 else 's'}"
            self.target.addItem(words, str(Target("model", name.value)))
        for sign in STANDALONE_SIGNS:
            self.target.addItem(sign.label, str(Target("sign", sign.value)))
        self.note.setPlaceholderText("Anything worth knowing later")
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(theme.active().px(50))
        popup = QListView()
        popup.setObjectName("completions")
        completer = QCompleter(self._known, self)
        completer.setPopup(popup)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.subject.setCompleter(completer)
        self._show_form(self._model.form)

    def _lay_out(self) -> None:
        fields = QWidget()
        column = QVBoxLayout(fields)
        column.setContentsMargins(22, 20, 22, 14)
        column.setSpacing(12)
        for field in (
            self.subject_field,
            self.protocol_field,
            self.device_field,
            Field("Analysis", self.target),
            Field("Tags", self.tags, optional=True),
            Field("Note", self.note, optional=True),
        ):
            column.addWidget(field)
        column.addStretch(1)
        self._fields = column
        self._edge, self._foot, self._consent_row = line(), QWidget(), QHBoxLayout()
        self._foot.setLayout(self._consent_row)
        self._consent_row.addWidget(self.consent)
        self.body.setSpacing(0)
        self.body.addWidget(scrolled(fields), 1)
        self.body.addWidget(self._edge)
        self.body.addWidget(self._foot)

    def keep_consent_at_foot(self, kept: bool) -> None:
        """Keep the tick box in sight below the fields; or, where room is short, let it scroll with them."""
        self._edge.setVisible(kept)
        self._consent_row.setContentsMargins(*((22, 14, 22, 16) if kept else (0, 4, 0, 4)))
        if kept:
            self.body.addWidget(self._foot)
        else:
            self._fields.insertWidget(1, self._foot)

    def _bind(self) -> None:
        model = self._model
        self.subject.textChanged.connect(self._on_subject_typed)
        self.protocol.activated.connect(model.choose_protocol)
        self.device.activated.connect(model.choose_device)
        self.target.activated.connect(self._on_target)
        self.tags.changed.connect(self._on_tags)
        self.note.textChanged.connect(self._on_note)
        self.consent.toggled.connect(model.set_consent)
        model.subject_changed.connect(self._show_subject)
        model.subjects_changed.connect(self._show_known)
        model.devices_changed.connect(self._show_devices)
        model.form_changed.connect(self._show_form)
        model.language_changed.connect(self._show_language)

    @Slot()
    def _show_language(self) -> None:
        self.protocol.clear()
        self.protocol.addItems([protocol.title for protocol in self._model.protocols])

    @Slot(str)
    def _on_subject_typed(self, text: str) -> None:
        self._model.set_subject(text)

    @Slot(int)
    def _on_target(self, index: int) -> None:
        self._model.choose_target(Target.parse(self.target.itemData(index)))

    @Slot()
    def _on_tags(self) -> None:
        self._model.set_tags(self.tags.tags())

    @Slot()
    def _on_note(self) -> None:
        self._model.set_note(self.note.toPlainText())

    @Slot(object)
    def _show_subject(self, subject: Subject) -> None:
        if self.subject.text().strip() != subject.group_id:
            self.subject.setText(subject.group_id)
        self.subject_field.set_help(self._model.subject_words() or "Letters, digits and . _ ~ : -")
        self.subject_field.set_fault(subject.fault)
        self.subject.show_mark("error" if subject.fault else "check" if subject.usable else "", "ok")
        if subject.fault:
            self.subject.show_mark("error", "fail")

    @Slot(object)
    def _show_known(self, subjects: tuple[str, ...]) -> None:
        if self._known.stringList() != list(subjects):
            self._known.setStringList(list(subjects))

    @Slot(object)
    def _show_devices(self, devices: list[Device]) -> None:
        names = [_NAMES.get(device.name, device.name) for device in devices]
        if [self.device.itemText(index) for index in range(self.device.count())] != names:
            self.device.clear()
            self.device.addItems(names)
        if self._model.device is None:
            self.device_field.set_fault("No microphone is connected. Plug one in; it appears here by itself.")
        else:
            self.device.setCurrentIndex(devices.index(self._model.device))
            self.device_field.set_help("48 kHz, mono · connected")
            self.device_field.set_fault(None)

    @Slot(object)
    def _show_form(self, form: Form) -> None:
        self.protocol.setCurrentIndex(self._model.protocols.index(form.protocol))
        self.protocol_field.set_help(form.protocol.help)
        self.target.setCurrentIndex(self.target.findData(str(form.target)))
        if self.tags.tags() != form.tags:
            self.tags.set_tags(form.tags)
        if self.note.toPlainText().strip() != form.note:
            self.note.setPlainText(form.note)
        self.consent.setChecked(form.consented_at is not None)
        self.consent.set_caption(self._model.consent_words())


class StageCard(Card):
    """What will be said, the meter, the room, and the record bar; binds `RecordViewModel`."""

    def __init__(self, model: RecordViewModel) -> None:
        super().__init__(padding=0)
        self.setAccessibleName("Recording")
        self._model = model
        self.prompt, self.picture = Prompt(Role.PROMPT_PREVIEW), Picture()
        self.language = ChoiceField("globe")
        self.language.setAccessibleName("Language of the prompt")
        self.language.addItems([QLocale.languageToString(QLocale(tag).language()) for tag in model.setup.languages])
        self.meter, self._meter_words = LevelMeter(), Text("", Role.LABEL, "text2")
        self.room = Banner()
        self.record = RoundButton("Start recording", "mic", diameter=_RECORD, record=True)
        self._title = Text("Start recording", Role.DOOR_TITLE)
        self._below = Text("", Role.BODY, "text2", wrap=True)
        self._lay_out()
        self._bind()

    def _lay_out(self) -> None:
        upper = QVBoxLayout()
        upper.setContentsMargins(32, 30, 32, 24)
        upper.setSpacing(12)
        above = QHBoxLayout()
        above.addWidget(Elided("Shown large while recording", Role.CAPTION_MEDIUM, "text2"), 1)
        above.addWidget(self.language)
        upper.addLayout(above)
        upper.addWidget(self.prompt)
        upper.addWidget(self.picture, 4)
        upper.addStretch(2)
        head = QHBoxLayout()
        head.addWidget(Text("Input level", Role.LABEL_MEDIUM))
        head.addStretch(1)
        head.addWidget(self._meter_words)
        upper.addLayout(head)
        upper.addWidget(self.meter)
        upper.addWidget(MeterLegend())
        upper.addStretch(1)
        upper.addWidget(self.room)
        content = QWidget()
        content.setLayout(upper)
        self._upper, self._edge = scrolled(content), line()
        self.body.setSpacing(0)
        self.body.addWidget(self._upper, 1)
        self.body.addWidget(self._edge)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addStretch(1)
        words.addWidget(self._title)
        words.addWidget(self._below)
        words.addStretch(1)
        bar = QHBoxLayout()
        bar.setContentsMargins(32, 24, 32, 24)
        bar.setSpacing(22)
        bar.addWidget(self.record)
        bar.addLayout(words, 1)
        self._key = KeyCap("Space")
        bar.addWidget(self._key)
        self._bar = bar
        self.body.addLayout(bar)

    def show_upper(self, shown: bool) -> None:
        """Show what stands above the record bar, or the bar alone."""
        self._upper.setVisible(shown)
        self._edge.setVisible(shown)

    def show_small(self, small: bool) -> None:
        """Make the record bar low, without its key hint."""
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
        self.room.acted.connect(model.check_room)
        model.levels_changed.connect(self._show_levels)
        model.room_changed.connect(self._show_room)
        model.setup.form_changed.connect(self._show_form)
        model.setup.ready_changed.connect(self._show_ready)
        model.setup.subject_changed.connect(self._show_ready)
        model.setup.devices_changed.connect(self._show_ready)
        self._show_form(model.setup.form)
        self._show_ready(None)
        self._show_levels(SILENCE)

    @Slot()
    def _show_language(self) -> None:
        setup = self._model.setup
        self.language.setCurrentIndex(setup.languages.index(setup.language))

    @Slot(object)
    def _show_form(self, form: Form) -> None:
        first, *rest = form.protocol.text.split("\n\n")
        self.prompt.show_text(f"{first} …" if rest else first)
        self.picture.show_picture(form.protocol.picture)
        self._show_ready(None)

    @Slot(object)
    def _show_ready(self, _: object) -> None:
        missing = self._model.setup.missing
        self.record.setEnabled(not missing)
        act = self._model.setup.form.protocol.act
        self._below.setText(missing or f"A 3-second countdown, then {act}")

    @Slot(object)
    def _show_levels(self, levels: Levels) -> None:
        silent = levels.held_peak_dbfs < -90.0
        if silent:
            self.meter.show_levels(None, None, None)
        else:
            self.meter.show_levels(levels.rms_dbfs, levels.held_peak_dbfs, levels.noise_floor_dbfs)
        words, ink = _level_words(levels)
        if words != self._meter_words.text():
            self._meter_words.setText(words)
            self._meter_words.set_ink(ink)

    @Slot(object)
    def _show_room(self, check: RoomCheck) -> None:
        if check.listening:
            self.room.say(Tone.INFO, "Keep quiet for 3 seconds.", title="Listening to the room")
            return
        if check.finding is None:
            self.room.clear()
            return
        tone, title = _ROOMS[check.finding.verdict]
        figures = ""
        if check.finding.floor_dbfs is not None:
            limit = round(self._model.noise_limit_dbfs)
            figures = f"Noise floor {round(check.finding.floor_dbfs)} dBFS, limit {limit}. ".replace("-", "−")
        words = figures.strip() if check.finding.verdict is RoomVerdict.QUIET else f"{figures}{check.finding.sentence}"
        self.room.say(tone, words, title=title, action="Check again")


def _level_words(levels: Levels) -> tuple[str, str]:
    """The level in words, and their colour token."""
    if levels.held_peak_dbfs < -90.0:
        return "No sound", "text3"
    peak = f"Peak {round(levels.held_peak_dbfs)} dBFS".replace("-", "−")
    if levels.clipping:
        return f"{peak} · too loud, move away", "fail"
    if levels.held_peak_dbfs >= _LOUD_DBFS:
        return f"{peak} · loud", "warn"
    return (f"{peak} · quiet", "text2") if levels.held_peak_dbfs < _QUIET_DBFS else (f"{peak} · good", "text2")


class ReadyView(QWidget):
    """Title, import and both cards; where there is room for one card only, a choice between them."""

    def __init__(self, model: RecordViewModel) -> None:
        super().__init__()
        self.setup, self.stage = SetupCard(model.setup), StageCard(model)
        self.parts = Segment("Part of the page", [(_SETUP, "Set-up", ""), (_STAGE, "Prompt and level", "")])
        self.import_files = secondary_button("Import files", icon="import")
        self.speaker = secondary_button("Speaker window", icon="talk")
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text("Record", Role.PAGE_TITLE))
        self._sentence = Text("", Role.BODY, "text2", wrap=True)
        words.addWidget(self._sentence)
        self._cards = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._cards.setSpacing(24)
        self._cards.addWidget(self.setup)
        self._cards.addWidget(self.stage, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        column.addWidget(PageHead(words, self.speaker, self.import_files, words_width=230))
        column.addWidget(self.parts)
        column.addLayout(self._cards, 1)
        self._setup_model = model.setup
        self.parts.chosen.connect(self._show_part)
        self.setup.subject.returnPressed.connect(self._on_enter)
        self.setup.subject.focused.connect(self._show_sentence)
        model.setup.ready_changed.connect(self._show_sentence)
        model.setup.subject_changed.connect(self._show_sentence)
        model.setup.devices_changed.connect(self._show_sentence)
        self._show_sentence(None)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        px = theme.active().px
        narrow = self.width() < px(_TWO_CARDS)
        self.parts.setVisible(narrow)
        self.setup.keep_consent_at_foot(not narrow)
        self.stage.show_small(narrow)
        self.setup.setMaximumWidth(_NO_LIMIT if narrow else px(_SETUP_WIDTH))
        self.setup.setMinimumWidth(0 if narrow else px(_SETUP_WIDTH))
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._cards.setDirection(down if narrow else across)
        self._cards.setStretch(0, 1 if narrow and self.parts.choice() == _SETUP else 0)
        self._cards.setStretch(1, 0 if narrow and self.parts.choice() == _SETUP else 1)
        self.setup.setVisible(not narrow or self.parts.choice() == _SETUP)
        self.stage.show_upper(not narrow or self.parts.choice() == _STAGE)

    @Slot(str)
    def _show_part(self, part: str) -> None:
        self._arrange()

    @Slot()
    def _on_enter(self) -> None:
        """Enter in the subject field: go on to the record button, where Space begins."""
        if self._setup_model.ready:
            self.parts.option(_STAGE).setChecked(True)
            self.stage.record.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot(object)
    def _show_sentence(self, _: object) -> None:
        keys = "Enter, then Space" if self.setup.subject.hasFocus() else "Space"
        self._sentence.setText(self._setup_model.missing or f"Ready. Press {keys} to begin.")
