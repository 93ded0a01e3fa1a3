"""Callers that hold a connection and hardly send anything are cut off; slow ones that do send are not.

The server itself waits for a request for ever: a few hundred callers who send a byte now and then would take every
connection it can have.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """How long is waited for a caller.

    Attributes:
        head_s: for the whole head of a request, from its first byte; of the first one, from the connection.
        body_bytes: that must come within `body_s`, as long as there is more to come: 1 KiB/s, an eighth of what the
            slowest mobile networks carry.
        look_every_s: how often a connection is looked at.
    """

    head_s: float = 20.0
    body_s: float = 30.0
    body_bytes: int = 30 * 1024
    look_every_s: float = 5.0


class CutsOffSlowClients(H11Protocol):
    """uvicorn's protocol that ends slow connections."""

    timeouts: ClassVar[ClientTimeouts] = ClientTimeouts()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._head_since: float | None = time.monotonic()
        self._body_since: float | None = None
        self._received = 0
        self._watch = self.loop.call_later(self.timeouts.look_every_s, self._look)

    def data_received(self, data: bytes) -> None:
        """Note what came."""
        if self._head_since is None and self.conn.their_state is h11.IDLE:
            self._head_since = time.monotonic()
        self._received += len(data)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        now = time.monotonic()
        if self._head_is_late(now) or self._body_is_late(now):
            self.transport.close()  # the application sees a caller that has gone
            return
        self._watch = self.loop.call_later(self.timeouts.look_every_s, self._look)

    def _head_is_late(self, now: float) -> bool:
        return self._head_since is not None and now - self._head_since > self.timeouts.head_s

    def _body_is_late(self, now: float) -> bool:
        if self.conn.their_state is not h11.SEND_BODY or self.flow.read_paused:  # nothing to come, or not asked for
            self._body_since = None
            return False
        if self._body_since is None:
            self._body_since, self._received = now, 0
            return False
        if now - self._body_since < self.timeouts.body_s:
            return False
        late = self._received < self.timeouts.body_bytes
        self._body_since, self._received = now, 0
        return late
