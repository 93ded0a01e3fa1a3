"""Webhook rules: one per account or per job; each finished job is reported once."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.ids import new_id
from vbdesk.contract.jobs import JobStatus
from vbdesk.language import N_
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.errors import Conflict, NotFound
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, SecretBox
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.job_events import JobSubscriber
from vbdesk.service.webhooks import repository
from vbdesk.service.webhooks.sender import TIMEOUT_S

CLAIM = timedelta(seconds=3 * TIMEOUT_S)
"""How long a claim lasts; longer than any attempt."""


@dataclass(frozen=True, slots=True)
class AccountWebhook:
    """Webhook of an account; the secret is not shown again."""

    url: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryListed:
    """Delivery as shown to the account holder.

    Attributes:
        delivery_id: same as in the delivery's header.
        job_id: the finished job it reports.
        url: the receiver.
        state: `pending`, `sent` or `given_up`.
        attempts: number of attempts since the delivery was last started.
        last_status: HTTP status of the last answer.
        last_error: why there was no answer.
        created_at: when the job finished.
        due_at: time of the next attempt, or when it was sent or given up.
        repeatable: whether it can be restarted now.
    """

    delivery_id: str
    job_id: str
    url: str
    state: str
    attempts: int
    last_status: int | None
    last_error: str | None
    created_at: datetime
    due_at: datetime
    repeatable: bool


class WebhookService(JobSubscriber):
    """Webhooks of accounts and jobs; subscribes to job ends."""

    def __init__(self, secrets: SecretBox, clock: Clock, guard: AddressGuard) -> None:
        self._secrets = secrets
        self._clock = clock
        self._guard = guard

    @classmethod
    def of(cls, context: Context) -> "WebhookService":
        """Create the service for a running context."""
        return cls(context.secrets, context.clock, context.guard)

    async def check_address(self, url: str, account_id: str) -> None:
        """Check an address given by an account; this may use DNS. Raises AddressNotAllowed."""
        await self._guard.check_url(url, account_id)

    def seal(self, secret_key: str) -> bytes:
        """Encrypt a signing secret for storage."""
        return self._secrets.seal(secret_key, WEBHOOK_SECRET)

    def configure(self, connection: Connection, account_id: str, url: str, secret_key: str) -> None:
        """Set the account's webhook. Call `check_address` first."""
        repository.store_webhook(connection, account_id, url, self.seal(secret_key), self._clock.now())

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """Schedule the report of a finished job to the job's own webhook, else to the account's, if any."""
        url, secret = job.webhook_url, job.webhook_secret
        if url is None:
            webhook = repository.find_webhook(connection, job.account_id)
            if webhook is None:
                return
            url, secret = webhook.url, webhook.secret
        repository.insert_delivery(
            connection,
            delivery_id=new_id(),
            account_id=job.account_id,
            job_id=job.job_id,
            url=url,
            secret=secret,
            now=self._clock.now(),
        )

    def current(self, connection: Connection, account_id: str) -> AccountWebhook | None:
        """Return the account's webhook."""
        webhook = repository.find_webhook(connection, account_id)
        return AccountWebhook(webhook.url, webhook.updated_at) if webhook else None

    def remove(self, connection: Connection, account_id: str) -> None:
        """Delete the webhook and give up its pending deliveries. Raises NotFound when there is none."""
        if not repository.remove_webhook(connection, account_id):
            raise NotFound(N_("There is no webhook to remove."))
        repository.give_up_pending(connection, account_id, N_("The webhook was removed."), self._clock.now())

    def list_deliveries(
        self, connection: Connection, account_id: str, before: str | None, limit: int
    ) -> list[DeliveryListed]:
        """List deliveries, newest first, older than `before` if given."""
        now = self._clock.now()
        return [
            DeliveryListed(
                delivery_id=row.delivery_id,
                job_id=row.job_id,
                url=row.url,
                state=row.state,
                attempts=row.attempts,
                last_status=row.last_status,
                last_error=row.last_error,
                created_at=row.created_at,
                due_at=row.due_at,
                repeatable=row.state != repository.PENDING or row.due_at > now + CLAIM,
            )
            for row in repository.list_deliveries(connection, account_id, before, limit)
        ]

    def redeliver(self, connection: Connection, account_id: str, delivery_id: str) -> None:
        """Restart a delivery; one for the account's webhook goes to its current URL.

        Raises:
            NotFound: the account has no such delivery.
            Conflict: an attempt may be running, or the account no longer has a webhook.
        """
        delivery = repository.find_delivery(connection, account_id, delivery_id)
        if delivery is None:
            raise NotFound(N_("There is no such delivery."))
        receiver = delivery if delivery.job_url else repository.find_webhook(connection, account_id)
        if receiver is None:
            raise Conflict(N_("There is no webhook to deliver to. Set one, then deliver again."))
        now = self._clock.now()
        begun = repository.restart(
            connection, delivery_id, url=receiver.url, secret=receiver.secret, now=now, claimed_until=now + CLAIM
        )
        if not begun:
            raise Conflict(N_("This delivery is being tried already. Look again in a minute."))
