"""The card of Account for the webhook."""

from datetime import datetime

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout

from vbdesk.clock import local_now
from vbdesk.desk.account.webhook_model import WebhookViewModel
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.fields import Field, LineField, SecretField
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import day_and_time
from vbdesk.language import N_, _, joined, pgettext

_MAKING_WIDTH = 150
_WORDS = N_("The service can report every finished job of this account to your program, signed with your secret.")
_LIMITS = N_(
    "No program can read the webhook or its deliveries from the service. To see deliveries or to remove the "
    "webhook, use the service's console."
)


class WebhookCard(Card):
    """Binds `WebhookViewModel`."""

    def __init__(self, model: WebhookViewModel) -> None:
        super().__init__(_("Webhook"), padding=20)
        self.model = model
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
        buttons = PageHeader(making, self.try_out, self.save, words_width=_MAKING_WIDTH)
        buttons.setMinimumWidth(1)
        self.body.addWidget(Text(_(_WORDS), Role.BODY, "text2", wrap=True))
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
        model.known.connect(self._show_known)
        model.faults.connect(self._show_faults)
        model.answered.connect(self._show_answer)

    def left(self) -> None:
        """Clear the secret when the page is left."""
        self.secret.clear()
        self.answer.hide()

    @Slot()
    def _on_make(self) -> None:
        self.secret.setText(self.model.new_secret())
        self.secret.setFocus()

    @Slot()
    def _on_try(self) -> None:
        self._ask(pgettext("progress", "Sending"))
        self.model.try_out(self.url.text().strip(), self.secret.text())

    @Slot()
    def _on_set(self) -> None:
        self._ask(_("Asking the service"))
        self.model.set(self.url.text().strip(), self.secret.text())

    def _ask(self, words: str) -> None:
        self._say(words, "text2")
        for button in (self.try_out, self.save):
            button.setEnabled(False)

    @Slot(str, object)
    def _show_known(self, url: str, at: datetime) -> None:
        self.state.setText(_("Set from this computer ({time}): {url}", time=day_and_time(at, local_now()), url=url))
        if not self.url.text() or self.url.text().strip() == url:
            self.url.setText(url)

    @Slot(object, object)
    def _show_faults(self, url: str | None, secret: str | None) -> None:
        self.url_field.set_fault(url)
        self.secret_field.set_fault(secret)
        if url or secret:
            self.answer.hide()
            self._free()

    @Slot(bool, str)
    def _show_answer(self, well: bool, sentence: str) -> None:
        self._free()
        self._say(sentence, "ok" if well else "fail")

    def _free(self) -> None:
        for button in (self.try_out, self.save):
            button.setEnabled(True)

    def _say(self, sentence: str, ink: str) -> None:
        self.answer.setText(sentence)
        self.answer.set_ink(ink)
        self.answer.show()
