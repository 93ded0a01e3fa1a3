"""Request counts and times by route pattern, since a path may name a person."""

import time
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.service.observability.metrics import Metrics

UNKNOWN = "unknown"
REFUSED = "vbdesk.refused"
"""Key of the request's scope with the error code of its refusal."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MeasureRequests:
    """Wraps an application to count and time its requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._instruments: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}  # a look-up is expensive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; one without a response counts as status 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, send_noting)
        finally:
            requests, seconds = self._instruments_for(route_of(scope), scope["method"], status // 100)
            requests.inc()
            if REFUSED in scope:
                self._metrics.refusals.labels(str(scope[REFUSED])).inc()
            seconds.observe(time.perf_counter() - began)

    def _instruments_for(self, route: str, method: str, hundreds: int) -> tuple[Counter, Histogram]:
        method = method if method in _METHODS else "other"
        found = self._instruments.get((route, method, hundreds))
        if found is None:
            metrics = self._metrics
            found = (
                metrics.requests.labels(route, method, f"{hundreds}xx"),
                metrics.request_seconds.labels(route, method),
            )
            self._instruments[route, method, hundreds] = found
        return found


def route_of(scope: Scope) -> str:
    """Return the pattern of the matched route, or one word for all unmatched requests."""
    route: Any = scope.get("route")
    return getattr(route, "path", UNKNOWN)
