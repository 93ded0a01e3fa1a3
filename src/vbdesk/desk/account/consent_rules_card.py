"""The card of Account for consent: policy, usual kind, validity, and who asks."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.account.recording_rules import ChangeConsentRules, SettingsRead
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.subject_data.consent_text import kind_text
from vbdesk.desk.ui.card import Card, card_with_header
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField
from vbdesk.desk.ui.flow_layout import StackingRow
from vbdesk.desk.ui.managed_note import ManagedNote
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, ngettext, pgettext
from vbdesk.outbox.library.consent import GIVEN_KINDS, LONGEST_ASKED_BY, ConsentKind, ConsentPolicy, plain_name
from vbdesk.outbox.library.settings import ConsentRules, LibrarySettings

_FIELD_WIDTH = 180  # at 100 % text
_VALID_DAYS = (None, 182, 365, 730, 1826)


class ConsentRulesCard(QWidget):
    """Every change of the consent rules is saved immediately."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.content = flow.screen(self)
        self.policy = SegmentedChoice(
            _("Whether recordings need consent"),
            [
                (ConsentPolicy.REQUIRED.value, _("Required"), ""),
                (ConsentPolicy.REMINDED.value, _("Reminded"), ""),
                (ConsentPolicy.OFF.value, pgettext("consent rule", "Off"), ""),
            ],
        )
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.kind, self.valid = ChoiceField("file"), ChoiceField("clock")
        for kind in GIVEN_KINDS:
            self.kind.addItem(kind_text(kind), kind.value)
        self.asked_by = LineField(icon="person")
        self.asked_by.setMaxLength(LONGEST_ASKED_BY)
        self._fill_validity()
        managed = flow.context.library.policy.consent_policy is not None
        self.policy.setDisabled(managed)
        card = card_with_header(_("Consent"), self.policy)
        card.body.addWidget(self.sentence)
        if managed:
            card.body.addWidget(ManagedNote())
        fields = (
            Field(_("Usually covers"), self.kind),
            Field(_("Valid for"), self.valid),
            Field(_("Asked by"), self.asked_by, optional=True),
        )
        self._fields = StackingRow(fields, least=_FIELD_WIDTH)
        card.body.addWidget(self._fields)
        self._show_in(card)
        self.policy.chosen.connect(self._on_policy)
        self.kind.activated.connect(self._on_kind)
        self.valid.activated.connect(self._on_valid)
        self.asked_by.editingFinished.connect(self._on_asked_by)
        self.content.changed.connect(self.show_settings)
        self.content.ended.connect(self.show_settings)
        self.show_settings()

    @property
    def _rules(self) -> ConsentRules:
        return (self.content.of(SettingsRead).value or LibrarySettings()).consent

    def open(self) -> None:
        """Show the present rules."""
        self.content.show(SettingsRead())

    @Slot()
    def show_settings(self) -> None:
        """Show the rules."""
        self.policy.choose(self._rules.policy.value)
        self.sentence.setText(self._policy_text())
        self.kind.setCurrentIndex(self.kind.findData(self._rules.kind.value))
        index = _VALID_DAYS.index(self._rules.valid_days) if self._rules.valid_days in _VALID_DAYS else -1
        self.valid.setCurrentIndex(index)
        if not self.asked_by.hasFocus():
            self.asked_by.setText(self._rules.asked_by)
        self._fields.setVisible(self._rules.policy is not ConsentPolicy.OFF)

    def _policy_text(self) -> str:
        match self._rules.policy:
            case ConsentPolicy.REQUIRED:
                return _("Nothing is recorded, imported or sent without the consent of the subject.")
            case ConsentPolicy.REMINDED:
                return _("Consent is asked for. A recording without it goes on, and every list says so.")
        return _("Consent is neither asked for nor shown.")

    def _fill_validity(self) -> None:
        names = (
            _("No end"),
            ngettext("{count} month", "{count} months", 6),
            ngettext("{count} year", "{count} years", 1),
            ngettext("{count} year", "{count} years", 2),
            ngettext("{count} year", "{count} years", 5),
        )
        for name in names:
            self.valid.addItem(name)

    def _show_in(self, card: Card) -> None:
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(card)

    @Slot(str)
    def _on_policy(self, key: str) -> None:
        self._change(policy=ConsentPolicy(key))

    @Slot(int)
    def _on_kind(self, index: int) -> None:
        self._change(kind=ConsentKind(self.kind.itemData(index)))

    @Slot(int)
    def _on_valid(self, index: int) -> None:
        self._change(valid_days=_VALID_DAYS[index])

    @Slot()
    def _on_asked_by(self) -> None:
        name, rules = plain_name(self.asked_by.text()), self._rules
        if name != rules.asked_by:
            self._change(asked_by=name)

    def _change(self, **changes: object) -> None:
        self.content.do(ChangeConsentRules(changes))
