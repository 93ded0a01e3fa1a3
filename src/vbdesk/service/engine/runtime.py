"""All background work of a serving process, started and stopped together."""

import threading

from vbdesk.service.engine.analysis import Analysis, analyse_file, prepare
from vbdesk.service.engine.background_recompute import BackgroundRecompute
from vbdesk.service.engine.dbos_engine import DbosEngine, DbosQueue
from vbdesk.service.engine.heartbeat import Heartbeat
from vbdesk.service.engine.job_runner import JobRunner
from vbdesk.service.engine.shared_clock import DatabaseTime, ProcessTime, SharedTime
from vbdesk.service.engine.slot import Prepare
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

EMBEDDED_EXECUTOR = "local-0"
"""Constant for the only process that owns a data folder: after a restart it continues its own jobs."""

MEMORY_BYTES = 3 * 1024**3
"""Memory of one analysis in addition to the loaded models; the longest recording takes a seventh of it."""


class Runtime:
    """Slots, engine, recompute, heartbeat, sweeper and delivery worker of a process."""

    def __init__(
        self,
        context: Context,
        queue: DbosQueue,
        *,
        workers: int,
        executor_id: str = EMBEDDED_EXECUTOR,
        analysis: Analysis = analyse_file,
        prepare_child: Prepare = prepare,
    ) -> None:
        """Create without starting anything.

        Args:
            context: dependencies of the service.
            queue: the context's queue; its owner closes it.
            workers: parallel analyses; 0 leaves them to other processes.
            executor_id: name of this executor.
            analysis: task of a child, applied to each recording.
            prepare_child: runs once in each child, before its first recording.
        """
        self._context = context
        self._workers = workers
        self._executor_id = executor_id
        self._analysis = analysis
        self._prepare_child = prepare_child
        sender = WebhookSender(context.guard)
        self._delivery_worker = DeliveryWorker(
            context.database, context.clock, context.secrets, sender, context.metrics, context.tracing
        )
        self._engine = DbosEngine(context.settings.resolved_database_url, queue, executor_id)
        self._runner: JobRunner | None = None
        self._recompute: BackgroundRecompute | None = None
        self._periodic: PeriodicWorker | None = None
        self._stopping = threading.Event()
        self._launched = False
        on_server = context.database.engine.dialect.name == "postgresql"
        shared_time: SharedTime = DatabaseTime() if on_server else ProcessTime(context.clock)
        self._shared_time = shared_time
        self._heartbeat = Heartbeat(context.database, executor_id, workers, shared_time)
        self._sweeper = Sweeper(
            context, self._engine, shared_time, runs_jobs=workers > 0, is_stopping=self._stopping.is_set
        )

    @property
    def executor_id(self) -> str:
        """Name of this executor."""
        return self._executor_id

    @property
    def taken_for_dead(self) -> bool:
        """Whether this executor was removed as dead; stop it and start another."""
        return self._heartbeat.taken_for_dead

    @property
    def engine_launched(self) -> bool:
        """Whether the engine takes jobs."""
        return self._launched

    @property
    def last_beat(self) -> float | None:
        """Time of the last heartbeat, by `time.monotonic`."""
        return self._heartbeat.last_beat

    @property
    def children_start(self) -> bool:
        """Whether the newest child process became ready, if one was needed."""
        return self._runner is not None and self._runner.children_start

    def start(self) -> None:
        """Start everything; children warm up in the background."""
        table = [*self._sweeper.jobs(), self._delivery_worker.job()]
        if self._workers:
            settings = self._context.settings
            readable = [path for path in (settings.plugin_source.folder, settings.norms_file) if path is not None]
            slots = SlotPool(self._workers, self._prepare_child, memory_bytes=MEMORY_BYTES, readable=readable)
            self._runner = JobRunner(self._context, slots, self._analysis, self._executor_id)
            if settings.recompute_after_upgrade:
                self._recompute = BackgroundRecompute(self._context, slots, self._analysis, self._shared_time)
                table.append(self._recompute.job())
            self._heartbeat.sign_on()
            table.append(self._heartbeat.job())
        self._periodic = PeriodicWorker(table, self._stopping)
        self._periodic.start()
        if self._runner is not None:
            self._engine.start(self._runner.run, at_once=self._workers)
            self._launched = True

    def drain(self, grace_s: float, stop_now: threading.Event) -> None:
        """Take no more jobs; wait for running ones until the grace period ends or `stop_now` is set; then stop."""
        if self._runner is None:
            return
        self._launched = False
        if self._recompute is not None:
            self._recompute.pause()
        self._engine.pause()
        self._heartbeat.set_draining()
        self._runner.drain(grace_s, stop_now)

    def stop(self) -> None:
        """Hand back the running jobs, then stop everything."""
        if self._runner is not None:
            if self._recompute is not None:
                self._recompute.pause()
            self._runner.stop()  # closes the slots, which ends an analysis of the recompute
            self._engine.stop()
        if self._periodic is not None:
            self._periodic.stop()  # last, so that the heart beats while jobs are handed back
