"""Error responses for malformed HTTP and oversized headers, in the application's format.

The server refuses these before there is a request, so no handler of the application can answer them.
"""

import asyncio
import http
import re
from dataclasses import dataclass
from typing import ClassVar

import h11
from h11._receivebuffer import ReceiveBuffer

from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.service.http.security_headers import NO_STORE
from vbdesk.service.http.slow_clients import ClientTimeouts, CutsOffSlowClients

UNREADABLE = "The request cannot be read. Send well-formed HTTP with a head of at most 64 KiB."
MAX_HEAD_BYTES = 64 * 1024
"""Limit for a request's head: request line, headers and the empty line."""

_TIMEOUT_S = 2.0  # for a caller that is still sending


@dataclass(frozen=True, slots=True)
class MalformedRequestAnswer:
    """The 400 response; an application that does not use JSON sets its own in `app.state.unreadable`."""

    media_type: str
    body: bytes


_IN_JSON = MalformedRequestAnswer(
    "application/json", error_body(ErrorCode.INVALID_REQUEST, UNREADABLE).model_dump_json().encode()
)


MAX_CHUNK_EXTENSION_BYTES = 16 * 1024
"""Limit for all chunk extensions in one body. They are unused, and cost time without counting as body."""

_FOREIGN_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")
_FOLDED_LINE = re.compile(rb"\n[ \t]")


class StrictLines(ReceiveBuffer):
    """h11 buffer that accepts only CR LF as line end.

    h11 also accepts a bare LF, and treats a line that begins with a space as a continuation. A proxy in front may read
    either differently and then sees other requests than this service (request smuggling).

    WORKAROUND: h11 0.16 has no setting for this, so its own class is extended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._extension_bytes = 0

    def begin_message(self) -> None:
        """Reset the count of chunk extensions."""
        self._extension_bytes = 0

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to the next empty line: a head, or the trailers of a body. Raises LocalProtocolError."""
        before = bytes(self._data)
        lines = super().maybe_extract_lines()
        if lines is not None:
            taken = before[: len(before) - len(self._data)]
            if _FOREIGN_LINE_END.search(taken) or _FOLDED_LINE.search(taken):
                raise h11.LocalProtocolError("A line is folded, or does not end with CR LF.")
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """Return the next line: the size of a chunk, and its extensions. Raises LocalProtocolError."""
        line = super().maybe_extract_next_line()
        if line is not None:
            self._extension_bytes += len(line.partition(b";")[2])
            if self._extension_bytes > MAX_CHUNK_EXTENSION_BYTES:
                raise h11.LocalProtocolError("The chunk extensions are too long.")
        return line


class StrictRequests(h11.Connection):
    """h11 connection that refuses two body lengths and other requests that servers read differently.

    h11 itself limits only heads that are incomplete.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self._receive_buffer: StrictLines = StrictLines()

    def start_next_cycle(self) -> None:
        """Begin the next request of the connection."""
        super().start_next_cycle()
        self._receive_buffer.begin_message()

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: the request is malformed, or its head is too long.
        """
        before = len(self._receive_buffer) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if isinstance(event, h11.Request):
            if before - len(self._receive_buffer) > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("The head is too long.", error_status_hint=431)
            _require_one_length(event)
        return event


def _require_one_length(request: h11.Request) -> None:
    """Check that the body's length is given in one way only. Raises RemoteProtocolError."""
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version < b"1.1"):
        raise h11.RemoteProtocolError("The length of the body is ambiguous.")


class RefusesMalformedRequests(CutsOffSlowClients):
    """uvicorn protocol with our own 400 response, which reliably reaches the caller.

    If the connection closes with unread bytes, the caller's system discards the response. So only the write side is
    closed; the rest of the request is read and discarded until the caller has finished.
    """

    refusal: ClassVar[MalformedRequestAnswer] = _IN_JSON
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Install the strict parser."""
        super().connection_made(transport)
        self.conn = StrictRequests()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; after a refusal, discard them."""
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request. A running application sees a disconnect."""
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # a response has already started
            self.transport.close()
            return
        body = self.refusal.body
        headers = [
            ("content-type", self.refusal.media_type),
            ("content-length", str(len(body))),
            ("cache-control", NO_STORE),
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
            self.loop.call_later(_TIMEOUT_S, self.transport.close)
        else:
            self.transport.close()


def protocol_for(app: object, timeouts: ClientTimeouts) -> type[RefusesMalformedRequests]:
    """Create the protocol class for this application."""
    refusal = getattr(getattr(app, "state", None), "unreadable", None) or _IN_JSON
    return type("ProtocolOfOneApplication", (RefusesMalformedRequests,), {"refusal": refusal, "timeouts": timeouts})
