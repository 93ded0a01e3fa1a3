"""Consent of a subject: a line for the page, and a card to note or withdraw it."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.subject.consent_model import SubjectConsentViewModel
from vbdesk.desk.subject_data.consent_text import (
    consent_text,
    event_text,
    kind_text,
    validity_text,
    wording_text,
)
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import horizontal_line, scroll_area
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, joined, pgettext
from vbdesk.outbox.library.consent import GIVEN_KINDS, ConsentKind, ConsentPolicy


def _sentence(text: str) -> str:
    # Translators: makes a sentence of a short text: only the full stop.
    return _("{text}.", text=text)


class ConsentLine(QWidget):
    """One line: what is in force, and a button to change it.

    Signals:
        change_wanted: the button was pressed.
    """

    change_wanted = Signal()

    def __init__(self, model: SubjectConsentViewModel) -> None:
        super().__init__()
        self._model = model
        self._icon = IconView("file", "text2", 16)
        self.sentence = Text("", Role.LABEL, "text2", wrap=True)
        self.button = Button(pgettext("verb", "Change"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.button.setAccessibleName(_("Note or withdraw consent"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._icon)
        row.addWidget(self.sentence, 1)
        row.addWidget(self.button)
        self.button.clicked.connect(self.change_wanted)
        model.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        model, status = self._model, self._model.reading.status
        if status.in_force:
            given = _("Consent: {consent}.", consent=consent_text(status))
            self.sentence.setText(joined(given, validity_text(status)))
        else:
            self.sentence.setText(_sentence(consent_text(status)))
        asked = model.policy is not ConsentPolicy.OFF
        warned = asked and not status.in_force
        self.sentence.set_ink("warn" if warned else "text2")
        self._icon.show_icon("warning" if warned else "file", "warn" if warned else "text2")
        self.setVisible(asked or bool(model.reading.consent.events))


class ConsentCard(QWidget):
    """History, a new consent, and the withdrawal with its question.

    Signals:
        left: the card was closed.
    """

    left = Signal()

    def __init__(self, model: SubjectConsentViewModel) -> None:
        super().__init__()
        self._model = model
        self.title = Text("", Role.CARD_TITLE)
        self.present = Text("", Role.BODY, wrap=True)
        self.history = Text("", Role.LABEL, "text2", wrap=True)
        self.kind = SegmentedChoice(
            _("What the consent covers"), [(kind.value, kind_text(kind), "") for kind in GIVEN_KINDS]
        )
        self.question = Text("", Role.BODY_MEDIUM, wrap=True)
        self.erasure = Text("", Role.BODY, "text2", wrap=True)
        self.close_button = quiet_button(_("Close"))
        self.withdraw_button = secondary_button(_("Withdraw"))
        self.give_button = primary_button(_("Note consent"), icon="check")
        self.back_button = quiet_button(_("Back"))
        self.keep_button = secondary_button(_("Withdraw, keep recordings"))
        self.erase_button = secondary_button(_("Withdraw and erase"), icon="trash")
        self._lay_out()
        self.close_button.clicked.connect(self.left)
        self.give_button.clicked.connect(self._give)
        self.withdraw_button.clicked.connect(self._ask)
        self.back_button.clicked.connect(self._stop_asking)
        self.keep_button.clicked.connect(self._withdraw)
        self.erase_button.clicked.connect(self._withdraw_and_erase)
        model.changed.connect(self._show)
        self._stop_asking()
        self._show()

    def begin(self) -> None:
        """Show the card for the subject."""
        present = self._model.reading.status.kind
        known = present is not None and present is not ConsentKind.NOT_STATED
        self.kind.choose((present if known and present else self._model.usual_kind).value)
        self._stop_asking()
        self.kind.option(self.kind.choice()).setFocus()

    def _lay_out(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(28, 24, 28, 24)
        column.setSpacing(14)
        for part in (self.title, self.present, self.history, horizontal_line(), self.kind, self.question, self.erasure):
            column.addWidget(part)
        for buttons in (
            (self.close_button, self.withdraw_button, self.give_button),
            (self.back_button, self.keep_button, self.erase_button),
        ):
            row = QHBoxLayout()
            row.setSpacing(12)
            row.addStretch(1)
            for button in buttons:
                row.addWidget(button)
            column.addLayout(row)
        column.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll_area(content))

    @Slot()
    def _show(self) -> None:
        reading = self._model.reading
        self.title.setText(_("Consent of {subject}", subject=self._model.subject(reading.group_id)))
        self.present.setText(joined(_sentence(consent_text(reading.status)), validity_text(reading.status)))
        lines = [joined(event_text(event), wording_text(event)) for event in reversed(reading.consent.events)]
        self.history.setText("\n".join(lines) or _("Nothing was noted yet."))
        self.withdraw_button.setEnabled(reading.withdrawable)
        self._offer_erasure(reading.ends_with(self._chosen()))

    def _chosen(self) -> ConsentKind:
        return ConsentKind(self.kind.choice())

    @Slot()
    def _give(self) -> None:
        self._model.give(self._chosen())
        self.left.emit()

    @Slot()
    def _ask(self) -> None:
        self.question.setText(
            _(
                "Withdraw this consent ({kind})? The withdrawal counts for all recordings, earlier ones too.",
                kind=kind_text(self._chosen()),
            )
        )
        self._offer_erasure(self._model.reading.ends_with(self._chosen()))
        self._set_asking(asking=True)
        self.back_button.setFocus()

    def _offer_erasure(self, offered: bool) -> None:
        """Offer to erase only if nothing stays in force: the recordings may be kept for the other purpose."""
        self.erase_button.setEnabled(offered and self._model.reading.recordings > 0)
        rest = _("The consent for the other purpose stays in force, so the recordings stay.")
        self.erasure.setText(self._model.erasure_text() if offered else rest)

    @Slot()
    def _stop_asking(self) -> None:
        self._set_asking(asking=False)

    def _set_asking(self, *, asking: bool) -> None:
        asked: tuple[QWidget, ...] = (
            self.question,
            self.erasure,
            self.back_button,
            self.keep_button,
            self.erase_button,
        )
        usual: tuple[QWidget, ...] = (self.kind, self.close_button, self.withdraw_button, self.give_button)
        for part in asked:
            part.setVisible(asking)
        for part in usual:
            part.setVisible(not asking)

    @Slot()
    def _withdraw(self) -> None:
        self._model.withdraw(self._chosen(), erase=False)
        self.left.emit()

    @Slot()
    def _withdraw_and_erase(self) -> None:
        self._model.withdraw(self._chosen(), erase=True)
        self.left.emit()
