"""Requests that are no HTTP, or whose head is too large: refused in the shape of every other error.

The server itself refuses these before there is a request, so no handler of the application can answer them.
"""

import http

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from vbdesk.contract.errors import ErrorCode, error_body

_MESSAGE = "The request cannot be read. Send well-formed HTTP with headers of less than 64 kB."
_PATIENCE_S = 2.0  # for a caller that still sends


class RefusesUnreadable(H11Protocol):
    """uvicorn's protocol with our own refusal, which reaches the caller too.

    Closing while bytes are still unread would make the caller's system throw the answer away. So the connection is
    closed for writing only, and the rest read and dropped until the caller has finished.
    """

    _refused = False

    def data_received(self, data: bytes) -> None:
        """Take bytes in; after a refusal, drop them."""
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        self._refused = True
        body = error_body(ErrorCode.INVALID_REQUEST, _MESSAGE).model_dump_json().encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
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
