"""State of the account's webhook, as far as this computer knows it."""

import secrets
from collections.abc import Callable
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError
from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.trial_delivery import webhook_faults
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.ports import AccountConnection
from vbdesk.language import _
from vbdesk.outbox.library.response_cache import ResponseCache

_KEPT_AS = "webhook"
_SECRET_BYTES = 32
_ACCEPTED = range(200, 300)


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str


class WebhookViewModel(QObject):
    """Sets the webhook and tests its receiver.

    The API can set a webhook, but not read or remove it, and does not report deliveries. So the address set from here
    is stored encrypted with the recordings; the secret is not stored.

    Signals:
        known: (str, datetime) the address last set from here, and its time.
        faults: (str | None, str | None) errors of address and secret.
        answered: (bool, str) success of an action, and a sentence.
    """

    known = Signal(str, object)
    faults = Signal(object, object)
    answered = Signal(bool, str)

    def __init__(
        self,
        responses: ResponseCache,
        connection: AccountConnection,
        send_trial: Callable[[str, str], int],
        tasks: TaskOwner,
    ) -> None:
        super().__init__()
        self._responses, self._connection = responses, connection
        self._send_trial, self._tasks = send_trial, tasks
        self._changes = Lane(tasks, self)  # in order, so that the last address is the one that stays

    def read(self) -> None:
        """Read the address set from here."""
        self._tasks.start(self._read, self._on_read, self._on_failed, name="webhook-known")

    @staticmethod
    def new_secret() -> str:
        """Make a random secret."""
        return secrets.token_urlsafe(_SECRET_BYTES)

    def set(self, url: str, secret_key: str) -> None:
        """Set `url` as the receiver of finished jobs."""
        if not self._right(url, secret_key):
            return

        def work(context: TaskContext) -> None:
            with self._connection.client() as client:
                client.account.set_webhook(url, secret_key)
            self._responses.keep(_KEPT_AS, _Kept(url=url).model_dump_json().encode())

        self._changes.run(work, self._on_set, self._on_failed, name="webhook-set")

    def try_out(self, url: str, secret_key: str) -> None:
        """Send a signed test event to `url` from this computer."""
        if not self._right(url, secret_key):
            return
        self._tasks.start(
            lambda context: self._send_trial(url, secret_key), self._on_tried, self._on_failed, name="webhook-trial"
        )

    def _right(self, url: str, secret_key: str) -> bool:
        faults = webhook_faults(url, secret_key)
        self.faults.emit(*faults)
        return faults == (None, None)

    def _read(self, context: TaskContext) -> tuple[str, datetime] | None:
        kept = self._responses.read(_KEPT_AS)
        if kept is None:
            return None
        try:
            return _Kept.model_validate_json(kept[0]).url, kept[1]
        except ValidationError:
            return None

    @Slot(object)
    def _on_read(self, known: tuple[str, datetime] | None) -> None:
        if known is not None:
            self.known.emit(*known)

    @Slot(object)
    def _on_set(self, _nothing: None) -> None:
        self.answered.emit(True, _("Set. The service reports finished analyses to this address."))
        self.read()

    @Slot(object)
    def _on_tried(self, status: int) -> None:
        if status in _ACCEPTED:
            self.answered.emit(True, _("The receiver took the trial (HTTP {status}).", status=str(status)))
        else:
            self.answered.emit(
                False,
                _(
                    "The receiver refused the trial (HTTP {status}). Check its address and that it knows the secret.",
                    status=str(status),
                ),
            )

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.answered.emit(False, failure.sentence)
