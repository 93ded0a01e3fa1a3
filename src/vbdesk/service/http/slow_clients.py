"""Timeouts for clients that hold a connection and send almost nothing.

The server itself waits for a request without a limit: a few hundred clients that send single bytes could take all its
connections. Clients on slow networks are not affected.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """Timeouts for a client.

    Attributes:
        head_s: for the whole head of a request, from its first byte; for the first request, from the connection.
        body_bytes: minimum received within `body_s` while the body is incomplete: 1 KiB/s, an eighth of the rate of the
            slowest mobile networks.
        check_interval_s: interval between checks of a connection.
    """

    head_s: float = 20.0
    body_s: float = 30.0
    body_bytes: int = 30 * 1024
    check_interval_s: float = 5.0


class CutsOffSlowClients(H11Protocol):
    """uvicorn protocol with client timeouts."""

    timeouts: ClassVar[ClientTimeouts] = ClientTimeouts()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout checks."""
        super().connection_made(transport)
        self._head_since: float | None = time.monotonic()
        self._body_since: float | None = None
        self._received = 0
        self._watch = self.loop.call_later(self.timeouts.check_interval_s, self._check)

    def data_received(self, data: bytes) -> None:
        """Count received bytes."""
        if self._head_since is None and self.conn.their_state is h11.IDLE:
            self._head_since = time.monotonic()
        self._received += len(data)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout checks."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _check(self) -> None:
        now = time.monotonic()
        if self._head_is_late(now) or self._body_is_late(now):
            self.transport.close()  # the application sees a disconnect
            return
        self._watch = self.loop.call_later(self.timeouts.check_interval_s, self._check)

    def _head_is_late(self, now: float) -> bool:
        return self._head_since is not None and now - self._head_since > self.timeouts.head_s

    def _body_is_late(self, now: float) -> bool:
        if self.conn.their_state is not h11.SEND_BODY or self.flow.read_paused:  # body complete or not being read
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
