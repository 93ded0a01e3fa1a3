"""Forms that only our own pages can send: each carries a token made from a cookie of the same browser."""

import hmac
import secrets
from urllib.parse import parse_qsl

from fastapi import Request, Response

from vbdesk.service.kernel.errors import InvalidRequest
from vbdesk.service.kernel.secret_box import SecretBox

TOKEN_FIELD = "form_token"  # noqa: S105  (a field's name, not a secret)

_MAX_FORM_BYTES = 16 * 1024
_MAX_FIELDS = 20
_PURPOSE = "console forms"


class FormRefused(Exception):
    """The form was not sent by a page that this browser has from us, or that page is too old."""


class Cookie:
    """A cookie that neither scripts nor other sites can use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, request: Request) -> str:
        """Its value; empty when there is none."""
        return request.cookies.get(self._name_for(request), "")

    def write(self, request: Request, response: Response, value: str) -> None:
        """Set it until the browser is closed."""
        secure = _is_https(request)
        response.set_cookie(self._name_for(request), value, path="/", secure=secure, httponly=True, samesite="strict")

    def remove(self, request: Request, response: Response) -> None:
        """Forget it."""
        response.delete_cookie(
            self._name_for(request), path="/", secure=_is_https(request), httponly=True, samesite="strict"
        )

    def _name_for(self, request: Request) -> str:
        """Over HTTPS the name itself keeps other hosts of the domain from setting it."""
        return f"__Host-{self._name}" if _is_https(request) else self._name


def new_visit() -> str:
    """The value of a cookie that ties a form to a browser before anyone is signed in."""
    return secrets.token_urlsafe(32)


def form_token(box: SecretBox, cookie: str) -> str:
    """The token of forms on pages for the browser that has this cookie."""
    return _tokens(box, cookie)[0]


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a small form.

    Raises:
        InvalidRequest: not a form, too long, or not text.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidRequest("Send the fields as a form does.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            raise InvalidRequest("The form is too long. Shorten what you wrote.")
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise InvalidRequest("The form cannot be read. Open the page again.") from None
    if any("\0" in value for _, value in fields):
        raise InvalidRequest("The form holds a character that is not text.")
    return dict(fields)


def check_token(box: SecretBox, cookie: str, fields: dict[str, str]) -> None:
    """Make sure that the form came from a page for the browser with this cookie. Raises FormRefused."""
    given = fields.get(TOKEN_FIELD, "").encode("utf-8", "surrogatepass")
    if not cookie or not any(hmac.compare_digest(given, token.encode()) for token in _tokens(box, cookie)):
        raise FormRefused


def _tokens(box: SecretBox, cookie: str) -> list[str]:
    """The token that forms get now, then those of keys before, whose pages may still be open."""
    content = cookie.encode("utf-8", "surrogateescape")
    return [hmac.digest(key, content, "sha256").hex() for key in box.keys_for(_PURPOSE)]


def _is_https(request: Request) -> bool:
    return request.url.scheme == "https"
