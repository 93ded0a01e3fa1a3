"""Traces: where spans go, how a job carries its trace from the submit to the run, and what they never tell.

Without a collector a tracer does nothing. Spans name routes, stages, states and ids of jobs: no path, no group, no
account, no message of an error.
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
    """Traces are asked for, but what sends them is not installed; one sentence for the operator."""


class Tracing:
    """The spans of this process on their way to a collector: sent in the background, dropped when it is away.

    Attributes:
        tracer: begins spans; does nothing by default.
        on: whether spans go anywhere.
    """

    def __init__(self, tracer: Tracer | None = None, stop: Callable[[], None] | None = None) -> None:
        self.tracer: Tracer = tracer or NoOpTracer()
        self.on = tracer is not None
        self._stop = stop

    def close(self) -> None:
        """Send what is left, within a bound; the rest is dropped."""
        if self._stop is not None:
            last = threading.Thread(target=self._stop, name="vbdesk-last-spans", daemon=True)
            last.start()
            last.join(STOP_WAIT_S)


def open_tracing(settings: Settings) -> Tracing:
    """Traces to `otlp_endpoint`, or to where the standard `OTEL_*` environment says; to nowhere without either.

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
            "Traces need more libraries. Install vbdesk[telemetry] or leave out otlp_endpoint."
        ) from None
    # Of a collector that is away one word a batch would be too many; dropped spans are no fault of the service.
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
    """A span around the block. Of an exception it tells the kind alone: messages may show values.

    Args:
        tracer: where it goes.
        name: what is done.
        parent: context that it continues; None is the span around it.
        kind: its part in the trace.
        attributes: nothing personal.
        start_ns: when it began, in nanoseconds since 1970, if that was not now.
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
    """The W3C trace context of the present span, to be kept with a job; None when nothing is traced."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get(_HEADER)


def continued(parent: str | None) -> TraceContext:
    """The context of a trace that began elsewhere; a new one for None."""
    return _PROPAGATOR.extract({_HEADER: parent} if parent else {}, TraceContext())


def trace_id() -> str | None:
    """The id of the present trace, as people look for it; None when nothing is traced."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


class TraceRequests:
    """Wraps an application: each request begins a trace of its own. What callers say of theirs is not trusted.

    Polls of a job begin none: they are many and all alike, a span costs a third of one, and metrics tell their time.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
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
