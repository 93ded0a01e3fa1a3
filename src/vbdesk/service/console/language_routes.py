"""Choosing the language of the pages, before and after sign-in."""

import re

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vbdesk.language import ENGLISH, N_, Language, language_of, reading_in
from vbdesk.service.console.forms import SESSION_COOKIE, VISITOR_COOKIE, Cookie, FormFields, FormRefused, check_token
from vbdesk.service.console.pages import go_to
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


LANGUAGE_COOKIE = Cookie("vbdesk-language", max_age_s=365 * 24 * 3600)

_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z]{4})?(?:-([a-z]{2}|\d{3}))?(?:-[a-z\d-]*)?", re.IGNORECASE)
"""Language, script, region and more. Only language and region are used: anything else would fill Babel's caches."""

_QUALITY = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)
_MOST_TAGS = 20


class ReadersLanguage:
    """ASGI middleware that shows texts in the language of the request: in its task, and in the threads it asks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        with reading_in(language_for(Request(scope))):
            await self._app(scope, receive, send)


def language_for(request: Request) -> Language:
    """The reader's choice, else the browser's best; English if there is no catalog for either.

    A choice names no region; it gets the region that the browser names for this language.
    """
    asked = asked_for(",".join(request.headers.getlist("accept-language")))
    chosen = known_language(LANGUAGE_COOKIE.read(request))
    if chosen is None:
        return asked[0] if asked else ENGLISH
    return next((each for each in asked if each.name == chosen.name), chosen)


def known_language(tag: str) -> Language | None:
    """The best catalog for a tag of BCP 47, such as `pt-PT`; None if there is none. The tag may be anything."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return None
    return language_of(f"{match[1]}_{match[2].upper()}" if match[2] else match[1])


def asked_for(accept_language: str) -> list[Language]:
    """Languages of an `Accept-Language` header that have a catalog, best first."""
    weighted = []
    for part in accept_language.split(",")[:_MOST_TAGS]:
        tag, _, parameter = (piece.strip() for piece in part.partition(";"))
        language, quality = known_language(tag), _QUALITY.fullmatch(parameter)
        if language is not None and (quality or not parameter):
            weighted.append((float(quality[1]) if quality else 1.0, language))
    return [language for quality, language in sorted(weighted, key=lambda each: -each[0]) if quality]
