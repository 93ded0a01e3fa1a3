"""Operations port: metrics and health, for operators only."""

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vbdesk.service.encryption.state import Encryption, EncryptionState
from vbdesk.service.health.readiness import Readiness
from vbdesk.service.health.state_metrics import State, StateCollector, read_state
from vbdesk.service.observability.cached_probe import CachedProbe
from vbdesk.service.ports.context import Context

STATE_GOOD_FOR_S = 5.0
STATE_LIMIT_S = 1.5


def create_ops_app(context: Context, readiness: Readiness) -> Starlette:
    """Create `/metrics`, `/healthz` and `/readyz` for one process."""
    port = _OperationsPort(context, readiness)
    return Starlette(
        routes=[
            Route("/metrics", port.metrics, methods=["GET"]),
            Route("/healthz", healthz, methods=["GET"]),
            Route("/readyz", port.readyz, methods=["GET"]),
        ]
    )


async def healthz(_request: Request) -> Response:
    """Report that the event loop runs. Dependencies are not checked: their failure must not end this process."""
    return JSONResponse({"status": "ok"})


async def readiness_answer(readiness: Readiness, encryption: Encryption) -> Response:
    """Return 200, or 503 with the reasons, and the state of encryption."""
    reasons, state = await asyncio.gather(readiness.reasons(), run_in_threadpool(_state_of, encryption))
    if not reasons:
        return JSONResponse({"status": "ok", "encryption": state})
    shown = [{"check": reason.check, "reason": reason.reason} for reason in reasons]
    return JSONResponse({"status": "not ready", "reasons": shown, "encryption": state}, status_code=503)


def _state_of(encryption: Encryption) -> EncryptionState:
    """Return the encryption state; report completion only when it is certain."""
    try:
        return encryption.state
    except SQLAlchemyError:
        return EncryptionState.UNDER_WAY


class _OperationsPort:
    def __init__(self, context: Context, readiness: Readiness) -> None:
        self._registry = context.metrics.registry
        self._readiness = readiness
        self._encryption = context.encryption
        self._collector = StateCollector(context)
        self._registry.register(self._collector)

        def check() -> State:
            with context.database.reading() as connection:
                return read_state(connection, context.clock.now())

        self._state = CachedProbe(check, good_for_s=STATE_GOOD_FOR_S, limit_s=STATE_LIMIT_S)

    async def metrics(self, _request: Request) -> Response:
        """Return all metrics in Prometheus text format; omit database metrics when the database is late."""
        self._collector.state, reasons = await asyncio.gather(self._state_or_none(), self._readiness.reasons())
        failing = {reason.check for reason in reasons}
        self._collector.failing = {check: check in failing for check in self._readiness.checks}
        body = await run_in_threadpool(generate_latest, self._registry)
        return Response(body, media_type=CONTENT_TYPE_LATEST)

    async def _state_or_none(self) -> State | None:
        try:
            return await self._state.get()
        except Exception:  # database down, slow or being migrated: the process's own metrics are still returned
            return None

    async def readyz(self, _request: Request) -> Response:
        """Report whether the process is ready."""
        return await readiness_answer(self._readiness, self._encryption)
