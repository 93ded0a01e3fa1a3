"""Note the consent of several subjects of an import at once."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.record.consent_box import show_wording
from vbdesk.desk.record.import_consent import lacking_consent, lacking_text, note_text
from vbdesk.desk.record.import_model import ImportViewModel
from vbdesk.desk.subject_data.consent_text import kind_text
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.fields import ChoiceField, LineField
from vbdesk.desk.ui.flow_layout import StackingRow, field_with_buttons
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _
from vbdesk.outbox.library.consent import GIVEN_KINDS, LONGEST_ASKED_BY, ConsentKind, ConsentPolicy, plain_name
from vbdesk.outbox.library.consent_wordings import consent_wording

_FIELD_WIDTH, _TEXT_WIDTH = 170, 330


class ImportConsentCard(QWidget):
    """Binds the consent of `ImportViewModel`; hidden while no consent is missing.

    Signals:
        check_wanted: the rows of all subjects without consent are to be ticked.
    """

    check_wanted = Signal()

    def __init__(self, model: ImportViewModel) -> None:
        super().__init__()
        self._model = model
        self.sentence = Text("", Role.BODY_MEDIUM, "warn", wrap=True)
        self.check = quiet_button(_("Tick these rows"))
        self.kind, self.asked_by = ChoiceField("file"), LineField(icon="person", placeholder=_("Asked by"))
        self.kind.setAccessibleName(_("What the consent covers"))
        for kind in GIVEN_KINDS:
            self.kind.addItem(kind_text(kind), kind.value)
        self.asked_by.setAccessibleName(_("Who asked for the consent"))
        self.asked_by.setMaxLength(LONGEST_ASKED_BY)
        self.wording = Button(_("Wording"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.wording.setAccessibleName(_("Show the wording of the consent"))
        self.note = secondary_button("", icon="check")
        self._lay_out()
        self.check.clicked.connect(self.check_wanted)
        self.wording.clicked.connect(self._show_wording)
        self.note.clicked.connect(self._note)
        model.begun.connect(self._begin)
        model.changed.connect(self.show_state)
        self.hide()

    def _lay_out(self) -> None:
        text_area = QWidget()
        texts = QHBoxLayout(text_area)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(8)
        texts.addWidget(IconView("warning", "warn", 16))
        texts.addWidget(self.sentence, 1)
        for field in (self.kind, self.asked_by):
            field.setMinimumWidth(1)
        fields = StackingRow((self.kind, self.asked_by), least=_FIELD_WIDTH, spacing=8)
        lower = field_with_buttons(fields, self.wording, self.note, least=2 * _FIELD_WIDTH, spacing=8)
        upper = field_with_buttons(text_area, self.check, least=_TEXT_WIDTH, spacing=8)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(StackingRow((upper, lower), least=0, spacing=8, shares=(2, 3), whole=True))

    @Slot()
    def show_state(self) -> None:
        """Show whose consent is missing, and which of them can be noted now: those of the checked rows."""
        model, chosen = self._model, {int(key) for key in self._model.chosen()}
        lacking = lacking_consent(model.rows)
        marked = lacking_consent(row for row in model.rows if row.number in chosen)
        self.setVisible(bool(lacking) and model.rules.policy is not ConsentPolicy.OFF)
        hint = "" if marked else _("Tick the rows of those who agreed.")
        self.sentence.setText(f"{lacking_text(len(lacking), model.rules.policy)} {hint}".strip())
        self.note.setText(note_text(len(marked)))
        self.note.setEnabled(bool(marked) and not model.importing)

    @Slot()
    def _begin(self) -> None:
        """Start with what the profile usually asks for."""
        rules = self._model.rules
        self.kind.setCurrentIndex(self.kind.findData(rules.kind.value))
        self.asked_by.setText(rules.asked_by)
        self.hide()

    @Slot()
    def _show_wording(self) -> None:
        wanted = self._model.consent_language()
        show_wording(self, consent_wording(wanted), ConsentKind(self.kind.currentData()), wanted)

    @Slot()
    def _note(self) -> None:
        self.note.setEnabled(False)
        self._model.note_consent(ConsentKind(self.kind.currentData()), plain_name(self.asked_by.text()))
