"""A job as its traces and metrics tell it: one trace from submit to webhook, and nothing of whom it is about."""

import gzip
import http.server
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_trace_id
from served import Served, wait_for_end
from worker_tasks import analyse_in_stages, nothing_to_prepare

from patience import HANGS_S, until
from vbdesk.service.composition.app import create_app
from vbdesk.service.engine.job_runner import JobRunner
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.kernel.db.tables import credit_balances
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.observability.tracing import Tracing, TracingMissing, open_tracing
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker

GROUP = "anna-meier-1961"
SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"
FOREIGN = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def observed(start_service: Callable[..., Any], serve_app: Callable[..., str], exported: InMemorySpanExporter) -> Any:
    """A traced service, with one account's client."""
    service = start_service(allow_private_addresses=True)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exported))
    context = replace(service.context, tracing=Tracing(provider.get_tracer("test")))
    service.context, service.base_url = context, serve_app(create_app(context))
    return service


class Postbox:
    """Takes every delivery."""

    def post(self, _url: str, _body: bytes, _headers: Any, _account_id: str) -> int:
        return 204


def submit_run_and_deliver(service: Any) -> str:
    client = service.client(service.add_account())
    answer = client.post(
        f"/v2/models/pulse/groups/{GROUP}/analyze",
        files={
            "audio": (f"{GROUP}.flac", SPEECH.read_bytes(), "audio/flac"),
            "webhook_url": (None, "http://127.0.0.1:9/hook?token=quokka"),
            "webhook_secret_key": (None, "zebra"),
        },
        headers={"traceparent": f"00-{FOREIGN}-00f067aa0ba902b7-01", "tracestate": "vendor=anna"},
    )
    job_id: str = answer.raise_for_status().json()["job_id"]
    runner = JobRunner(service.context, SlotPool(1, nothing_to_prepare), analyse_in_stages, "worker-1")
    runner.run(job_id)
    runner.stop()
    context = service.context
    delivery_worker = DeliveryWorker(
        context.database, context.clock, context.secrets, Postbox(), context.metrics, context.tracing
    )
    assert delivery_worker.deliver_due() == 1
    delivery_worker.finish()
    return job_id


def test_one_trace_goes_from_the_submit_to_the_webhook(observed: Any, exported: InMemorySpanExporter):
    job_id = submit_run_and_deliver(observed)
    (submit,) = ended(exported, "POST /v2/models/{model_name}/groups/{group_id}/analyze")
    spans = exported.get_finished_spans()
    trace = [span for span in spans if span.context.trace_id == submit.context.trace_id]
    names = Counter(span.name for span in trace)
    assert names == Counter(
        [submit.name, "inspect", "job", "fetch", "analyse", "decode", "features", "settle", "webhook"]
    )
    by_name = {span.name: span for span in trace}
    parents = {name: parent_name(span, trace) for name, span in by_name.items()}
    assert parents["job"] == parents["webhook"] == submit.name
    assert parents["decode"] == parents["features"] == "analyse"
    assert parents["fetch"] == parents["analyse"] == parents["settle"] == "job"
    assert by_name["job"].attributes["vbdesk.job_id"] == job_id
    assert by_name["features"].end_time - by_name["features"].start_time == 250_000_000


def test_what_callers_say_of_their_traces_is_not_trusted(observed: Any, exported: InMemorySpanExporter):
    observed.client(observed.add_account()).get(
        "/v2/jobs", headers={"traceparent": f"00-{FOREIGN}-00f067aa0ba902b7-01"}
    )
    (span,) = ended(exported, "GET /v2/jobs")
    assert span.parent is None
    assert format_trace_id(span.context.trace_id) != FOREIGN


def test_polls_begin_no_trace(observed: Any, exported: InMemorySpanExporter):
    client = observed.client(observed.add_account())
    for path in ("/v2/jobs/some-id", "/v2/jobs"):
        client.get(path)
    assert ended(exported, "GET /v2/jobs")
    assert len(exported.get_finished_spans()) == 1


def test_spans_tell_nothing_personal(observed: Any, exported: InMemorySpanExporter):
    submit_run_and_deliver(observed)
    client = observed.client(observed.add_account())
    client.get(f"/v2/groups/{GROUP}/trajectory?page={GROUP}")
    client.get(f"/nowhere/{GROUP}")
    observed.context.storage.adopt = lambda *_: 1 / 0
    files = {"audio": (f"{GROUP}.flac", SPEECH.read_bytes(), "audio/flac")}
    assert client.post(f"/v2/models/pulse/groups/{GROUP}/analyze", files=files).status_code == 500
    assert len(ended(exported, "POST /v2/models/{model_name}/groups/{group_id}/analyze", 2)) == 2
    told = " ".join(span.to_json() for span in exported.get_finished_spans())
    account = client.headers["X-Account-ID"]
    needles = [GROUP, "anna", "quokka", "zebra", "127.0.0.1", account, client.headers["X-API-Key"], "division"]
    assert [needle for needle in needles if needle in told] == []
    assert "ZeroDivisionError" in told


def test_a_run_is_counted_and_its_stages_timed(observed: Any):
    submit_run_and_deliver(observed)
    registry = observed.context.metrics.registry
    for sample, labels, value in (
        ("vbdesk_jobs_accepted_total", {}, 1),
        ("vbdesk_job_starts_total", {}, 1),
        ("vbdesk_jobs_ended_total", {"status": "done"}, 1),
        ("vbdesk_job_wait_seconds_count", {}, 1),
        ("vbdesk_job_stage_seconds_sum", {"stage": "features"}, 0.25),
        ("vbdesk_job_stage_seconds_count", {"stage": "fetch"}, 1),
        ("vbdesk_job_stage_seconds_count", {"stage": "settle"}, 1),
        ("vbdesk_analysed_audio_seconds_total", {}, 20.5),
        ("vbdesk_jobs_under_way", {}, 0),
        ("vbdesk_webhook_attempts_total", {"outcome": "sent"}, 1),
        ("vbdesk_inspections_total", {"outcome": "accepted"}, 1),
        ("vbdesk_store_operation_seconds_count", {"operation": "adopt"}, 2),  # the store's id, and the recording
    ):
        assert registry.get_sample_value(sample, labels) == value, sample
    held = registry.get_sample_value("vbdesk_credits_moved_total", {"kind": "hold"})
    assert held == registry.get_sample_value("vbdesk_credits_moved_total", {"kind": "capture"}) > 0


class NoRuns:
    """An engine that has nothing to do."""

    def recover(self, _live: Any, _forgotten: Any) -> int:
        return 0

    def purge(self, _keep: Any) -> int:
        return 0


def test_the_one_who_sweeps_tells_so_and_adds_up_the_ledger(observed: Any):
    submit_run_and_deliver(observed)
    sweeper, metrics = Sweeper(observed.context, NoRuns()), observed.context.metrics
    assert sweeper.sweep()
    sweeper.tidy()
    assert metrics.registry.get_sample_value("vbdesk_sweep_held") == 1
    assert metrics.ledger.mismatch == 0
    assert metrics.ledger.moved["hold"] == metrics.ledger.moved["capture"] > 0
    with observed.context.database.writing() as connection:
        connection.execute(sa.update(credit_balances).values(credits=credit_balances.c.credits + 3))
    sweeper.tidy()
    assert metrics.ledger.mismatch == 3
    assert not Sweeper(observed.context, NoRuns()).sweep()
    assert metrics.ledger is None


def test_traces_without_their_libraries_are_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(TracingMissing, match="vbdesk\\[telemetry\\]"):
        open_tracing(load_settings(tmp_path, otlp_endpoint="http://127.0.0.1:1"))


DEAD_COLLECTOR = """
import sys
from pathlib import Path
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.observability.tracing import open_tracing
tracing = open_tracing(load_settings(Path(sys.argv[1]), otlp_endpoint="http://127.0.0.1:9"))
for _ in range(3000):  # more than the queue takes
    tracing.tracer.start_span("span").end()
tracing.close()
"""


def test_a_dead_collector_holds_nothing_up(tmp_path: Path):
    """In a process of its own: its last spans are sent until it ends, through the proxy of a later test too."""
    subprocess.run([sys.executable, "-c", DEAD_COLLECTOR, str(tmp_path)], check=True, timeout=HANGS_S)


def test_one_trace_goes_through_two_processes_to_a_collector(tmp_path: Path, collector: "Collector"):
    """The API takes a job and ends; another process runs it."""
    submitting = Served(tmp_path, workers=0, otlp_endpoint=collector.url)
    submitting.start()
    submitting.make_account(1000)
    with submitting.client() as client:
        files = {"audio": ("take.flac", SPEECH.read_bytes(), "audio/flac")}
        job_id = client.post("/v2/signs/stress/analyze", files=files).raise_for_status().json()["job_id"]
    assert submitting.stop() == 0
    running = Served(tmp_path, workers=1, otlp_endpoint=collector.url)
    running.headers = submitting.headers
    running.start()
    with running.client() as client:
        wait_for_end(client, job_id)
    assert running.stop() == 0
    spans = collector.spans()
    (submit,) = [span for span in spans if span.name == "POST /v2/signs/{sign_name}/analyze"]
    names = {span.name for span in spans if span.trace_id == submit.trace_id}
    assert {"job", "fetch", "analyse", "decode", "activity", "quality", "features", "scoring", "settle"} <= names


def ended(exported: InMemorySpanExporter, name: str, count: int = 1) -> list[ReadableSpan]:
    """Spans of that name; a request's ends a little later than its answer comes."""

    def found() -> list[ReadableSpan]:
        return [span for span in exported.get_finished_spans() if span.name == name]

    until(lambda: len(found()) >= count, f"{count} spans {name}")
    return found()


def parent_name(span: ReadableSpan, spans: Any) -> str | None:
    found = [other.name for other in spans if span.parent and other.context.span_id == span.parent.span_id]
    return found[0] if found else None


@dataclass
class Collector:
    """Takes traces by OTLP over HTTP."""

    url: str
    bodies: list[bytes]

    def spans(self) -> list[Any]:
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    bodies: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield Collector(f"http://127.0.0.1:{server.server_port}", bodies)
    server.shutdown()
    thread.join()
    server.server_close()
