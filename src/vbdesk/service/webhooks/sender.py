"""Webhook POST to the checked IP address, without redirects or proxies, within a timeout."""

import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import httpcore

from vbdesk.service.kernel.address_guard import AddressGuard

TIMEOUT_S = 10.0


class WebhookSender:
    """Sends deliveries over HTTP."""

    def __init__(self, guard: AddressGuard, timeout_s: float = TIMEOUT_S) -> None:
        self._guard = guard
        self._timeout_s = timeout_s

    def post(self, url: str, body: bytes, headers: Mapping[str, str], account_id: str) -> int:
        """POST `body` for an account and return the HTTP status; the response body is not read.

        Raises:
            AddressNotAllowed: the address is in a private network (by now).
            OSError: no connection.
            httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError: no valid answer in time.
            ValueError: the URL is not usable.
        """
        ends_at = time.monotonic() + self._timeout_s
        backend = _PinnedBackend(self._guard, account_id, ends_at)
        # One pool per delivery: no connection is reused, so every address is checked.
        with (
            httpcore.ConnectionPool(ssl_context=ssl_context(), network_backend=backend) as pool,
            pool.stream("POST", url, headers=list(headers.items()), content=body) as response,
        ):
            return response.status


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the shared context: loading the certificate authorities takes longer than most requests."""
    return httpcore.default_ssl_context()


class _PinnedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks every address, and connects to a checked address.

    TLS verifies the name in the URL, not the IP address.
    """

    def __init__(self, guard: AddressGuard, account_id: str, ends_at: float) -> None:
        self._guard = guard
        self._account_id = account_id
        self._ends_at = ends_at
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers."""
        failure: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for number in self._guard.resolve_blocking(host, port, self._account_id):
            try:
                stream = self._inner.connect_tcp(number, port, _left(self._ends_at), local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failure = error
            else:
                return _TimedStream(stream, self._ends_at)
        raise failure or httpcore.ConnectError(f"{host} has no address.")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """Refuse: webhooks are never sent to a local socket."""
        raise httpcore.UnsupportedProtocol("A webhook cannot be a socket file.")


class _TimedStream(httpcore.NetworkStream):
    """Stream with one timeout for all reads and writes, so that single bytes cannot extend it."""

    def __init__(self, inner: httpcore.NetworkStream, ends_at: float) -> None:
        self._inner = inner
        self._ends_at = ends_at

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read within the remaining time."""
        return self._inner.read(max_bytes, _left(self._ends_at))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write within the remaining time."""
        plain_or_tls: socket.socket = self._inner.get_extra_info("socket")
        rest = memoryview(buffer)
        try:
            while rest:
                plain_or_tls.settimeout(_left(self._ends_at))
                rest = rest[plain_or_tls.send(rest) :]
        except TimeoutError:
            raise httpcore.WriteTimeout("The webhook's time is over.") from None
        except OSError as error:
            raise httpcore.WriteError(str(error)) from None

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Start TLS with the host name of the URL."""
        return _TimedStream(self._inner.start_tls(ssl_context, server_hostname, _left(self._ends_at)), self._ends_at)

    def get_extra_info(self, info: str) -> Any:
        """Return information about the connection."""
        return self._inner.get_extra_info(info)


def _left(ends_at: float) -> float:
    left = ends_at - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("The webhook's time is over.")
    return left
