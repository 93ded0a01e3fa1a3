"""The card of Account to change the passphrase of this computer."""

from dataclasses import dataclass, field

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done, Work
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.locking.app_lock import AppLock, LockChoice
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.locking.unlocking import passphrase_fault
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, card_with_header
from vbdesk.desk.ui.fields import Field, SecretField
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _


@dataclass(frozen=True)
class ChangePassphrase(Command):
    """Choose another passphrase."""

    old: str = field(repr=False)
    new: str = field(repr=False)
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        ServiceKeys(context.ports).change_passphrase(self.old, self.new)
        return Done()


class PassphraseCard(QWidget):
    """Shown while a passphrase opens the keys."""

    def __init__(self, flow: ProgramFlow, lock: AppLock) -> None:
        super().__init__()
        self._work = Work(flow.commands, self)
        self.change = secondary_button(_("Change the passphrase"), icon="key")
        self.save, self.cancel = secondary_button(_("Save the passphrase")), quiet_button(_("Cancel"))
        self.old, self.new, self.repeated = SecretField(), SecretField(), SecretField()
        self.old_field = Field(_("Passphrase now"), self.old)
        self.new_field = Field(_("New passphrase"), self.new, help_text=_("At least 12 characters."))
        self.banner = Banner()
        self.banner.float_over(self)
        self._form = QWidget()
        self._lay_out()
        self.change.clicked.connect(self._begin)
        self.cancel.clicked.connect(self._end)
        self.save.clicked.connect(self._save)
        self.repeated.returnPressed.connect(self._save)
        self._work.busy_changed.connect(self._form.setDisabled)
        self._work.ended.connect(self._on_ended)
        lock.changed.connect(self._show_choice)
        self._show_choice(lock.choice)
        self._end()

    def _lay_out(self) -> None:
        card: Card = card_with_header(_("Passphrase"), self.change)
        text = _(
            "It opens the recordings and results on this computer. The recovery key stays the same when you change it."
        )
        fields = QVBoxLayout(self._form)
        fields.setContentsMargins(0, 0, 0, 0)
        fields.setSpacing(14)
        for row in (self.old_field, self.new_field, Field(_("New passphrase again"), self.repeated)):
            fields.addWidget(row)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.save)
        fields.addLayout(buttons)
        for part in (Text(text, Role.BODY, "text2", wrap=True), self._form):
            card.body.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(card)

    @Slot(object)
    def _show_choice(self, choice: LockChoice) -> None:
        self.setVisible(choice.passphrase_opens)

    @Slot()
    def _begin(self) -> None:
        self.banner.clear()
        self.change.hide()
        self._form.show()
        self.old.setFocus()

    @Slot()
    def _end(self) -> None:
        for edit in (self.old, self.new, self.repeated):
            edit.clear()
        self.new_field.set_fault(None)
        self._form.hide()
        self.change.show()

    @Slot()
    def _save(self) -> None:
        fault = passphrase_fault(self.new.text(), self.repeated.text())
        self.new_field.set_fault(fault)
        if fault is None:
            self.banner.clear()
            self._work.start(ChangePassphrase(self.old.text(), self.new.text()))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.banner.say(Tone.FAIL, outcome.sentence)
            return
        self._end()
        self.banner.say(Tone.OK, _("The passphrase is changed. Use it from the next start on."))
