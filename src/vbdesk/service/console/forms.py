"""CSRF protection: each form carries a token derived from a cookie of the same browser."""

import hmac
import secrets
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response

from vbdesk.language import N_
from vbdesk.service.kernel.errors import InvalidRequest
from vbdesk.service.kernel.secret_box import SecretBox

TOKEN_FIELD = "form_token"  # noqa: S105  (a field's name, not a secret)

_MAX_FORM_BYTES = 16 * 1024
_MAX_FIELDS = 20
_PURPOSE = "console forms"


class FormRefused(Exception):
    """The form token does not match this browser's cookie, or it has expired."""


class Cookie:
    """Cookie that scripts and other sites cannot use."""

    def __init__(self, name: str, max_age_s: int | None = None) -> None:
        """Name a cookie that is kept for `max_age_s` seconds; by default until the browser is closed."""
        self._name = name
        self._max_age_s = max_age_s

    def read(self, request: Request) -> str:
        """Return the cookie's value; empty when it is not set."""
        return request.cookies.get(self._name_for(request), "")

    def write(self, request: Request, response: Response, value: str) -> None:
        """Set the cookie."""
        response.set_cookie(
            self._name_for(request),
            value,
            max_age=self._max_age_s,
            path="/",
            secure=_is_https(request),
            httponly=True,
            samesite="strict",
        )

    def remove(self, request: Request, response: Response) -> None:
        """Delete the cookie."""
        response.delete_cookie(
            self._name_for(request), path="/", secure=_is_https(request), httponly=True, samesite="strict"
        )

    def _name_for(self, request: Request) -> str:
        """Prefix the name over HTTPS, so that other hosts of the domain cannot set the cookie."""
        return f"__Host-{self._name}" if _is_https(request) else self._name


SESSION_COOKIE = Cookie("vbdesk-console")

VISITOR_COOKIE = Cookie("vbdesk-visitor")
"""Ties the forms of the sign-in page to the browser."""


def new_visit() -> str:
    """Create a cookie value that ties a form to a browser before sign-in."""
    return secrets.token_urlsafe(32)


def form_token(box: SecretBox, cookie: str) -> str:
    """Return the form token for the browser that has this cookie."""
    return _tokens(box, cookie)[0]


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a small form.

    Raises:
        InvalidRequest: the body is not a form, too long, or not text.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidRequest(N_("Send the fields as a form does."))
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            raise InvalidRequest(N_("The form is too long. Shorten what you wrote."))
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise InvalidRequest(N_("The form cannot be read. Open the page again.")) from None
    if any("\0" in value for _, value in fields):
        raise InvalidRequest(N_("The form holds a character that is not text."))
    return dict(fields)


FormFields = Annotated[dict[str, str], Depends(read_form)]
"""Fields of a submitted form; its token has not been checked."""


def check_token(box: SecretBox, cookie: str, fields: dict[str, str]) -> None:
    """Check that the form's token matches this cookie. Raises FormRefused."""
    given = fields.get(TOKEN_FIELD, "").encode("utf-8", "surrogatepass")
    if not cookie or not any(hmac.compare_digest(given, token.encode()) for token in _tokens(box, cookie)):
        raise FormRefused


def _tokens(box: SecretBox, cookie: str) -> list[str]:
    """Return the current token first, then those of earlier keys, for pages that are still open."""
    content = cookie.encode("utf-8", "surrogateescape")
    return [hmac.digest(key, content, "sha256").hex() for key in box.keys_for(_PURPOSE)]


def _is_https(request: Request) -> bool:
    return request.url.scheme == "https"
