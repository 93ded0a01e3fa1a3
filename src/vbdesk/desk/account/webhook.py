"""The account's webhook, as far as this computer knows it.

The API can set a webhook, but not read or remove it, and does not report deliveries. So the address set from here is
stored encrypted with the recordings; the secret is not stored.
"""

from dataclasses import dataclass, field
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.language import message
from vbdesk.outbox.library.response_cache import STORED_WEBHOOK

_ACCEPTED = range(200, 300)


class _StoredWebhook(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str


@dataclass(frozen=True)
class WebhookRead(Read[tuple[str, datetime]]):
    """The address that was last set from here, and when; None before."""

    topics = frozenset({Changed.SETTINGS})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[str, datetime] | None:  # noqa: D102
        stored = context.library.responses.read(STORED_WEBHOOK)
        try:
            return None if stored is None else (_StoredWebhook.model_validate_json(stored[0]).url, stored[1])
        except ValidationError:
            return None


@dataclass(frozen=True)
class SetWebhook(Command):
    """Set `url` as the receiver of finished jobs."""

    url: str
    secret_key: str = field(repr=False)
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        with context.connection.client() as client:
            client.account.set_webhook(self.url, self.secret_key)
        responses, stored = context.library.responses, _StoredWebhook(url=self.url)
        responses.store(STORED_WEBHOOK, stored.model_dump_json().encode(), responses.erasures)
        sentence = message("Set. The service reports finished analyses to this address.")
        return Done(sentence, frozenset({Changed.SETTINGS}), found=True)


@dataclass(frozen=True)
class TryWebhook(Command):
    """Send a signed test event to `url` from this computer; finds whether the receiver took it."""

    url: str
    secret_key: str = field(repr=False)
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        status = context.ports.send_trial(self.url, self.secret_key)
        if status in _ACCEPTED:
            return Done(message("The receiver took the trial (HTTP {status}).", status=str(status)), found=True)
        refused = message(
            "The receiver refused the trial (HTTP {status}). Check its address and that it knows the secret.",
            status=str(status),
        )
        return Done(refused, found=False)
