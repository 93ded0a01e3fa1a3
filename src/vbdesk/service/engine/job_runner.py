"""Job runner: take a slot, analyse, record the outcome."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec

from opentelemetry.trace import SpanKind
from sqlalchemy import Connection, Row
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

from vbdesk.clock import utc_now
from vbdesk.contract.catalog import ModelName
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.engine.analysis import Analysed, Analysis, AnalysisRequest
from vbdesk.service.engine.job_engine import HandedBack
from vbdesk.service.engine.slot import ChildCrashed, Slot, SlotClosed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.lifecycle import JobLifecycle, Run
from vbdesk.service.jobs.repository import Hold
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.observability.logs import log_fields
from vbdesk.service.observability.tracing import continued, traced
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.store import ObjectMissing, StoreFull, StoreUnavailable
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
    attributes: dict[str, str | int | float | bool] = {
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
            attributes=attributes,
        ),
    ):
        yield RunStages(context)


CHECK_INTERVAL_S = 0.2
FIRST_RETRY_S = 0.5
LONGEST_RETRY_S = 30.0
STORE_WAIT = timedelta(hours=24)
"""Maximum age of a job whose recording cannot be fetched, even if it may exist; then the job fails."""

CHILD_WAIT_S = 600.0
"""How long a job waits for a child when none becomes ready; the wait is not counted as a start. In this time another
machine can take the job."""

DATABASE_AWAY = (OperationalError, InterfaceError, TimeoutError)

P = ParamSpec("P")

log = logging.getLogger(__name__)


class HeldElsewhere(Exception):
    """Another executor, which is believed to be alive, or another run of this process holds the job."""


class NoChildStarts(Exception):
    """This machine cannot start an analysis process; the job is not at fault."""


WAITED_FOR = (SQLAlchemyError, StoreUnavailable, HeldElsewhere, NoChildStarts)
"""Temporary faults, or faults that an operator fixes; a full disk is another."""


@dataclass
class _Attempt:
    """Current attempt at a job: its start time and its latest hold."""

    job_id: str
    began: float = field(default_factory=time.monotonic)
    hold: Hold | None = None


class JobRunner:
    """Runs jobs in the slots of this process; the engine calls `run` from any number of threads.

    Attributes:
        children_start: whether the newest child process became ready, if one was needed.
    """

    def __init__(
        self,
        context: Context,
        slots: SlotPool,
        analysis: Analysis,
        executor_id: str,
        child_wait_s: float = CHILD_WAIT_S,
    ) -> None:
        self._context = context
        self._child_wait_s = child_wait_s
        self._lifecycle = JobLifecycle.of(context)
        self._histories = GroupHistories.of(context)
        self._slots = slots
        self._analysis = analysis
        self._executor_id = executor_id
        self.children_start = True
        self._stopping = threading.Event()
        self._closing = threading.Event()
        self._under_way = 0
        self._tried: set[str] = set()
        self._idle = threading.Condition()

    def run(self, job_id: str) -> None:
        """Run the job to its end; retry after child crashes and outages of the database or the store.

        Raises:
            HandedBack: this process stops first.
        """
        with self._idle:
            self._under_way += 1
        try:
            self._run(job_id)
        finally:
            with self._idle:
                self._under_way -= 1
                self._idle.notify_all()

    def drain(self, grace_s: float, stop_now: threading.Event) -> None:
        """Stop taking jobs and wait for running ones, until the grace period ends or `stop_now` is set."""
        self._stopping.set()
        ends_at = time.monotonic() + grace_s
        with self._idle:
            while self._under_way and time.monotonic() < ends_at and not stop_now.is_set():
                self._idle.wait(CHECK_INTERVAL_S)

    def stop(self) -> None:
        """Stop taking jobs, end the children of running jobs and hand the jobs back."""
        self._stopping.set()
        self._closing.set()
        self._slots.close()
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0)

    def _run(self, job_id: str) -> None:
        pauses = _growing_pauses()
        attempt = _Attempt(job_id)
        while True:
            if self._stopping.is_set():
                raise HandedBack
            try:
                with self._alone(job_id):
                    ended = self._try(attempt)
            except SlotClosed:
                raise HandedBack from None
            except Exception as error:
                if isinstance(error, WAITED_FOR) or is_disk_full(error):
                    log.warning("Job %s waits for what it needs (%s).", job_id, type(error).__name__)
                    self._stopping.wait(next(pauses))
                    continue
                log.exception("Job %s met a fault of the service; it failed.", job_id)
                self._record(self._lifecycle.fail, job_id, attempt.hold)
                ended = True
            if ended:
                return

    @contextmanager
    def _alone(self, job_id: str) -> Iterator[None]:
        """Try the job in no other thread of this process for the block.

        The database lets an executor start its own job again. Two runs of a requeued job would then drop each other's
        results until the job was started too often.

        Raises:
            HeldElsewhere: another thread is trying it.
        """
        with self._idle:
            if job_id in self._tried:
                raise HeldElsewhere
            self._tried.add(job_id)
        try:
            yield
        finally:
            with self._idle:
                self._tried.remove(job_id)

    def _try(self, attempt: _Attempt) -> bool:
        """Start the job once; return whether that ended it."""
        job_id = attempt.job_id
        with self._slots.borrow() as slot:
            try:
                slot.wait_ready()
                self.children_start = True
            except ChildCrashed as crash:
                self.children_start = False
                log.error("The analysis process ends before it is ready. %s", crash)
                if time.monotonic() - attempt.began < self._child_wait_s:
                    raise NoChildStarts from None
                # Count this start, so that retries are limited.
                return self._start(attempt) is None and self._conclude(job_id)
            run = self._start(attempt)
            if run is None:
                return self._conclude(job_id)
            with observed_run(self._context, run) as stages:
                return self._try_to_end(attempt, run, slot, stages)

    def _try_to_end(self, attempt: _Attempt, run: Run, slot: Slot, stages: RunStages) -> bool:
        """Analyse and record the outcome; return whether that ended the job."""
        job_id = attempt.job_id
        try:
            analysed = self._analyse(slot, run, stages)
        except (SlotClosed, StoreUnavailable, OSError) as cut_short:
            if isinstance(cut_short, OSError) and not is_disk_full(cut_short):
                raise
            if isinstance(cut_short, StoreUnavailable) and self._is_too_old(run, cut_short):
                self._record(self._lifecycle.fail, job_id, run.hold)
                return True
            self._record(self._lifecycle.hand_back, job_id, run.hold)
            attempt.hold = None
            raise
        except ChildCrashed as crash:
            self._context.metrics.children_crashed.inc()
            log.warning("Job %s: %s It is started again.", job_id, crash)
            return False
        except TaskTimedOut:
            self._record(self._lifecycle.time_out, job_id, run.hold)
        except (TaskFailed, ObjectMissing) as failure:
            log.warning("Job %s failed: %s", job_id, failure)
            self._record(self._lifecycle.fail, job_id, run.hold)
        else:
            self._context.metrics.analysed_audio.inc(run.audio_s)
            with stages(SETTLE):
                self._record(self._lifecycle.analysed, job_id, analysed.result, run.hold)
        self._require_over(job_id)
        return True

    def _is_too_old(self, run: Run, fault: StoreUnavailable) -> bool:
        """Return whether the job has waited too long for its recording; waits for disk space have no limit."""
        return not isinstance(fault, StoreFull) and self._context.clock.now() - run.created_at > STORE_WAIT

    def _record(self, change: Callable[Concatenate[Connection, P], None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Record how a run ended; retry while the database is away, so that the run is not lost."""
        pauses = _growing_pauses()
        while True:
            try:
                return self._context.database.write(lambda connection: change(connection, *args, **kwargs))
            except DATABASE_AWAY as error:
                if self._closing.is_set():
                    raise
                log.warning("The end of a run cannot be written down yet (%s).", type(error).__name__)
                self._closing.wait(next(pauses))

    def _start(self, attempt: _Attempt) -> Run | None:
        timeout_s = self._context.settings.job_timeout_s
        with self._context.database.writing() as connection:
            run = self._lifecycle.start(connection, attempt.job_id, self._executor_id, timeout_s)
        attempt.hold = None if run is None else run.hold
        return run

    def _analyse(self, slot: Slot, run: Run, stages: RunStages) -> Analysed:
        settings = self._context.settings
        with ExitStack() as stack:
            with stages(FETCH):
                copy = stack.enter_context(self._context.storage.local_copy(run.audio_key))
            request = analysis_request(run.target, settings, spoken=run.spoken, diarize=run.diarize)
            with stages(ANALYSE):
                began = utc_now()
                timeout_s = settings.job_timeout_s
                analysed: Analysed = slot.run(self._analysis, request, timeout_s=timeout_s, recording=copy)
                stages.add(analysed.laps, began)
        return analysed

    def _conclude(self, job_id: str) -> bool:
        """Conclude a job without further analysis; settle it if its analysis was set aside. Raises HeldElsewhere."""
        row = self._require_over(job_id)
        if row is not None and row.analysis is not None:
            self._record(self._histories.settle, [row.history_key])
        return True

    def _require_over(self, job_id: str) -> Row[Any] | None:
        """Return the job if it exists and its analysis has ended.

        Raises:
            HeldElsewhere: the analysis has not ended, so this run's result was not counted. The holder may still hand
                the job back, and the engine knows it through this call only. So this call must not end before the job.
        """
        with self._context.database.reading() as connection:
            row = repository.find(connection, job_id)
        if row is not None and row.analysis is None and row.status in repository.UNFINISHED:
            raise HeldElsewhere
        return row


def analysis_request(
    target: JobTarget, settings: Settings, *, spoken: SpokenLanguage, diarize: bool
) -> AnalysisRequest:
    """Return what a child has to know about a job, with the settings of the service."""
    analysed = target.analysed
    return AnalysisRequest(
        "model" if isinstance(analysed, ModelName) else "sign",
        str(analysed),
        diarize,
        settings.plugin_source,
        settings.narrative_language,
        settings.norms_file,
        spoken,
    )


def _growing_pauses() -> Iterator[float]:
    pause_s = FIRST_RETRY_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_RETRY_S)
