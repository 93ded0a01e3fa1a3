"""Header on every authenticated response that announces idempotency keys and their lifetime.

A client retries a submit after a lost response only if it saw this header before: a service without idempotency keys
would analyse and charge twice.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.contract.idempotency import RETENTION_HEADER, RETENTION_S

_PROMISE = (RETENTION_HEADER.lower().encode(), str(RETENTION_S).encode())


class AnnouncesIdempotency:
    """ASGI middleware that adds the header."""

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
                message = {**message, "headers": [*message["headers"], _PROMISE]}
            await send(message)

        await self._app(scope, receive, send_promising)
