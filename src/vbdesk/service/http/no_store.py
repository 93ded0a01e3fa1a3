"""No cache keeps an answer: results and account data are health data."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_STORE = "no-store"


class NoStore:
    """Wraps an application and puts `Cache-Control: no-store` on every answer.

    It wraps the whole application: the framework answers crashes outside of the application's own middleware. All
    answers carry the header, also those without personal data, so that a new route cannot be forgotten.
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
