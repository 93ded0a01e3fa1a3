"""The card of Account for the app lock: turn it on and off, and choose when it locks."""

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.locking.app_lock import LOCK_AFTER, USUAL_LOCK_AFTER, AppLock, LockChoice
from vbdesk.desk.locking.unlocking import passphrase_fault
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import card_with_header
from vbdesk.desk.ui.fields import ChoiceField, Field, SecretField
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.shortcuts import key_text
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, ngettext
from vbdesk.outbox.library.managed_policy import managed_text
from vbdesk.outbox.profiles.service_key import LockState


class AppLockCard(QWidget):
    """Binds `AppLock`; without the way to turn it on where `offered` is False."""

    def __init__(self, model: AppLock, *, offered: bool) -> None:
        super().__init__()
        self._model, self._offered = model, offered
        self.turn_on = secondary_button(_("Turn on"), icon="lock")
        self.lock_now = secondary_button(_("Lock now"), icon="lock", key=key_text("Ctrl+L"))
        self.turn_off = quiet_button(_("Turn off"))
        self.banner = Banner()
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.after = ChoiceField("clock")
        for minutes in LOCK_AFTER:
            self.after.addItem(_after(minutes), minutes)
        self.after.addItem(_("Only with Ctrl+L"), None)
        self.after_field = Field(_("Lock the window"), self.after)
        if model.managed_minutes is not None:
            self._fix_minutes(model.managed_minutes)
        self.passphrase, self.repeated = SecretField(), SecretField()
        self.passphrase_field = Field(_("Passphrase"), self.passphrase)
        self.repeated_field = Field(_("Passphrase again"), self.repeated)
        self.save, self.cancel = secondary_button(_("Save")), quiet_button(_("Cancel"))
        self._form = QWidget()
        self._turning_off = False
        self._lay_out()
        self._bind()
        self._end()
        self._show_choice(model.choice)

    def _fix_minutes(self, minutes: int) -> None:
        """Show the time that the organisation has set."""
        if self.after.findData(minutes) < 0:
            self.after.addItem(_after(minutes), minutes)
        self.after.setDisabled(True)
        self.after_field.set_help(managed_text())

    def _lay_out(self) -> None:
        card = card_with_header(_("App lock"), self.turn_on)
        fields = QVBoxLayout(self._form)
        fields.setContentsMargins(0, 0, 0, 0)
        fields.setSpacing(14)
        fields.addWidget(self.passphrase_field)
        fields.addWidget(self.repeated_field)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.save)
        fields.addLayout(buttons)
        button_row = QHBoxLayout()
        button_row.setSpacing(12)
        button_row.addWidget(self.lock_now)
        button_row.addWidget(self.turn_off)
        button_row.addStretch(1)
        for part in (self.sentence, self.banner, self.after_field):
            card.body.addWidget(part)
        card.body.addLayout(button_row)
        card.body.addWidget(self._form)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(card)

    def _bind(self) -> None:
        model = self._model
        self.turn_on.clicked.connect(self._begin_turning_on)
        self.turn_off.clicked.connect(self._begin_turning_off)
        self.cancel.clicked.connect(self._end)
        self.save.clicked.connect(self._save)
        self.passphrase.returnPressed.connect(self._on_return)
        self.repeated.returnPressed.connect(self._save)
        self.lock_now.clicked.connect(model.lock)
        self.after.activated.connect(self._choose)
        model.changed.connect(self._show_choice)
        model.busy_changed.connect(self._form.setDisabled)
        model.failed.connect(self._show_failure)

    @Slot(object)
    def _show_choice(self, choice: LockChoice) -> None:
        opens, on = choice.passphrase_opens, choice.state is not None
        if opens:
            text = _(
                "Only the passphrase opens vbdesk and the recordings and results on this computer, also after a "
                "restart. Recording and sending go on while the window is locked."
            )
        elif self._offered:
            text = _(
                "The app lock is off: this computer's keyring opens vbdesk. With the lock, the window asks for a "
                "passphrase of its own after a pause and at every start, and the keys leave the keyring."
            )
        else:
            text = _(
                "The keys of this profile are kept until the window is closed, so they need no lock. "
                "Choose the keyring in a new profile to use the app lock."
            )
        if self._offered and self._model.is_missing:
            text = " ".join((text, _("Your organisation asks you to turn it on.")))
        self.sentence.setText(text)
        self.turn_on.setVisible(self._offered and not opens and self._form.isHidden())
        self.turn_off.setVisible(on and self._model.managed_minutes is None)
        self.lock_now.setVisible(opens)
        self.after_field.setVisible(opens)
        with QSignalBlocker(self.after):
            self.after.setCurrentIndex(max(0, self.after.findData(choice.lock_after)))
        if on is self._turning_off:
            return
        self._end()
        if choice.state is LockState.TURNING_ON:
            self.banner.say(
                Tone.WARN, _("The keyring still has the keys. Start vbdesk again to finish turning the lock on.")
            )

    @Slot()
    def _begin_turning_on(self) -> None:
        self._turning_off = False
        self.passphrase_field.set_help(_("At least 12 characters. You need it at every start."))
        self.save.setText(_("Turn the lock on"))
        self._begin()

    @Slot()
    def _begin_turning_off(self) -> None:
        self._turning_off = True
        self.passphrase_field.set_help(_("Afterwards this computer's keyring opens vbdesk again."))
        self.save.setText(_("Turn the lock off"))
        self._begin()

    def _begin(self) -> None:
        self.banner.clear()
        self.turn_on.hide()
        self.repeated_field.setVisible(not self._turning_off)
        self.after_field.setVisible(True)
        if not self._turning_off:
            with QSignalBlocker(self.after):
                minutes = self._model.managed_minutes or USUAL_LOCK_AFTER
                self.after.setCurrentIndex(self.after.findData(minutes))
        self._form.show()
        self.passphrase.setFocus()

    @Slot()
    def _end(self) -> None:
        for edit in (self.passphrase, self.repeated):
            edit.clear()
        self.passphrase_field.set_fault(None)
        self._form.hide()
        self._turning_off = False
        self.turn_on.setVisible(self._offered and not self._model.choice.passphrase_opens)
        self.after_field.setVisible(self._model.choice.passphrase_opens)

    @Slot()
    def _on_return(self) -> None:
        if self._turning_off:
            self._save()
        else:
            self.repeated.setFocus()

    @Slot()
    def _save(self) -> None:
        self.banner.clear()
        if self._turning_off:
            self._model.turn_off(self.passphrase.text())
            return
        fault = passphrase_fault(self.passphrase.text(), self.repeated.text())
        self.passphrase_field.set_fault(fault)
        if fault is None:
            self._model.turn_on(self.passphrase.text(), self.after.currentData())

    @Slot(int)
    def _choose(self, index: int) -> None:
        if self._model.choice.passphrase_opens:
            self._model.choose_lock_after(self.after.itemData(index))

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence)


def _after(minutes: int) -> str:
    return ngettext("After {count} minute without input", "After {count} minutes without input", minutes)
