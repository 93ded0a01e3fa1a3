"""API and object store on two ports of one event loop."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any
from urllib.parse import unquote

import uvicorn
from pydantic import IPvAnyNetwork
from starlette.types import ASGIApp, Receive, Scope, Send

from vbdesk.service.http.malformed_requests import protocol_for
from vbdesk.service.http.refused_bodies import DrainRefusedBodies
from vbdesk.service.http.security_headers import NoStore
from vbdesk.service.http.slow_clients import ClientTimeouts

_GRACE_S = 3
_BACKLOG = 512

LOOPBACK = (IPv4Network("127.0.0.1"), IPv6Network("::1"))


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket that is ready to listen; port 0 picks a free port.

    Raises:
        OSError: the port is taken, or the address is not on this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name TCP: asyncio sets TCP_NODELAY, which sends small answers at once, only on sockets with IPPROTO_TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where reuse would share the port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def origin_of(bound: socket.socket) -> str:
    """Return the URL of the socket on this machine."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (compared, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Uvicorn server that does not handle signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def run_servers(
    apps: list[tuple[ASGIApp, socket.socket]],
    stop: asyncio.Event,
    on_ready: Callable[[], None],
    timeouts: ClientTimeouts = ClientTimeouts(),
    trusted_proxies: Sequence[IPvAnyNetwork] = LOOPBACK,
) -> None:
    """Serve every app on its socket until `stop` is set; call `on_ready` once all answer.

    `X-Forwarded-For` and `-Proto` are accepted from `trusted_proxies` only: failed credentials are counted by caller
    address. There is no access log: paths contain group ids, and signed addresses are secrets.
    """
    servers = [_Server(_configuration(app, timeouts, trusted_proxies)) for app, _ in apps]
    running = [asyncio.ensure_future(server.serve([bound])) for server, (_, bound) in zip(servers, apps, strict=True)]
    try:
        while not all(server.started for server in servers):
            _raise_failures(running)
            await asyncio.sleep(0.01)
        on_ready()
        await stop.wait()
    finally:
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)


def _configuration(app: ASGIApp, timeouts: ClientTimeouts, trusted_proxies: Sequence[IPvAnyNetwork]) -> uvicorn.Config:
    return uvicorn.Config(
        NoStore(DrainRefusedBodies(PlainRequestTargets(app))),
        lifespan="off",
        ws="none",
        http=protocol_for(app, timeouts),
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=[str(network) for network in trusted_proxies],
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GRACE_S,
    )


def _raise_failures(running: Sequence[asyncio.Future[None]]) -> None:
    for future in running:
        if future.done():
            future.result()


_ABSOLUTE = re.compile(rb"https?://[^/]*", re.IGNORECASE)


class PlainRequestTargets:
    """ASGI middleware that normalises request targets.

    Callers behind a proxy may send an absolute URL (`GET http://host/path`), which every server must accept. `a%2Fb` in
    a path is one name with a slash, not two names: routes see it as it was sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app({**scope, **_plain(scope["raw_path"])} if scope["type"] == "http" else scope, receive, send)


def _plain(raw_path: bytes) -> dict[str, Any]:
    """Return the scope's fields to change."""
    absolute = _ABSOLUTE.match(raw_path)
    if absolute is None and b"%2f" not in raw_path.lower():
        return {}
    raw_path = raw_path[absolute.end() if absolute else 0 :] or b"/"
    return {"raw_path": raw_path, "path": unquote(re.sub("%2f", "%252F", raw_path.decode("ascii"), flags=re.I))}
