"""The account: credits, and the webhook for finished jobs."""

from typing import Annotated

from pydantic import AnyUrl, Field, SecretStr

from vbdesk.contract.base import WireModel
from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH

ACCOUNT_HEADER = "X-Account-ID"
API_KEY_HEADER = "X-API-Key"
SECRET_KEY_HEADER = "X-Secret-Key"  # noqa: S105  (a header's name, not a secret)


class Credits(WireModel):
    """Remaining token balance; 1 credit = 1 token."""

    credits: int


class WebhookConfig(WireModel):
    """The address of the webhook, and the key that signs its deliveries."""

    url: Annotated[AnyUrl, Field(min_length=1, max_length=MAX_WEBHOOK_URL_LENGTH)]
    secret_key: Annotated[SecretStr, Field(min_length=1)]


class WebhookConfigured(WireModel):
    """Answer to a webhook configuration."""

    success: bool
    message: str
