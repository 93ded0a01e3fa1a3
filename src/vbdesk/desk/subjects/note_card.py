"""The card for a subject's note and tags. They stay on this computer."""

from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from vbdesk.contract.spoken_language import SECOND_LANGUAGE_FIELD, SpokenLanguage
from vbdesk.desk.language_choice import language_name, language_names
from vbdesk.desk.subject_data.subject_detail import detail_fault, detail_label
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField, TagsField
from vbdesk.desk.ui.text import ElidedText, Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, pgettext
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.subject_names import tidy
from vbdesk.outbox.library.subject_notes import SubjectNote


class _NoteEdit(QPlainTextEdit):
    """Text that takes the height that is left, so that the card scrolls only where it is too low."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.minimumHeight())


class SubjectNoteCard(Card):
    """The note of one subject.

    Signals:
        stored: (str, SubjectNote) subject and note to store.
        closed: the card was closed.
    """

    stored = Signal(str, object)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__(padding=16)
        self.group_id = ""
        self._title = ElidedText("", Role.CARD_TITLE)
        self._note, self._kind = SubjectNote(), SubjectDetail.NONE
        self.detail = LineField()
        self.detail_field = Field("", self.detail, optional=True)
        self.tags = TagsField(_("Add a tag"))
        self.tags.setAccessibleName(_("Tags of the subject"))
        self.text = _NoteEdit()
        self.text.setAccessibleName(_("Note on the subject"))
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(72)
        self.language = ChoiceField("globe")
        self.language.setAccessibleName(_("Language of the recordings"))
        self.second_language = ChoiceField("talk")
        self.second_language.setAccessibleName(_("Reads a second language"))
        for text, value in ((_("Not known"), ""), (_("Yes"), "true"), (_("No"), "false")):
            self.second_language.addItem(text, value)
        self.save_button = secondary_button(_("Save"))
        self.close_button = quiet_button(_("Close"))
        self.save_button.clicked.connect(self._save)
        self.close_button.clicked.connect(self._close)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.close_button)
        row.addWidget(self.save_button)
        fields = QVBoxLayout()
        fields.setContentsMargins(0, 0, 0, 0)
        fields.setSpacing(12)
        fields.addWidget(self.detail_field)
        fields.addWidget(Field(_("Language"), self.language))
        fields.addWidget(Field(_("Reads a second language"), self.second_language))
        fields.addWidget(Field(_("Tags"), self.tags))
        fields.addWidget(Field(pgettext("noun", "Note"), self.text), 1)
        stays = _(
            "All of it stays on this computer, encrypted. Only language and second language are sent with recordings, "
            "so that rate and pauses are compared more cautiously."
        )
        fields.addWidget(Text(stays, Role.CAPTION, "text2", wrap=True))
        content = QWidget()
        content.setLayout(fields)
        self.body.addWidget(self._title)
        self.body.addWidget(scroll_area(content), 1)
        self.body.addLayout(row)

    def edit(self, group_id: str, note: SubjectNote, kind: SubjectDetail = SubjectDetail.NONE) -> None:
        """Edit a subject's note, after storing the previous subject's note; `kind` is that of the second line."""
        if not self.isHidden() and self.group_id and self.group_id != group_id:
            self._store_note()
        self.group_id = group_id
        self._note, self._kind = note, kind
        self._title.setText(note.shown(group_id).text)
        self.detail_field.setVisible(kind is not SubjectDetail.NONE or bool(note.detail))
        self.detail_field.set_label(detail_label(kind))
        self.detail_field.set_fault(None)
        self.detail.setText(note.detail)
        self._show_language(note.spoken)
        self.tags.set_tags(note.tags)
        self.text.setPlainText(note.text)
        self.show()
        self.tags.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave(self) -> None:
        """Store the note and hide."""
        if not self.isHidden() and self.group_id:
            self._store_note()
            self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def _store_note(self) -> None:
        typed = self.tags.edit.text().strip(" ,")
        tags = (*self.tags.tags(), typed) if typed else self.tags.tags()
        fault = self._detail_fault()
        detail = self._note.detail if fault else tidy(self.detail.text())
        text = self.text.toPlainText().strip()
        second = self.second_language.currentData()
        language = SpokenLanguage(self.language.currentData() or None, second == "true" if second else None)
        note = replace(self._note, text=text, tags=tuple(dict.fromkeys(tags)), detail=detail, spoken=language)
        self.stored.emit(self.group_id, note)

    def _show_language(self, known: SpokenLanguage) -> None:
        """Offer every language, and the noted one also if it is a variant of one."""
        self.language.clear()
        self.language.addItem(_("Not known"), "")
        for tag, name in language_names():
            self.language.addItem(name, tag)
        if known.language is not None and self.language.findData(known.language) < 0:
            self.language.addItem(language_name(known.language), known.language)
        self.language.setCurrentIndex(self.language.findData(known.language or ""))
        self.second_language.setCurrentIndex(self.second_language.findData(known.form.get(SECOND_LANGUAGE_FIELD, "")))

    def _detail_fault(self) -> str | None:
        return detail_fault(self._kind, tidy(self.detail.text()))

    @Slot()
    def _save(self) -> None:
        fault = self._detail_fault()
        self.detail_field.set_fault(fault)
        if fault is not None:
            self.detail.setFocus()
            return
        self._store_note()
        self._close()

    @Slot()
    def _close(self) -> None:
        self.hide()
        self.closed.emit()
