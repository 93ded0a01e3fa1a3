"""Choosing the language of the pages, before and after sign-in."""

from fastapi import APIRouter, Request, Response

from vbdesk.language import N_
from vbdesk.service.console.forms import SESSION_COOKIE, VISITOR_COOKIE, FormFields, FormRefused, check_token
from vbdesk.service.console.pages import go_to
from vbdesk.service.console.readers_language import LANGUAGE_COOKIE, known_language
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.kernel.errors import InvalidRequest
from vbdesk.service.ports.context import Context

_SECTIONS = {"keys": "/keys", "webhook": "/webhook", "sign-in": "/sign-in"}
"""Where a reader returns to, by the name in the form; the overview otherwise. The form cannot name other addresses."""

router = APIRouter()


@router.post("/console/language")
def choose_language(request: Request, context: CurrentContext, fields: FormFields) -> Response:
    """Keep the language that was chosen on a page, and show the page's section again."""
    _check_token(request, context, fields)
    language = known_language(fields.get("language", ""))
    if language is None:
        raise InvalidRequest(N_("The console has no translation into this language. Choose one that a page offers."))
    response = go_to(_SECTIONS.get(fields.get("here", ""), ""))
    LANGUAGE_COOKIE.write(request, response, language.tag)
    return response


def _check_token(request: Request, context: Context, fields: dict[str, str]) -> None:
    """Accept the token of a page of the session, or of the sign-in page. Raises FormRefused."""
    try:
        check_token(context.secrets, SESSION_COOKIE.read(request), fields)
    except FormRefused:
        check_token(context.secrets, VISITOR_COOKIE.read(request), fields)
