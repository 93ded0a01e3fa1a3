"""Fill subject and time of an import from the names of its files; the time zone; rows to leave out; undo."""

from PySide6.QtCore import QStringListModel, Qt, Slot
from PySide6.QtWidgets import QCompleter, QListView, QVBoxLayout, QWidget

from vbdesk.desk.record.import_model import ImportViewModel
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.fields import ChoiceField, LineField
from vbdesk.desk.ui.flow_layout import StackingRow, field_with_buttons
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, translated
from vbdesk.outbox.imports.import_draft import PatternPreview

_EXAMPLES = ("{subject}_{date}_{time}", "{subject}_{date}", "{subject}_*", "*_{subject}", "{subject}/*")
_FIELD_WIDTH = 160  # at 100 % text
_GAP = 12


class NamePatternCard(QWidget):
    """Binds the part of `ImportViewModel` that concerns all rows."""

    def __init__(self, model: ImportViewModel) -> None:
        super().__init__()
        self._model = model
        self.pattern = LineField(icon="search", placeholder=_("Date and time, found automatically"))
        self.pattern.setAccessibleName(_("Pattern of the file names"))
        self.pattern.setAccessibleDescription(
            _("{subject}, {date}, {time}, {year}, {month} and {day} match these parts, * matches any text.")
        )
        hints = self.pattern.placeholderText(), self.pattern.accessibleDescription()
        self.pattern.setToolTip("\n".join(hints))  # the hint too: a narrow field cuts it
        self.fill = secondary_button(_("Fill from names"))
        self.zone = ChoiceField("globe")
        self.zone.setAccessibleName(_("Time zone of the times without one"))
        self.zone.setMaxVisibleItems(16)
        self.leave_out = quiet_button(_("Leave out"))
        self.undo = quiet_button(_("Undo edit"))
        self.found = Text("", Role.CAPTION, "text2", wrap=True)
        self._lay_out()
        self._offer_examples()
        self.pattern.textChanged.connect(model.preview_pattern)
        self.pattern.returnPressed.connect(self._on_fill)
        self.fill.clicked.connect(self._on_fill)
        self.zone.activated.connect(self._on_zone)
        self.undo.clicked.connect(model.undo)
        model.listed.connect(self._on_listed)
        model.changed.connect(self._on_changed)
        model.pattern_found.connect(self._show_found)

    def _lay_out(self) -> None:
        self._labels = [Text(_("File names"), Role.LABEL_MEDIUM), Text(_("Time zone"), Role.LABEL_MEDIUM)]
        parts = []
        for label, controls in zip(
            self._labels, ((self.pattern, self.fill), (self.zone, self.leave_out, self.undo)), strict=True
        ):
            label.setBuddy(controls[0])
            part = QWidget()
            lines = QVBoxLayout(part)
            lines.setContentsMargins(0, 0, 0, 0)
            lines.setSpacing(4)
            lines.addWidget(label)
            lines.addWidget(field_with_buttons(*controls, least=_FIELD_WIDTH))
            parts.append(part)
        self._parts = StackingRow(parts, least=0, spacing=_GAP, whole=True)
        # queued: a label that appears lays all parents out at once, also while one of them is at it
        self._parts.stacked_changed.connect(self._on_stacked, Qt.ConnectionType.QueuedConnection)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._parts)
        column.addWidget(self.found)

    @Slot(bool)
    def _on_stacked(self, stacked: bool) -> None:
        for label in self._labels:  # low windows are narrow, too: the icons and placeholders say enough
            label.setVisible(not stacked)

    def _offer_examples(self) -> None:
        popup = QListView()
        popup.setObjectName("completions")
        completer = QCompleter(QStringListModel(list(_EXAMPLES), self), self)
        completer.setPopup(popup)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.pattern.setCompleter(completer)

    @Slot()
    def _on_listed(self) -> None:
        self.zone.clear()
        opened = self._model.opened
        for name in opened.zones if opened is not None else ():
            self.zone.addItem(name or _("Time zone of this computer"), name)
        self._model.preview_pattern(self.pattern.text())

    @Slot()
    def _on_changed(self) -> None:
        self.undo.setEnabled(self._model.can_undo)

    @Slot(int)
    def _on_zone(self, index: int) -> None:
        self._model.set_zone(self.zone.itemData(index))

    @Slot()
    def _on_fill(self) -> None:
        self._model.apply_pattern(self.pattern.text())

    @Slot(object, str)
    def _show_found(self, preview: PatternPreview | None, fault: str) -> None:
        sentences = [fault] if preview is None else self._sentences(preview)
        self.found.setText(sentences[0] if self._parts.is_stacked() else " ".join(sentences))
        self.found.setToolTip(" ".join(sentences))
        self.found.set_ink("fail" if preview is None else "text2")

    def _sentences(self, preview: PatternPreview) -> list[str]:
        """What is found, an example, and a name in which nothing is found."""
        sentences = [
            _(
                "Names: {rows:,}. With a subject: {subjects:,}. With a date and a time of day: {times:,}.",
                rows=preview.rows,
                subjects=preview.subjects,
                times=preview.times,
            )
        ]
        if preview.found_subject and preview.found_time:
            sentences.append(
                _(
                    "For example {name}: subject {subject}, time {time}.",
                    name=preview.example,
                    subject=preview.found_subject,
                    time=preview.found_time,
                )
            )
        elif preview.found_subject:
            sentences.append(
                _("For example {name}: subject {subject}.", name=preview.example, subject=preview.found_subject)
            )
        elif preview.found_time:
            sentences.append(_("For example {name}: time {time}.", name=preview.example, time=preview.found_time))
        if preview.missed and preview.reason:
            sentences.append(f"{_('Nothing is found in {name}.', name=preview.missed)} {translated(preview.reason)}")
        elif preview.missed:
            sentences.append(_("Nothing is found in {name}.", name=preview.missed))
        return sentences
