"""Drain refused bodies, within limits, before the response is sent.

If a server answers and closes while the caller is still sending, the caller's system discards the response: the caller
sees a broken connection instead of the reason.
"""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.contract.limits import MAX_AUDIO_BYTES

_MAX_BODY_BYTES = MAX_AUDIO_BYTES + 1024 * 1024  # the largest form that is not refused for its size
_TIMEOUT_S = 10.0  # for the whole rest of a body
_PAUSE_S = 2.0  # for its next chunk


class DrainRefusedBodies:
    """ASGI middleware. A body that is too long or too slow is not drained; its connection closes after the response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(Headers(scope=scope), receive)

        async def send_when_drained(message: Message) -> None:
            refused = message["type"] == "http.response.start" and message["status"] >= 400
            if refused and not await body.drain():
                message = {**message, "headers": [*message.get("headers", []), (b"connection", b"close")]}
            await send(message)

        await self._app(scope, body.receive, send_when_drained)


class _Body:
    """Body of the request, and how much of it has arrived."""

    def __init__(self, headers: Headers, receive: Receive) -> None:
        announced = headers.get("content-length", "0")
        self._announced = int(announced) if announced.isdigit() else 0
        self._complete = self._announced == 0 and "transfer-encoding" not in headers
        self._waits_for_us = headers.get("expect", "").lower() == "100-continue"
        self._received = 0
        self._receive = receive

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
        else:  # the caller has disconnected
            self._complete = True
        return message

    async def drain(self) -> bool:
        """Read and discard the rest; return whether the end was reached."""
        if self._complete:
            return True
        if self._announced > _MAX_BODY_BYTES or (self._waits_for_us and not self._received):
            return False
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while not self._complete and self._received <= _MAX_BODY_BYTES:
                    async with asyncio.timeout(_PAUSE_S):
                        await self.receive()
        except TimeoutError:
            return False
        return self._complete
