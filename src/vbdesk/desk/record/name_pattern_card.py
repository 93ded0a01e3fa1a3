"""Fill subject and time of an import from the names of its files; the time zone; rows to leave out; undo."""

from PySide6.QtCore import QStringListModel, Qt, Slot
from PySide6.QtWidgets import QCompleter, QGridLayout, QListView, QWidget

from vbdesk.desk.record.import_model import IntakeViewModel
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.fields import ChoiceField, LineField
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.outbox.imports.import_draft import PatternPreview

_EXAMPLES = ("{subject}_{date}_{time}", "{subject}_{date}", "{subject}_*", "*_{subject}", "{subject}/*")


class NamePatternCard(QWidget):
    """Binds the part of `IntakeViewModel` that concerns all rows."""

    def __init__(self, model: IntakeViewModel) -> None:
        super().__init__()
        self._model = model
        self.pattern = LineField(icon="search", placeholder=self.tr("Date and time, found automatically"))
        self.pattern.setAccessibleName(self.tr("Pattern of the file names"))
        self.pattern.setAccessibleDescription(
            self.tr("{subject}, {date}, {time}, {year}, {month} and {day} stand for these, * for anything.")
        )
        self.pattern.setToolTip(self.pattern.accessibleDescription())
        self.fill = secondary_button(self.tr("Fill from names"))
        self.zone = ChoiceField("globe")
        self.zone.setAccessibleName(self.tr("Time zone of the times without one"))
        self.zone.setMaxVisibleItems(16)
        self.leave_out = quiet_button(self.tr("Leave out"))
        self.undo = quiet_button(self.tr("Undo edit"))
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
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        labels = (self.tr("File names"), self.tr("Time zone"))
        for column, (text, control) in enumerate(zip(labels, (self.pattern, self.zone), strict=True)):
            label = Text(text, Role.LABEL_MEDIUM)
            label.setBuddy(control)
            grid.addWidget(label, 0, 2 * column)
        for column, widget in enumerate((self.pattern, self.fill, self.zone, self.leave_out, self.undo)):
            grid.addWidget(widget, 1, column)
        grid.addWidget(self.found, 2, 0, 1, 5)
        grid.setColumnStretch(0, 3)
        grid.setColumnStretch(2, 2)

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
        for name in self._model.zones:
            self.zone.addItem(name or self.tr("Time zone of this computer"), name)
        self._model.preview_pattern(self.pattern.text())

    @Slot()
    def _on_changed(self) -> None:
        self.undo.setEnabled(self._model.can_undo)

    @Slot(int)
    def _on_zone(self, place: int) -> None:
        self._model.set_zone(self.zone.itemData(place))

    @Slot()
    def _on_fill(self) -> None:
        self._model.apply_pattern(self.pattern.text())

    @Slot(object, str)
    def _show_found(self, preview: PatternPreview | None, fault: str) -> None:
        self.found.setText(fault if preview is None else self._words(preview))
        self.found.set_ink("fail" if preview is None else "text2")

    def _words(self, preview: PatternPreview) -> str:
        told = [
            self.tr("Of {rows} names, {subjects} have a subject and {times} a date with a time of day.").format(
                rows=preview.rows, subjects=preview.subjects, times=preview.times
            )
        ]
        if preview.found_subject and preview.found_time:
            told.append(
                self.tr("For example {name}: subject {subject}, time {time}.").format(
                    name=preview.example, subject=preview.found_subject, time=preview.found_time
                )
            )
        elif preview.found_subject:
            told.append(
                self.tr("For example {name}: subject {subject}.").format(
                    name=preview.example, subject=preview.found_subject
                )
            )
        elif preview.found_time:
            told.append(
                self.tr("For example {name}: time {time}.").format(name=preview.example, time=preview.found_time)
            )
        if preview.missed and preview.reason:
            told.append(
                self.tr("Nothing is found in {name}: {reason}").format(name=preview.missed, reason=preview.reason)
            )
        elif preview.missed:
            told.append(self.tr("Nothing is found in {name}.").format(name=preview.missed))
        return " ".join(told)
