"""Traces: where spans are sent, how a job keeps its trace, and what spans leave out.

Without a collector a tracer does nothing. Spans contain routes, stages, states and job ids, but no paths, groups,
accounts or error messages.
"""

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.context import Context as TraceContext
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbdesk.language import N_
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.observability.request_metrics import route_of

NAME = "vbdesk"
EXPORT_TIMEOUT_S = 5.0
STOP_WAIT_S = 2.0
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_HEADER = "traceparent"
_POLLED = re.compile(r"/(?:v2|api/v1/account)/jobs/[^/]+")
_PROPAGATOR = TraceContextTextMapPropagator()


class TracingMissing(Exception):
    """Tracing is configured, but its libraries are not installed; one sentence for the operator."""


class Tracing:
    """Sends this process's spans to a collector in the background; drops them when it is unreachable.

    Attributes:
        tracer: begins spans; does nothing by default.
        on: whether spans are sent.
    """

    def __init__(self, tracer: Tracer | None = None, stop: Callable[[], None] | None = None) -> None:
        self.tracer: Tracer = tracer or NoOpTracer()
        self.on = tracer is not None
        self._stop = stop

    def close(self) -> None:
        """Send remaining spans within `STOP_WAIT_S`; drop the rest."""
        if self._stop is not None:
            last = threading.Thread(target=self._stop, name="vbdesk-last-spans", daemon=True)
            last.start()
            last.join(STOP_WAIT_S)


def open_tracing(settings: Settings) -> Tracing:
    """Trace to `otlp_endpoint` or to the address in `OTEL_*`; without either, trace nothing.

    Raises:
        TracingMissing: the extra `telemetry` is not installed.
    """
    if settings.otlp_endpoint is None and not any(os.environ.get(name) for name in _ENDPOINTS):
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise TracingMissing(
            N_("Traces need more libraries. Install vbdesk[telemetry] or leave out otlp_endpoint.")
        ) from None
    # An unreachable collector would log one line per batch; dropped spans are not an error of the service.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    endpoint = settings.otlp_endpoint and f"{settings.otlp_endpoint.rstrip('/')}/v1/traces"
    resource = Resource.create(
        {"service.name": os.environ.get("OTEL_SERVICE_NAME", NAME), "service.version": version(NAME)}
    )
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=EXPORT_TIMEOUT_S)))
    return Tracing(provider.get_tracer(NAME, version(NAME)), provider.shutdown)


@contextmanager
def traced(
    tracer: Tracer,
    name: str,
    *,
    parent: TraceContext | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, str | int | float | bool] | None = None,
    start_ns: int | None = None,
) -> Iterator[Span]:
    """Run the block in a span. It records only the type of an exception: messages may contain values.

    Args:
        tracer: creates the span.
        name: the operation.
        parent: context that the span continues; None is the current span.
        kind: its part in the trace.
        attributes: nothing personal.
        start_ns: start time in nanoseconds since 1970; None is now.
    """
    span = tracer.start_as_current_span(
        name,
        parent,
        kind,
        attributes,
        start_time=start_ns,
        record_exception=False,
        set_status_on_exception=False,
    )
    with span as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def trace_parent() -> str | None:
    """Return the W3C trace context of the current span, to store with a job; None without a trace."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get(_HEADER)


def continued(parent: str | None) -> TraceContext:
    """Return the context of a trace that began elsewhere; a new one for None."""
    return _PROPAGATOR.extract({_HEADER: parent} if parent else {}, TraceContext())


def trace_id() -> str | None:
    """Return the id of the current trace in its usual form; None without a trace."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


class TraceRequests:
    """Wraps an application: each request begins a trace. Trace headers of callers are not trusted.

    Polls of a job are not traced: they are many and alike, and a span would cost a third of one. Metrics measure their
    time.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or (scope["method"] == "GET" and _POLLED.fullmatch(scope["path"])):
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        with traced(self._tracer, method, parent=TraceContext(), kind=SpanKind.SERVER) as span:

            async def send_noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            try:
                await self._app(scope, receive, send_noting)
            finally:
                route = route_of(scope)
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.request.method": method, "http.route": route})
