"""The set-up of a recording: subject, protocol, microphone, analysis, tags, note, consent."""

from PySide6.QtCore import QStringListModel, Qt, Slot
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QListView, QPlainTextEdit, QVBoxLayout, QWidget

from vbdesk.capture.devices import Device
from vbdesk.contract.catalog import MODEL_SIGNS, Sign, label_of
from vbdesk.desk.record.consent_box import ConsentBox
from vbdesk.desk.record.setup_model import RecordForm, RecordSetupViewModel, Subject, microphone_name
from vbdesk.desk.subject_data.subject_detail import detail_label
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField, TagsField
from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import _, ngettext, pgettext, translated
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.subject_names import tidy


class SetupCard(Card):
    """The set-up card; binds `RecordSetupViewModel`."""

    def __init__(self, model: RecordSetupViewModel) -> None:
        self._theme = app_theme()
        super().__init__(padding=0)
        self.setAccessibleName(_("Set-up of the recording"))
        self._model = model
        self.subject = LineField(icon="person", placeholder=_("For example ward4-0172"))
        self.protocol, self.device, self.target = ChoiceField("layout"), ChoiceField("mic"), ChoiceField("chart")
        self.tags, self.note = TagsField(_("Enter makes a tag")), QPlainTextEdit()
        self.consent = ConsentBox(model.consent)
        self.subject_field = Field(_("Subject"), self.subject, help_text=_("An id, or a name in any script"))
        self.detail = LineField()
        self.detail_field = Field("", self.detail, optional=True, help_text=_("Stays on this computer, encrypted"))
        self.protocol_field = Field(_("Protocol"), self.protocol)
        self.device_field = Field(_("Microphone"), self.device, help_text=_("Looking for microphones."))
        self._known = QStringListModel(self)
        self._fill()
        self._lay_out()
        self._bind()

    def _fill(self) -> None:
        self._show_language()
        self._show_offered(self._model.reading.signs)
        self.note.setPlaceholderText(_("Anything worth knowing later"))
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(self._theme.px(64))  # two lines
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
            self.detail_field,
            self.protocol_field,
            self.device_field,
            Field(_("Analysis"), self.target),
            Field(_("Tags"), self.tags, optional=True),
            Field(pgettext("noun", "Note"), self.note, optional=True),
        ):
            column.addWidget(field)
        column.addStretch(1)
        self._fields = column
        self._edge, self._foot, self._consent_row = horizontal_line(), QWidget(), QHBoxLayout()
        self._foot.setLayout(self._consent_row)
        self._consent_row.addWidget(self.consent)
        self.body.setSpacing(0)
        self.body.addWidget(scroll_area(fields), 1)
        self.body.addWidget(self._edge)
        self.body.addWidget(self._foot)

    def show_consent_at_foot(self, at_foot: bool) -> None:
        """Keep the consent visible below the fields, or let it scroll in low windows."""
        self._edge.setVisible(at_foot)
        self._consent_row.setContentsMargins(*((22, 14, 22, 16) if at_foot else (0, 4, 0, 4)))
        if at_foot:
            self.body.addWidget(self._foot)
        else:
            self._fields.insertWidget(2, self._foot)  # below the subject and its second line

    def _bind(self) -> None:
        model = self._model
        self.subject.textChanged.connect(self._on_subject_typed)
        self.detail.textChanged.connect(self._on_detail_typed)
        self.protocol.activated.connect(model.choose_protocol)
        self.device.activated.connect(model.choose_device)
        self.target.activated.connect(self._on_target)
        self.tags.changed.connect(self._on_tags)
        self.note.textChanged.connect(self._on_note)
        model.subject_changed.connect(self._show_subject)
        model.subjects_changed.connect(self._show_known)
        model.devices_changed.connect(self._show_devices)
        model.form_changed.connect(self._show_form)
        model.language_changed.connect(self._show_language)
        model.signs_changed.connect(self._show_offered)
        self._show_subject(model.subject)

    @Slot()
    def _show_language(self) -> None:
        self.protocol.clear()
        self.protocol.addItems([protocol.title for protocol in self._model.protocols])

    @Slot(object)
    def _show_offered(self, signs: tuple[Sign, ...]) -> None:
        """Offer models first; a chosen target stays, even if it is no longer offered."""
        self.target.clear()
        for name, of_model in MODEL_SIGNS.items():
            # Translators: {model} is the name of a set of signs, such as Pulse.
            text = ngettext("{model}, {count} sign", "{model}, {count} signs", len(of_model), model=label_of(name))
            self.target.addItem(text, str(RecordingTarget("model", name.value)))
        for sign in signs:
            self.target.addItem(_(sign.label), str(RecordingTarget("sign", sign.name)))
        self._show_target(self._model.form.target)

    def _show_target(self, target: RecordingTarget) -> None:
        if self.target.findData(str(target)) < 0:
            self.target.addItem(_(label_of(target.name)), str(target))
        self.target.setCurrentIndex(self.target.findData(str(target)))

    @Slot(str)
    def _on_subject_typed(self, text: str) -> None:
        self._model.set_subject(text)

    @Slot(str)
    def _on_detail_typed(self, text: str) -> None:
        self._model.set_detail(text)
        self.detail_field.set_fault(self._model.detail_fault)

    @Slot(int)
    def _on_target(self, index: int) -> None:
        self._model.choose_target(RecordingTarget.parse(self.target.itemData(index)))

    @Slot()
    def _on_tags(self) -> None:
        self._model.set_tags(self.tags.tags())

    @Slot()
    def _on_note(self) -> None:
        self._model.set_note(self.note.toPlainText())

    @Slot(object)
    def _show_subject(self, subject: Subject) -> None:
        if not subject.is_typed_as(self.subject.text()):
            self.subject.setText(subject.typed)
        self.subject_field.set_help(self._model.subject_text() or _("An id, or a name in any script"))
        self.subject_field.set_fault(translated(subject.fault) if subject.fault else None)
        if tidy(self.detail.text()) != self._model.detail:
            self.detail.setText(self._model.detail)
        self.detail_field.set_label(detail_label(self._model.detail_kind))
        self.detail_field.set_fault(self._model.detail_fault)
        self.detail_field.setVisible(self._model.asks_detail)
        self.subject.show_mark("error" if subject.fault else "check" if subject.usable else "", "ok")
        if subject.fault:
            self.subject.show_mark("error", "fail")

    @Slot(object)
    def _show_known(self, subjects: tuple[str, ...]) -> None:
        if self._known.stringList() != list(subjects):
            self._known.setStringList(list(subjects))

    @Slot(object)
    def _show_devices(self, devices: list[Device]) -> None:
        names = [microphone_name(device) for device in devices]
        if [self.device.itemText(index) for index in range(self.device.count())] != names:
            self.device.clear()
            self.device.addItems(names)
        if self._model.device is None:
            self.device_field.set_fault(_("No microphone is connected. Plug one in; it appears here automatically."))
        else:
            self.device.setCurrentIndex(devices.index(self._model.device))
            self.device_field.set_help(_("48 kHz, mono · connected"))
            self.device_field.set_fault(None)

    @Slot(object)
    def _show_form(self, form: RecordForm) -> None:
        self.protocol.setCurrentIndex(self._model.protocols.index(form.protocol))
        self.protocol_field.set_help(form.protocol.help)
        self._show_target(form.target)
        if self.tags.tags() != form.tags:
            self.tags.set_tags(form.tags)
        if self.note.toPlainText().strip() != form.note:
            self.note.setPlainText(form.note)
