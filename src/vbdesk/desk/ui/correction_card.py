"""A card that asks what to do about one thing, and why: a choice, its consequence, a reason, and one button."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import primary_button, quiet_button
from vbdesk.desk.ui.card import Card, foot_row, scroll_area
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _


class CorrectionCard(QWidget):
    """One question with several answers; one of them needs the name of another subject.

    Signals:
        wanted: (str, str, str) key of the choice, key of the reason or nothing, and the other subject or nothing.
        left: the card was closed.
    """

    wanted = Signal(str, str, str)
    left = Signal()

    def __init__(self, choices: Sequence[str], naming: str, undoing: str) -> None:
        """Make the card for these keys of choices: `naming` asks for another subject, `undoing` for no reason."""
        super().__init__()
        self._naming, self._undoing = naming, undoing
        self._sentences: dict[str, str] = {}
        self.title = Text("", Role.CARD_TITLE, wrap=True)
        self.choice = SegmentedChoice(_("What to do"), [(key, "", "") for key in choices])
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.subject = LineField(icon="person", placeholder=_("Subject"))
        self.subject_field = Field(_("The other subject"), self.subject)
        self.reason = ChoiceField("tag")
        self.reason.setPlaceholderText(_("Choose a reason"))
        self.reason_field = Field(
            _("Why"), self.reason, help_text=_("The reason is kept in the audit log, with the time.")
        )
        self.fault = Text("", Role.BODY, "warn", wrap=True)
        self.close_button = quiet_button(_("Cancel"))
        self.go = primary_button("")
        card = Card(padding=20)
        row = QHBoxLayout()
        row.addWidget(self.choice)
        row.addStretch(1)
        card.body.addWidget(self.title)
        card.body.addLayout(row)
        for part in (self.sentence, self.subject_field, self.reason_field, self.fault):
            card.body.addWidget(part)
        card.body.addStretch(1)
        card.body.addLayout(foot_row(self.close_button, self.go))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scroll_area(card))
        self.choice.chosen.connect(self._show_choice)
        self.subject.returnPressed.connect(self._go)
        self.close_button.clicked.connect(self.left)
        self.go.clicked.connect(self._go)

    def begin(
        self,
        title: str,
        offered: Mapping[str, str],
        sentences: Mapping[str, str],
        reasons: Sequence[tuple[str, str]],
        subjects: Sequence[str],
    ) -> None:
        """Ask: `offered` has the label of each choice that is possible, `sentences` what each does."""
        self._sentences = dict(sentences)
        self.title.setText(title)
        self.fault.hide()
        for key in sentences:
            self.choice.set_offered(key, key in offered)
            if key in offered:
                self.choice.option(key).setText(offered[key])
        self.subject.clear()
        completer = QCompleter(list(subjects), self.subject)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.subject.setCompleter(completer)
        self.reason.clear()
        for key, text in reasons:
            self.reason.addItem(text, key)
        self.reason.setCurrentIndex(-1)  # else the audit log would name a reason that nobody chose
        self.choice.choose(next(iter(offered)))
        self._show_choice(self.choice.choice())
        self.choice.setFocus()

    def refuse(self, sentence: str) -> None:
        """Say why it was not done; the answers stay."""
        self.fault.setText(sentence)
        self.fault.show()
        self.go.setEnabled(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    @Slot(str)
    def _show_choice(self, key: str) -> None:
        self.sentence.setText(self._sentences.get(key, ""))
        self.subject_field.setVisible(key == self._naming)
        self.reason_field.setVisible(key != self._undoing)
        self.fault.hide()
        self.go.setText(self.choice.option(key).text())
        self.go.setEnabled(True)

    @Slot()
    def _go(self) -> None:
        key = self.choice.choice()
        naming = key == self._naming
        if naming and not self.subject.text().strip():
            self.refuse(_("Enter the subject that the recording belongs to."))
            self.subject.setFocus()
            return
        reason = "" if key == self._undoing else self.reason.currentData()
        if reason is None:
            self.refuse(_("Choose why: the reason is kept in the audit log."))
            self.reason.setFocus()
            return
        self.go.setEnabled(False)
        self.wanted.emit(key, reason, self.subject.text().strip() if naming else "")
