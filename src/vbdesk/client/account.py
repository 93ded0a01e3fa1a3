"""The account's balance and webhook."""

from vbdesk.client.refusals import OF_WEBHOOK
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.contract.accounts import Credits, WebhookConfigured


class AccountResource:
    """The account of the credentials."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def credits(self) -> int:
        """Remaining tokens."""
        call = Call("GET", path("account", "credits"), repeatable=True)
        return self._transport.read(call, Credits.model_validate_json).credits

    def set_webhook(self, url: str, secret_key: str) -> WebhookConfigured:
        """Report every finished job to `url`, signed with `secret_key`."""
        body = {"url": url, "secret_key": secret_key}
        call = Call("POST", path("account", "webhook"), repeatable=True, json=body, refusals=OF_WEBHOOK)
        return self._transport.read(call, WebhookConfigured.model_validate_json)
