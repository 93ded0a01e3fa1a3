"""Dependencies of the console's routes: the signed-in account and its form."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from vbdesk.service.console.forms import SESSION_COOKIE, check_token, form_token, read_form
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.kernel.errors import RateLimited
from vbdesk.service.ports.identity import Account

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
