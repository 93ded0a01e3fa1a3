"""Console responses: HTML pages from templates in the reader's language, and redirects."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment

from vbdesk.language import Language, available_languages, current, formats, markup
from vbdesk.service.console.forms import SESSION_COOKIE, check_token, form_token, read_form
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.http.templates import templates_in
from vbdesk.service.kernel.errors import RateLimited
from vbdesk.service.ports.identity import Account

HOME = "/console"


@cache
def _templates() -> Environment:
    environment = templates_in("console", "templates")
    environment.filters |= {"moment": formats.day_and_time, "day": formats.day, "number": formats.number}
    environment.globals |= markup.FUNCTIONS
    environment.globals |= {"home": HOME, "offered_languages": _offered_languages()}
    return environment


@cache
def _offered_languages() -> list[Language]:
    """Languages to choose from, by their own names."""
    offered = [Language(name, name) for name in available_languages()]
    return sorted(offered, key=lambda language: language.own_name)


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render the template with these values, in the reader's language; all values are escaped."""
    language = current()
    text = _templates().get_template(template).render(values | {"language": language})
    return HTMLResponse(text, status, {"Content-Language": language.tag, "Vary": "Accept-Language, Cookie"})


def go_to(path: str = "", notice: str | None = None) -> RedirectResponse:
    """Redirect to a console page, which shows the notice of that name."""
    return RedirectResponse(f"{HOME}{path}" + (f"?notice={notice}" if notice else ""), 303)


MAX_REQUESTS_PER_WINDOW = 120
"""Console requests that one account may make per window. The plan's limits apply to API calls only."""


class SignInNeeded(Exception):
    """Nobody is signed in; `ended` when a session has ended."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__()
        self.ended = ended


@dataclass(frozen=True, slots=True)
class Visit:
    """Request of a signed-in account.

    Attributes:
        account: the signed-in account.
        session_token: token of the session.
        form_token: token for the forms on the response.
    """

    account: Account
    session_token: str
    form_token: str


def _signed_in(request: Request, context: CurrentContext) -> Visit:
    token = SESSION_COOKIE.read(request)
    session = context.session_uses.use(token)
    if session is None:
        raise SignInNeeded(ended=bool(token))
    account_id = session.account.account_id
    retry_after_s = context.rates.hit(account_id, "console", MAX_REQUESTS_PER_WINDOW, context.clock.now())
    if retry_after_s:
        raise RateLimited(retry_after_s)
    return Visit(session.account, token, form_token(context.secrets, token))


CurrentVisit = Annotated[Visit, Depends(_signed_in)]


async def _own_form(request: Request, context: CurrentContext, visit: CurrentVisit) -> dict[str, str]:
    fields = await read_form(request)
    check_token(context.secrets, visit.session_token, fields)
    return fields


OwnForm = Annotated[dict[str, str], Depends(_own_form)]
"""Fields of a submitted form; its token has been checked."""
