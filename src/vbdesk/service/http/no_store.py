"""`Cache-Control: no-store` on all responses: results and account data are health data."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_STORE = "no-store"


class NoStore:
    """ASGI middleware that adds `Cache-Control: no-store` to every response.

    It wraps the whole application, because the framework answers unexpected errors outside its own middleware.
    Responses without personal data carry the header too, so that no new route can be forgotten.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_uncached(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Cache-Control"] = NO_STORE
            await send(message)

        await self._app(scope, receive, send_uncached)
