"""The card of Account for the webhook."""

import secrets

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout

from vbdesk.client.trial_delivery import webhook_faults
from vbdesk.clock import local_now
from vbdesk.desk.account.webhook import SetWebhook, TryWebhook, WebhookRead
from vbdesk.desk.flow.commands import CommandOutcome, Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.fields import Field, LineField, SecretField
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import day_and_time
from vbdesk.language import N_, _, joined, pgettext

_MAKING_WIDTH, _SECRET_BYTES = 150, 32
_INTRODUCTION = N_(
    "The service can report every finished job of this account to your program, signed with your secret."
)
_LIMITS = N_(
    "No program can read the webhook or its deliveries from the service. To see deliveries or to remove the "
    "webhook, use the service's console."
)


class WebhookCard(Card):
    """Sets the webhook and tests its receiver."""

    def __init__(self, flow: Flow) -> None:
        super().__init__(_("Webhook"), padding=20)
        self._content, self._work = flow.screen(self), Work(flow.commands, self)
        self.url, self.secret = LineField(placeholder="https://"), SecretField()
        self.url_field = Field(_("Webhook address"), self.url)
        self.secret_field = Field(
            _("Signing secret"),
            self.secret,
            help_text=_("Give it to your program too. It is not kept on this computer."),
        )
        self.make = quiet_button(_("Make a secret"), icon="key")
        self.try_out = secondary_button(_("Send a trial"), icon="export")
        self.save = secondary_button(_("Set webhook"))
        self.make.clicked.connect(self._on_make)
        self.try_out.clicked.connect(self._on_try)
        self.save.clicked.connect(self._on_set)
        self.state = Text(_("No webhook was set from this computer."), Role.BODY, "text2", wrap=True)
        self.answer = Text("", Role.BODY, "text2", wrap=True)
        self.answer.hide()
        making = QHBoxLayout()
        making.addWidget(self.make)
        making.addStretch(1)
        buttons = PageHeader(making, self.try_out, self.save, texts_width=_MAKING_WIDTH)
        buttons.setMinimumWidth(1)
        self.body.addWidget(Text(_(_INTRODUCTION), Role.BODY, "text2", wrap=True))
        self.body.addWidget(self.state)
        self.body.addWidget(self.url_field)
        self.body.addWidget(self.secret_field)
        self.body.addWidget(buttons)
        self.body.addWidget(self.answer)
        self.body.addWidget(
            Text(
                joined(_("The trial goes from this computer, as a job that failed and does not exist."), _(_LIMITS)),
                Role.CAPTION,
                "text3",
                wrap=True,
            )
        )
        self._content.changed.connect(self._show_known)
        self._work.busy_changed.connect(self._show_busy)
        self._work.ended.connect(self._show_answer)

    def open(self) -> None:
        """Show the address that was set from here."""
        self._content.show(WebhookRead())

    def left(self) -> None:
        """Clear the secret when the page is left."""
        self.secret.clear()
        self.answer.hide()

    @Slot()
    def _on_make(self) -> None:
        self.secret.setText(secrets.token_urlsafe(_SECRET_BYTES))
        self.secret.setFocus()

    @Slot()
    def _on_try(self) -> None:
        if self._right():
            self._say(pgettext("progress", "Sending"), "text2")
            self._work.start(TryWebhook(self.url.text().strip(), self.secret.text()))

    @Slot()
    def _on_set(self) -> None:
        if self._right():
            self._say(_("Asking the service"), "text2")
            self._work.start(SetWebhook(self.url.text().strip(), self.secret.text()))

    def _right(self) -> bool:
        """Whether address and secret can be used; shows why not."""
        faults = webhook_faults(self.url.text().strip(), self.secret.text())
        for field, fault in zip((self.url_field, self.secret_field), faults, strict=True):
            field.set_fault(fault)
        self.answer.hide()
        return faults == (None, None)

    @Slot()
    def _show_known(self) -> None:
        known = self._content.of(WebhookRead).value
        if known is not None:
            url, at = known
            self.state.setText(_("Set from this computer ({time}): {url}", time=day_and_time(at, local_now()), url=url))
            self.url.setText(self.url.text() or url)

    @Slot(bool)
    def _show_busy(self, busy: bool) -> None:
        for button in (self.try_out, self.save):
            button.setDisabled(busy)

    @Slot(object)
    def _show_answer(self, outcome: CommandOutcome) -> None:
        self._say(outcome.sentence, "ok" if outcome.done.found else "fail")

    def _say(self, sentence: str, ink: str) -> None:
        self.answer.setText(sentence)
        self.answer.set_ink(ink)
        self.answer.show()
