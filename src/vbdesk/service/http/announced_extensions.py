"""Headers on every authenticated response that announce what this service adds to the interface.

A client retries a submit after a lost response only if it saw before that keys are kept: a service without idempotency
keys would analyse and charge twice. It sends the fields of the language and `client_ref` only where they are
announced.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.contract.idempotency import CLIENT_REF_FIELD, RETENTION_HEADER, RETENTION_S
from vbdesk.contract.spoken_language import ANNOUNCEMENT_HEADER, LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD

_FIELDS = (LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD, CLIENT_REF_FIELD)
_PROMISES = [
    (RETENTION_HEADER.lower().encode(), str(RETENTION_S).encode()),
    (ANNOUNCEMENT_HEADER.lower().encode(), ", ".join(_FIELDS).encode()),
]


class AnnouncesExtensions:
    """ASGI middleware that adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the guard stores the account of an authenticated one in the request's state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})

        async def send_promising(message: Message) -> None:
            if message["type"] == "http.response.start" and "account" in state:
                message = {**message, "headers": [*message["headers"], *_PROMISES]}
            await send(message)

        await self._app(scope, receive, send_promising)
