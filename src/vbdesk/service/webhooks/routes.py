"""The account's webhook over HTTP."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from vbdesk.contract.accounts import WebhookConfig, WebhookConfigured
from vbdesk.contract.errors import ErrorCode, ErrorDetail
from vbdesk.contract.limits import Bucket
from vbdesk.service.dependencies import CurrentAccount, CurrentContext, guarded_router
from vbdesk.service.errors import ValidationFailed
from vbdesk.service.http.description import refusals
from vbdesk.service.jobs.wiring import webhooks_of
from vbdesk.service.webhooks.guard import AddressRefused

router = guarded_router(Bucket.GENERAL)
ROUTERS: tuple[APIRouter, ...] = (router,)


@router.post("/v2/account/webhook", responses=refusals(ErrorCode.INVALID_REQUEST))
async def configure_webhook(body: WebhookConfig, account: CurrentAccount, context: CurrentContext) -> WebhookConfigured:
    """Report every finished job of the account to this address, signed with this key."""
    webhooks = webhooks_of(context)
    url = str(body.url)
    try:
        await webhooks.check_address(url, account.account_id)
    except AddressRefused as refusal:
        detail = ErrorDetail(loc=["body", "url"], msg=str(refusal), type="address_refused")
        raise ValidationFailed([detail]) from None

    def store() -> None:
        with context.database.writing() as connection:
            webhooks.configure(connection, account.account_id, url, body.secret_key.get_secret_value())

    await run_in_threadpool(store)
    return WebhookConfigured(success=True, message="Finished jobs will be reported to this address.")
