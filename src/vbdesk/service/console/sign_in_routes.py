"""Signing in and out."""

from fastapi import APIRouter, Request, Response

from vbdesk.language import _, translated
from vbdesk.service.accounts.sessions import SessionService
from vbdesk.service.console.forms import (
    SESSION_COOKIE,
    VISITOR_COOKIE,
    FormFields,
    FormRefused,
    check_token,
    form_token,
    new_visit,
)
from vbdesk.service.console.pages import CurrentVisit, OwnForm, go_to, page
from vbdesk.service.http.guard import CurrentContext, authenticate
from vbdesk.service.kernel.errors import RateLimited, ServiceError, Unauthorized
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Credential

router = APIRouter()


@router.get("/console/sign-in")
def show_sign_in(request: Request, context: CurrentContext, notice: str = "") -> Response:
    """Show the sign-in form."""
    return _form(request, context, notice=notice)


@router.post("/console/sign-in")
def sign_in(request: Request, context: CurrentContext, fields: FormFields) -> Response:
    """Start a session for the holder of the account's secret key."""
    try:
        check_token(context.secrets, VISITOR_COOKIE.read(request), fields)
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
    VISITOR_COOKIE.remove(request, response)
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
        response = _form(request, context, 429, error=translated(refusal), account_id=account_id)
        response.headers["Retry-After"] = str(refusal.retry_after_s)
        return response
    wrong = _("The account id or the secret key is not right. Check both.")
    return _form(request, context, 401, error=wrong, account_id=account_id)


def _form(
    request: Request, context: Context, status: int = 200, *, error: str = "", account_id: str = "", notice: str = ""
) -> Response:
    visitor = VISITOR_COOKIE.read(request) or new_visit()
    response = page(
        "sign_in.html",
        status,
        here="sign-in",
        form_token=form_token(context.secrets, visitor),
        error=error,
        account_id=account_id,
        notice=notice,
    )
    VISITOR_COOKIE.write(request, response, visitor)
    return response
