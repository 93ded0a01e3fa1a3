"""Webhook pages: the account's webhook and its deliveries."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from vbdesk.contract.accounts import WebhookConfig
from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH
from vbdesk.language import N_, _, translated
from vbdesk.service.console.pages import CurrentVisit, OwnForm, Visit, go_to, page
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.kernel.address_guard import AddressNotAllowed
from vbdesk.service.kernel.errors import Conflict, NotFound
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks import setup
from vbdesk.service.webhooks.service import WebhookService

DELIVERIES_ON_A_PAGE = 20

router = APIRouter()


@router.get("/console/webhook")
def show_webhook(
    visit: CurrentVisit,
    context: CurrentContext,
    before: Annotated[UUID | None, Query()] = None,
    notice: str = "",
) -> Response:
    """Show the webhook and its deliveries, older than `before` if given."""
    return _webhook_page(visit, context, before=str(before) if before else None, notice=notice)


@router.post("/console/webhook")
async def set_webhook(visit: CurrentVisit, context: CurrentContext, fields: OwnForm) -> Response:
    """Set or change the webhook, by the API's rules."""
    url, secret_key = fields.get("url", "").strip(), fields.get("secret_key", "")

    def refuse(**reason: str) -> Response:
        return _webhook_page(visit, context, 422, url=url, **reason)

    if not secret_key:
        return await run_in_threadpool(refuse, signing_error=_("Enter the secret that signs the reports."))
    try:
        config = WebhookConfig.model_validate({"url": url, "secret_key": secret_key})
        await setup.set_webhook(context, visit.account.account_id, str(config.url), secret_key)
    except ValidationError:
        no_url = _(
            "Give a URL such as https://host/path, of at most {longest} characters.", longest=MAX_WEBHOOK_URL_LENGTH
        )
        return await run_in_threadpool(refuse, url_error=no_url)
    except AddressNotAllowed as refusal:
        return await run_in_threadpool(refuse, url_error=translated(refusal))
    return go_to("/webhook", "webhook-set")


@router.get("/console/webhook/remove")
def ask_before_removing(visit: CurrentVisit, context: CurrentContext) -> Response:
    """Ask for confirmation before the webhook is removed."""
    with context.database.reading() as connection:
        webhook = WebhookService.of(context).current(connection, visit.account.account_id)
    if webhook is None:
        raise NotFound(N_("There is no webhook to remove."))
    return page("webhook_remove.html", visit=visit, here="webhook", webhook=webhook)


@router.post("/console/webhook/remove")
def remove_webhook(visit: CurrentVisit, context: CurrentContext, _fields: OwnForm) -> Response:
    """Remove the webhook."""
    with context.database.writing() as connection:
        WebhookService.of(context).remove(connection, visit.account.account_id)
    return go_to("/webhook", "webhook-removed")


@router.post("/console/webhook/deliveries/{delivery_id}/redeliver")
def redeliver(delivery_id: UUID, visit: CurrentVisit, context: CurrentContext, _fields: OwnForm) -> Response:
    """Retry a delivery."""
    try:
        with context.database.writing() as connection:
            WebhookService.of(context).redeliver(connection, visit.account.account_id, str(delivery_id))
    except Conflict as refusal:
        return _webhook_page(visit, context, 409, error=translated(refusal))
    return go_to("/webhook", "redelivering")


def _webhook_page(
    visit: Visit, context: Context, status: int = 200, *, before: str | None = None, **values: Any
) -> Response:
    webhooks, account_id = WebhookService.of(context), visit.account.account_id
    with context.database.reading() as connection:
        webhook = webhooks.current(connection, account_id)
        deliveries = webhooks.list_deliveries(connection, account_id, before, DELIVERIES_ON_A_PAGE + 1)
    shown: dict[str, Any] = {
        "error": "",
        "url_error": "",
        "signing_error": "",
        "notice": "",
        "url": webhook.url if webhook else "",
        "longest": MAX_WEBHOOK_URL_LENGTH,
    } | values
    return page(
        "webhook.html",
        status,
        visit=visit,
        here="webhook",
        webhook=webhook,
        deliveries=deliveries[:DELIVERIES_ON_A_PAGE],
        older=len(deliveries) > DELIVERIES_ON_A_PAGE,
        newest=before is None,
        **shown,
    )
