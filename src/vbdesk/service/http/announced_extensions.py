"""The header of every authenticated response that announces which fields this service adds to the interface.

A client sends these fields only where they are announced. It repeats a submit after a lost response only if the
reference of the submission was announced before: another service would analyse and charge twice.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.contract.idempotency import CLIENT_REF_FIELD
from vbdesk.contract.spoken_language import ANNOUNCEMENT_HEADER, LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD

_FIELDS = (LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD, CLIENT_REF_FIELD)
_ANNOUNCEMENT = (ANNOUNCEMENT_HEADER.lower().encode(), ", ".join(_FIELDS).encode())


class AnnouncesExtensions:
    """ASGI middleware that adds the header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the guard stores the account of an authenticated one in the request's state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})

        async def send_announcing(message: Message) -> None:
            if message["type"] == "http.response.start" and "account" in state:
                message = {**message, "headers": [*message["headers"], _ANNOUNCEMENT]}
            await send(message)

        await self._app(scope, receive, send_announcing)
