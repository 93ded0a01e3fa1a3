"""The API as one ASGI application."""

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from vbdesk.contract.errors import ErrorCode
from vbdesk.service.catalog.routes import router as catalog_router
from vbdesk.service.console.app import console_routes
from vbdesk.service.credits.routes import router as credits_router
from vbdesk.service.groups import analyze_routes
from vbdesk.service.groups import routes as groups_routes
from vbdesk.service.health import operations_app
from vbdesk.service.health.readiness import api_readiness
from vbdesk.service.http.announced_extensions import AnnouncesExtensions
from vbdesk.service.http.cors import api_with_cors
from vbdesk.service.http.docs_page import reference_routes
from vbdesk.service.http.error_responses import install_error_handlers
from vbdesk.service.http.openapi_document import INTERFACE_VERSION, complete
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.http.route_building import build_routes
from vbdesk.service.jobs import routes as jobs_routes
from vbdesk.service.legacy import earlier_routes, v1_routes
from vbdesk.service.observability.request_metrics import MeasureRequests
from vbdesk.service.observability.tracing import TraceRequests
from vbdesk.service.ports.context import Context
from vbdesk.service.uploads.routes import router as uploads_router
from vbdesk.service.webhooks import routes as webhooks_routes

_EVERYWHERE = (
    ErrorCode.UNAUTHORIZED,
    ErrorCode.VALIDATION_ERROR,
    ErrorCode.RATE_LIMIT_EXCEEDED,
    ErrorCode.PROCESSING_ERROR,
)
"""Errors that any route may return; others are declared at the routes."""

_health = APIRouter(include_in_schema=False)

ROUTERS: tuple[APIRouter, ...] = (
    *jobs_routes.ROUTERS,  # first: routers are tried in order, and these get most requests
    analyze_routes.router,
    _health,
    catalog_router,
    credits_router,
    uploads_router,
    *groups_routes.ROUTERS,
    *webhooks_routes.ROUTERS,
    *earlier_routes.ROUTERS,
    *v1_routes.ROUTERS,
)


def _api_routes() -> Iterator[APIRoute]:
    for router in ROUTERS:
        yield from (route for route in router.routes if isinstance(route, APIRoute))


class Api(FastAPI):
    """FastAPI application with a complete OpenAPI description.

    Attributes:
        cors_origins: origins whose pages may call the API.
    """

    cors_origins: tuple[str, ...] = ()

    def build_middleware_stack(self) -> ASGIApp:
        """Build the middleware stack; CORS wraps FastAPI's handler of unexpected errors."""
        stack = super().build_middleware_stack()
        return api_with_cors(stack, self.cors_origins) if self.cors_origins else stack

    def openapi(self) -> dict[str, Any]:
        """Return the description; it is built once."""
        if self.openapi_schema is None:
            self.openapi_schema = complete(super().openapi(), _api_routes())
        return self.openapi_schema


def _operation_id(route: APIRoute) -> str:
    return f"v1_{route.name}" if route.path.startswith("/api/v1/") else route.name


def included_routers() -> APIRouter:
    """Create a router with all routes of the API, none of which is built yet."""
    api = APIRouter(responses=refusals(*_EVERYWHERE), generate_unique_id_function=_operation_id)
    for router in ROUTERS:
        api.include_router(router)
    return api


_API = included_routers()
"""Shared by all applications of this process: the routes know no backend, and take 60 ms to build."""


def described_app() -> Api:
    """Create the API's routes without a backend, for their description only."""
    app = Api(
        title="Voice Biomarker Analysis Service",
        version=INTERFACE_VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=_API.routes,
    )
    install_error_handlers(app)
    return app


def create_app(context: Context) -> Api:
    """Create the API application."""
    app = described_app()
    app.cors_origins = context.settings.cors_origins
    app.state.context = context
    app.state.readiness = api_readiness(context)
    app.router.routes.extend([*console_routes(context), *reference_routes(app)])
    app.add_middleware(AnnouncesExtensions)
    app.add_middleware(MeasureRequests, metrics=context.metrics)
    if context.tracing.on:
        app.add_middleware(TraceRequests, tracer=context.tracing.tracer)
    build_routes(app)
    return app


@_health.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz(request: Request) -> Response:
    """Whether the process answers."""
    return await operations_app.healthz(request)


@_health.api_route("/readyz", methods=["GET", "HEAD"])
async def readyz(request: Request) -> Response:
    """Whether requests can be served, and if not, why."""
    return await operations_app.readiness_answer(request.app.state.readiness, request.app.state.context.encryption)
