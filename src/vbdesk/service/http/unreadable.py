"""Requests that are no HTTP, or whose head is too large: refused in the shape of the application's other errors.

The server itself refuses these before there is a request, so no handler of the application can answer them.
"""

import asyncio
import http
from dataclasses import dataclass
from typing import ClassVar

import h11

from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.service.http.dawdlers import CutsOffDawdlers, Patience

UNREADABLE = "The request cannot be read. Send well-formed HTTP with a head of at most 64 KiB."
MAX_HEAD_BYTES = 64 * 1024
"""Of a request's head: its first line, its headers and the empty line behind them."""

_PATIENCE_S = 2.0  # for a caller that still sends


@dataclass(frozen=True, slots=True)
class Refusal:
    """The 400 for what cannot be read; an application that speaks no JSON has its own in `app.state.unreadable`."""

    media_type: str
    body: bytes


_IN_JSON = Refusal("application/json", error_body(ErrorCode.INVALID_REQUEST, UNREADABLE).model_dump_json().encode())


class BoundedHeads(h11.Connection):
    """h11's connection, which by itself holds only heads that have not ended yet to the bound."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the request cannot be read, or its head is longer than allowed.
        """
        before = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if isinstance(event, h11.Request) and before - len(self.trailing_data[0]) > MAX_HEAD_BYTES:
            raise h11.RemoteProtocolError("The head is too long.", error_status_hint=431)
        return event


class RefusesUnreadable(CutsOffDawdlers):
    """uvicorn's protocol with our own refusal, which reaches the caller too.

    Closing while bytes are still unread would make the caller's system throw the answer away. So the connection is
    closed for writing only, and the rest read and dropped until the caller has finished.
    """

    refusal: ClassVar[Refusal] = _IN_JSON
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hold heads to their bound."""
        super().connection_made(transport)
        self.conn = BoundedHeads()

    def data_received(self, data: bytes) -> None:
        """Take bytes in; after a refusal, drop them."""
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        self._refused = True
        body = self.refusal.body
        headers = [
            ("content-type", self.refusal.media_type),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        reason = http.HTTPStatus.BAD_REQUEST.phrase
        for event in (
            h11.Response(status_code=400, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(_PATIENCE_S, self.transport.close)
        else:
            self.transport.close()


def protocol_for(app: object, patience: Patience) -> type[RefusesUnreadable]:
    """The protocol for this application."""
    refusal = getattr(getattr(app, "state", None), "unreadable", None) or _IN_JSON
    return type("ProtocolOfOneApplication", (RefusesUnreadable,), {"refusal": refusal, "patience": patience})
