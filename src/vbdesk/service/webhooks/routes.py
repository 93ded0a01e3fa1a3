"""The account's webhook over HTTP."""

from typing import Annotated

from fastapi import APIRouter

from vbdesk.contract.accounts import WebhookConfig, WebhookConfigured
from vbdesk.contract.errors import ErrorCode, ErrorDetail
from vbdesk.contract.limits import Bucket
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.json_body import json_body
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.kernel.address_guard import AddressNotAllowed
from vbdesk.service.kernel.errors import ValidationFailed
from vbdesk.service.webhooks.setup import set_webhook

GENERAL = guard(Bucket.GENERAL)
router = APIRouter()
ROUTERS: tuple[APIRouter, ...] = (router,)


@router.post("/v2/account/webhook", responses=refusals(ErrorCode.INVALID_REQUEST), dependencies=GENERAL)
async def configure_webhook(
    body: Annotated[WebhookConfig, json_body(WebhookConfig)], account: CurrentAccount, context: CurrentContext
) -> WebhookConfigured:
    """Report every finished job of the account to this address, signed with this key."""
    try:
        await set_webhook(context, account.account_id, str(body.url), body.secret_key.get_secret_value())
    except AddressNotAllowed as refusal:
        detail = ErrorDetail(loc=["body", "url"], msg=str(refusal), type="address_refused")
        raise ValidationFailed([detail]) from None
    return WebhookConfigured(success=True, message="Finished jobs will be reported to this address.")
