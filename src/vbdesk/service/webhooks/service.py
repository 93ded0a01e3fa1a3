"""Rules of webhooks: one for the account, or one for a single job; every finished job is reported once."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.ids import new_id
from vbdesk.service.clock import Clock
from vbdesk.service.secret_box import SecretBox
from vbdesk.service.webhooks import repository
from vbdesk.service.webhooks.guard import AddressGuard

PURPOSE = "webhook secret"


class WebhookService:
    """Who hears of a job."""

    def __init__(self, secrets: SecretBox, clock: Clock, guard: AddressGuard) -> None:
        self._secrets = secrets
        self._clock = clock
        self._guard = guard

    def check_address(self, url: str) -> None:
        """Look at an address, which may ask the network. Raises AddressRefused."""
        self._guard.check_url(url)

    def seal(self, secret_key: str) -> bytes:
        """A signing secret as it is stored."""
        return self._secrets.seal(secret_key, PURPOSE)

    def configure(self, connection: Connection, account_id: str, url: str, secret_key: str) -> None:
        """Set the account's webhook; `check_address` comes first."""
        repository.store_webhook(connection, account_id, url, self.seal(secret_key), self._clock.now())

    def schedule(self, connection: Connection, job: Row[Any]) -> None:
        """Owe the report of a finished job: to the job's own webhook, else to the account's, else to none."""
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
