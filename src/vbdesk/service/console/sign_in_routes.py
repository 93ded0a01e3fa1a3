"""Signing in and out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from vbdesk.service.accounts.sessions import SessionService
from vbdesk.service.console.forms import Cookie, FormRefused, check_token, form_token, new_visit, read_form
from vbdesk.service.console.pages import go_to, page
from vbdesk.service.console.signed_in import SESSION_COOKIE, CurrentVisit, OwnForm
from vbdesk.service.http.guard import CurrentContext, authenticate
from vbdesk.service.kernel.errors import RateLimited, ServiceError, Unauthorized
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Credential

_VISITOR_COOKIE = Cookie("vbdesk-visitor")
"""Ties the sign-in form to the browser. It is separate from the session cookie."""

_WRONG = "The account id or the secret key is not right. Check both."

router = APIRouter()


async def _visitors_form(request: Request) -> dict[str, str]:
    return await read_form(request)


@router.get("/console/sign-in")
def show_sign_in(request: Request, context: CurrentContext, notice: str = "") -> Response:
    """Show the sign-in form."""
    return _form(request, context, notice=notice)


@router.post("/console/sign-in")
def sign_in(
    request: Request, context: CurrentContext, fields: Annotated[dict[str, str], Depends(_visitors_form)]
) -> Response:
    """Start a session for the holder of the account's secret key."""
    try:
        check_token(context.secrets, _VISITOR_COOKIE.read(request), fields)
    except FormRefused:
        return _form(request, context, 403, notice="form-refused")
    account_id = fields.get("account_id", "").strip()
    try:
        account = authenticate(
            request, context, Credential.SECRET_KEY, account_id, fields.get("secret_key", "").strip()
        )
    except (Unauthorized, RateLimited) as refusal:
        return _refused(request, context, account_id, refusal)
    sessions = SessionService(context.clock)
    with context.database.writing() as connection:
        sessions.end(connection, SESSION_COOKIE.read(request))
        token = sessions.begin(connection, account.account_id)
    response = go_to()
    SESSION_COOKIE.write(request, response, token)
    _VISITOR_COOKIE.remove(request, response)
    return response


@router.post("/console/sign-out")
def sign_out(request: Request, context: CurrentContext, visit: CurrentVisit, _fields: OwnForm) -> Response:
    """End the session."""
    with context.database.writing() as connection:
        SessionService(context.clock).end(connection, visit.session_token)
    response = go_to("/sign-in", "signed-out")
    SESSION_COOKIE.remove(request, response)
    return response


def _refused(request: Request, context: Context, account_id: str, refusal: ServiceError) -> Response:
    if isinstance(refusal, RateLimited):
        response = _form(request, context, 429, error=refusal.message, account_id=account_id)
        response.headers["Retry-After"] = str(refusal.retry_after_s)
        return response
    return _form(request, context, 401, error=_WRONG, account_id=account_id)


def _form(
    request: Request, context: Context, status: int = 200, *, error: str = "", account_id: str = "", notice: str = ""
) -> Response:
    visitor = _VISITOR_COOKIE.read(request) or new_visit()
    response = page(
        "sign_in.html",
        status,
        form_token=form_token(context.secrets, visitor),
        error=error,
        account_id=account_id,
        notice=notice,
    )
    _VISITOR_COOKIE.write(request, response, visitor)
    return response
