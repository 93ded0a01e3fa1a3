"""The promise on every authenticated answer that idempotency keys are honoured, and for how long.

A caller whose answer was lost repeats a submit only where it has seen this promise before it asked: a service that does
not know keys would analyse and charge twice.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.contract.idempotency import RETENTION_HEADER, RETENTION_S

_PROMISE = (RETENTION_HEADER.lower().encode(), str(RETENTION_S).encode())


class AnnouncesIdempotency:
    """Wraps an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the guard notes the account of an authenticated one in the request's state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})

        async def send_promising(message: Message) -> None:
            if message["type"] == "http.response.start" and "account" in state:
                message = {**message, "headers": [*message["headers"], _PROMISE]}
            await send(message)

        await self._app(scope, receive, send_promising)
