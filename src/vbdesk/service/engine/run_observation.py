"""Observation of one run of a job: stages as metrics and as spans of the submit's trace."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from opentelemetry.trace import SpanKind

from vbdesk.service.jobs.lifecycle import Run
from vbdesk.service.observability.logs import log_fields
from vbdesk.service.observability.tracing import continued, traced
from vbdesk.service.ports.context import Context
from vbdesk.signs.stage_timing import Lap

FETCH, ANALYSE, SETTLE = "fetch", "analyse", "settle"
_NS = 1_000_000_000


class RunStages:
    """Times the stages of one run."""

    def __init__(self, context: Context) -> None:
        self._tracer = context.tracing.tracer
        self._seconds = context.metrics.stage_seconds

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time the block as a stage."""
        with self._seconds.labels(stage).time(), traced(self._tracer, stage):
            yield

    def add(self, laps: Iterable[Lap], began: datetime) -> None:
        """Add stages timed by a child that started at this moment."""
        for lap in laps:
            self._seconds.labels(lap.stage).observe(lap.seconds)
            starts_ns = int((began.timestamp() + lap.began_s) * _NS)
            span = self._tracer.start_span(lap.stage, start_time=starts_ns)
            span.end(starts_ns + int(lap.seconds * _NS))


@contextmanager
def observed_run(context: Context, run: Run) -> Iterator[RunStages]:
    """Observe one start of a job, while this process holds it."""
    metrics = context.metrics
    metrics.job_starts.inc()
    waited_s = max(0.0, (context.clock.now() - run.created_at).total_seconds())
    if run.hold.starts == 1:
        metrics.job_wait_seconds.observe(waited_s)
    told: dict[str, str | int | float | bool] = {
        "vbdesk.job_id": run.job_id,
        "vbdesk.executor_id": run.hold.executor_id,
        "vbdesk.start": run.hold.starts,
        "vbdesk.diarize": run.diarize,
        "vbdesk.waited_s": waited_s,
        "vbdesk.audio_s": run.audio_s,
    }
    with (
        log_fields(job_id=run.job_id, executor_id=run.hold.executor_id),
        metrics.jobs_under_way.track_inprogress(),
        traced(
            context.tracing.tracer,
            "job",
            parent=continued(run.trace_parent),
            kind=SpanKind.CONSUMER,
            attributes=told,
        ),
    ):
        yield RunStages(context)
