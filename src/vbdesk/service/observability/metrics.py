"""The service's metrics: one registry per process, no labels that name accounts or people."""

import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.jobs import TERMINAL_STATUSES
from vbdesk.contract.limits import Bucket
from vbdesk.service.kernel.db import events
from vbdesk.service.kernel.db.tables import Ledger

REQUEST_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
STAGE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0)
WAIT_BUCKETS_S = (0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
ACCEPTED = "accepted"
LEDGER_KINDS = ("grant", "hold", "capture", "release")

# Nobody reads the `_created` series, which would double their number.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """All metrics of one process; docs/observability.md describes their names.

    Attributes:
        registry: the registry that the operations port serves.
        ledger: sums of the ledger when this process last read it; None where another process reads it.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self.ledger: Ledger | None = None
        self._count_requests()
        self._count_jobs()
        self._count_what_surrounds_them()
        build = self._gauge("vbdesk_build_info", "The running version; always 1.", ["version", "python"])
        build.labels(version("vbdesk"), platform.python_version()).set(1)

    def note(self, event: events.Event) -> None:
        """Count an event of a committed transaction."""
        match event:
            case events.JobAccepted():
                self.jobs_accepted.inc()
            case events.JobEnded(status):
                self.jobs_ended.labels(status).inc()
            case events.CreditsMoved(kind, amount):
                self.credits_moved.labels(kind).inc(amount)
            case events.UploadMinted():
                self.uploads_minted.inc()
            case events.DeliveryTried(outcome):
                self.webhook_attempts.labels(outcome).inc()

    @contextmanager
    def store_operation(self, operation: str, expected: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Time one operation of the object store; an exception that is not `expected` counts as an error."""
        try:
            with self.store_seconds.labels(operation).time():
                yield
        except Exception as error:
            if not isinstance(error, expected):
                self.store_errors.labels(operation).inc()
            raise

    def _count_requests(self) -> None:
        self.requests = self._counter(
            "vbdesk_requests_total", "Requests answered by the API.", ["route", "method", "status"]
        )
        self.request_seconds = self._histogram(
            "vbdesk_request_seconds", "Time to answer a request.", REQUEST_BUCKETS_S, ["route", "method"]
        )
        self.refusals = self._counter("vbdesk_refusals_total", "Requests refused, by error code.", ["code"])
        self.rate_limited = self._counter("vbdesk_rate_limited_total", "Requests over a rate limit.", ["bucket"])
        self.uploads_minted = self._counter("vbdesk_uploads_minted_total", "Upload addresses handed out.")
        self.inspections = self._counter(
            "vbdesk_inspections_total", "Recordings inspected before they are accepted.", ["outcome"]
        )
        self.inspection_seconds = self._histogram(
            "vbdesk_inspection_seconds", "Time to inspect a recording, waiting included.", STAGE_BUCKETS_S
        )
        _begin_at_zero(self.refusals, ErrorCode)
        _begin_at_zero(self.rate_limited, [*Bucket, "unauthorized"])
        _begin_at_zero(self.inspections, [ACCEPTED])

    def _count_jobs(self) -> None:
        self.jobs_accepted = self._counter("vbdesk_jobs_accepted_total", "Jobs accepted by this process.")
        self.job_starts = self._counter("vbdesk_job_starts_total", "Starts of jobs, repeated ones included.")
        self.jobs_ended = self._counter("vbdesk_jobs_ended_total", "Jobs that this process ended.", ["status"])
        self.job_wait_seconds = self._histogram(
            "vbdesk_job_wait_seconds", "From a submit to the first start of its job.", WAIT_BUCKETS_S
        )
        self.stage_seconds = self._histogram(
            "vbdesk_job_stage_seconds", "Time that jobs spend in each stage.", STAGE_BUCKETS_S, ["stage"]
        )
        self.analysed_audio = self._counter("vbdesk_analysed_audio_seconds_total", "Recorded time that was analysed.")
        self.children_crashed = self._counter("vbdesk_children_crashed_total", "Analysis processes that crashed.")
        self.jobs_under_way = self._gauge("vbdesk_jobs_under_way", "Jobs that this process runs now.")
        _begin_at_zero(self.jobs_ended, TERMINAL_STATUSES)

    def _count_what_surrounds_them(self) -> None:
        self.webhook_attempts = self._counter(
            "vbdesk_webhook_attempts_total", "Attempts at webhook deliveries.", ["outcome"]
        )
        self.webhook_seconds = self._histogram(
            "vbdesk_webhook_attempt_seconds", "Time that receivers of webhooks take.", REQUEST_BUCKETS_S
        )
        self.credits_moved = self._counter("vbdesk_credits_moved_total", "Tokens moved by this process.", ["kind"])
        self.store_seconds = self._histogram(
            "vbdesk_store_operation_seconds", "Time of operations on the object store.", STAGE_BUCKETS_S, ["operation"]
        )
        self.store_errors = self._counter(
            "vbdesk_store_errors_total", "Failed operations of the object store.", ["operation"]
        )
        self.store_mismatch = self._gauge(
            "vbdesk_store_mismatch", "1 when the last check found the object store of another database."
        )
        self.orphans_quarantined = self._counter(
            "vbdesk_orphans_quarantined_total", "Objects quarantined because they belong to no job or upload."
        )
        self.orphans_left = self._gauge(
            "vbdesk_orphans_left", "Orphans that the last sweep did not move because there are too many."
        )
        self.outdated_readings = self._gauge(
            "vbdesk_outdated_readings", "Kept readings of an earlier calibration, by what becomes of them.", ["state"]
        )
        self.readings_recomputed = self._counter(
            "vbdesk_readings_recomputed_total", "Readings of an earlier calibration made again.", ["outcome"]
        )
        self.sweep_held = self._gauge("vbdesk_sweep_held", "1 while this process holds the sweep lease.")
        _begin_at_zero(self.webhook_attempts, ["sent", "pending", "given_up"])
        _begin_at_zero(self.credits_moved, ["hold", "capture", "release"])
        _begin_at_zero(self.readings_recomputed, ["recomputed", "without_audio", "failed"])
        _begin_at_zero(self.store_errors, ["adopt", "link", "open", "local_copy", "exists", "size", "delete", "check"])

    def _counter(self, name: str, described: str, labels: list[str] | None = None) -> Counter:
        return Counter(name, described, labels or (), registry=self.registry)

    def _gauge(self, name: str, described: str, labels: list[str] | None = None) -> Gauge:
        return Gauge(name, described, labels or (), registry=self.registry)

    def _histogram(
        self, name: str, described: str, buckets: tuple[float, ...], labels: list[str] | None = None
    ) -> Histogram:
        return Histogram(name, described, labels or (), buckets=buckets, registry=self.registry)


def _begin_at_zero(counter: Counter, values: Iterable[str]) -> None:
    """Start counters at 0, so that the first event is seen as an increase."""
    for value in values:
        counter.labels(str(value))
