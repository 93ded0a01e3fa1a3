"""The language of a request: the one that its reader chose on a page, else the best that the browser asks for."""

import re

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from vbdesk.language import ENGLISH, Language, language_of, reading_in
from vbdesk.service.console.forms import Cookie

LANGUAGE_COOKIE = Cookie("vbdesk-language", kept_s=365 * 24 * 3600)

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
