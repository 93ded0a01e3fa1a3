"""The card for a subject's note and tags. They stay on this computer."""

from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit

from vbdesk.desk.models.subject_detail import detail_fault, detail_label
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.fields import Field, LineField, TagsField
from vbdesk.desk.ui.text import ElidedText, Text
from vbdesk.desk.ui.theme import Role
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.subject_names import tidy
from vbdesk.outbox.library.subject_notes import SubjectNote


class SubjectNoteCard(Card):
    """The note of one subject.

    Signals:
        kept: (str, SubjectNote) subject and note to store.
        closed: the card was closed.
    """

    kept = Signal(str, object)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__(padding=16)
        self.group_id = ""
        self._title = ElidedText("", Role.CARD_TITLE)
        self._note, self._kind = SubjectNote(), SubjectDetail.NONE
        self.detail = LineField()
        self.detail_field = Field("", self.detail, optional=True)
        self.tags = TagsField("Add a tag")
        self.tags.setAccessibleName("Tags of the subject")
        self.text = QPlainTextEdit()
        self.text.setAccessibleName("Note on the subject")
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(72)
        self.save_button = secondary_button("Save")
        self.close_button = quiet_button("Close")
        self.save_button.clicked.connect(self._save)
        self.close_button.clicked.connect(self._close)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.close_button)
        row.addWidget(self.save_button)
        self.body.addWidget(self._title)
        self.body.addWidget(self.detail_field)
        self.body.addWidget(Field("Tags", self.tags))
        self.body.addWidget(Field("Note", self.text), 1)
        stays = self.tr("All of it stays on this computer, encrypted.")
        self.body.addWidget(Text(stays, Role.CAPTION, "text2", wrap=True))
        self.body.addLayout(row)

    def edit(self, group_id: str, note: SubjectNote, kind: SubjectDetail = SubjectDetail.NONE) -> None:
        """Edit a subject's note, after storing the previous subject's note; `kind` is that of the second line."""
        if not self.isHidden() and self.group_id and self.group_id != group_id:
            self._keep()
        self.group_id = group_id
        self._note, self._kind = note, kind
        self._title.setText(note.shown(group_id).words)
        self.detail_field.setVisible(kind is not SubjectDetail.NONE or bool(note.detail))
        self.detail_field.set_label(detail_label(kind))
        self.detail_field.set_fault(None)
        self.detail.setText(note.detail)
        self.tags.set_tags(note.tags)
        self.text.setPlainText(note.text)
        self.show()
        self.tags.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave(self) -> None:
        """Store the note and hide."""
        if not self.isHidden() and self.group_id:
            self._keep()
            self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def _keep(self) -> None:
        typed = self.tags.edit.text().strip(" ,")
        tags = (*self.tags.tags(), typed) if typed else self.tags.tags()
        fault = self._detail_fault()
        detail = self._note.detail if fault else tidy(self.detail.text())
        text = self.text.toPlainText().strip()
        self.kept.emit(self.group_id, replace(self._note, text=text, tags=tuple(dict.fromkeys(tags)), detail=detail))

    def _detail_fault(self) -> str | None:
        return detail_fault(self._kind, tidy(self.detail.text()))

    @Slot()
    def _save(self) -> None:
        fault = self._detail_fault()
        self.detail_field.set_fault(fault)
        if fault is not None:
            self.detail.setFocus()
            return
        self._keep()
        self._close()

    @Slot()
    def _close(self) -> None:
        self.hide()
        self.closed.emit()
