"""What the console's routes ask for: who is signed in, and a form of theirs."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from vbdesk.service.console.forms import Cookie, check_token, form_token, read_form
from vbdesk.service.http.guard import CurrentContext
from vbdesk.service.kernel.errors import RateLimited
from vbdesk.service.ports.identity import Account

MAX_REQUESTS_PER_WINDOW = 120
"""What one account may ask of the console within the window; the plan's own limits are for its programs."""

SESSION_COOKIE = Cookie("vbdesk-console")


class SignInNeeded(Exception):
    """Nobody is signed in; `ended` when somebody was."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__()
        self.ended = ended


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of someone who is signed in.

    Attributes:
        account: whose console it is.
        session_token: of the session.
        form_token: for the forms on the answer.
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
"""The fields of a form that a page of this visit has sent."""
