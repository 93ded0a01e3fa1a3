"""API key pages: create a key with a name, show it once, revoke it after confirmation."""

from typing import Any

from fastapi import APIRouter, Response

from vbdesk.language import N_, _
from vbdesk.service.accounts.service import AccountService, KeyListed
from vbdesk.service.console.pages import CurrentVisit, OwnForm, Visit, go_to, page
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.kernel.errors import NotFound
from vbdesk.service.ports.context import Context

MAX_NAME_LENGTH = 200

router = APIRouter()


@router.get("/console/keys")
def show_keys(visit: CurrentVisit, context: CurrentContext, notice: str = "") -> Response:
    """Show the account's keys and the form that creates a key."""
    return _keys_page(visit, context, notice=notice)


@router.post("/console/keys")
def create_key(visit: CurrentVisit, context: CurrentContext, fields: OwnForm) -> Response:
    """Create a key and show it once."""
    name = fields.get("name", "").strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        error = _("Give the key a name of 1 to {longest} characters.", longest=MAX_NAME_LENGTH)
        return _keys_page(visit, context, 422, error=error, name=name)
    with context.database.writing() as connection:
        key = AccountService(context.clock).create_key(connection, visit.account.account_id, name)
    return page("key_created.html", visit=visit, here="keys", key=key)


@router.get("/console/keys/{key_id}/revoke")
def ask_before_revoking(key_id: str, visit: CurrentVisit, context: CurrentContext) -> Response:
    """Ask for confirmation before a key is revoked."""
    return page("key_revoke.html", visit=visit, here="keys", key=_live_key(visit, context, key_id))


@router.post("/console/keys/{key_id}/revoke")
def revoke_key(key_id: str, visit: CurrentVisit, context: CurrentContext, _fields: OwnForm) -> Response:
    """Revoke the key immediately."""
    key = _live_key(visit, context, key_id)
    with context.database.writing() as connection:
        AccountService(context.clock).revoke_key(connection, visit.account.account_id, key.key_id)
    return go_to("/keys", "key-revoked")


def _keys(visit: Visit, context: Context) -> list[KeyListed]:
    with context.database.reading() as connection:
        return AccountService(context.clock).list_keys(connection, visit.account.account_id)


def _live_key(visit: Visit, context: Context, key_id: str) -> KeyListed:
    for key in _keys(visit, context):
        if key.key_id == key_id and key.revoked_at is None:
            return key
    raise NotFound(N_("There is no such key, or it is revoked already."))


def _keys_page(visit: Visit, context: Context, status: int = 200, **values: Any) -> Response:
    keys = list(reversed(_keys(visit, context)))
    live = [key for key in keys if key.revoked_at is None]
    revoked = [key for key in keys if key.revoked_at is not None]
    shown: dict[str, Any] = {"error": "", "name": "", "notice": "", "longest": MAX_NAME_LENGTH} | values
    return page("keys.html", status, visit=visit, here="keys", live=live, revoked=revoked, **shown)
