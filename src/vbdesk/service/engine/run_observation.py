"""What one run of a job tells: its stages as metrics and as spans of the trace that its submit began."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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
        """Time the block."""
        with self._seconds.labels(stage).time(), traced(self._tracer, stage):
            yield

    def add(self, laps: Iterable[Lap], began_ns: int) -> None:
        """Take over what a child timed, whose stopwatch began at that moment, in nanoseconds since 1970."""
        for lap in laps:
            self._seconds.labels(lap.stage).observe(lap.seconds)
            starts_ns = began_ns + int(lap.began_s * _NS)
            span = self._tracer.start_span(lap.stage, start_time=starts_ns)
            span.end(starts_ns + int(lap.seconds * _NS))


@contextmanager
def observed_run(context: Context, run: Run) -> Iterator[RunStages]:
    """Around one start of a job, from the moment it is ours to the moment it is not."""
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
