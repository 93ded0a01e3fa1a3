"""Everything of a serving process that works in the background, started and stopped as one."""

import threading

from vbdesk.service.engine.analysis import Analysis, analyse_file, prepare
from vbdesk.service.engine.dbos_engine import DbosEngine, DbosQueue
from vbdesk.service.engine.heartbeat import Heartbeat
from vbdesk.service.engine.job_runner import JobRunner
from vbdesk.service.engine.shared_clock import DatabaseTime, ProcessTime, SharedTime
from vbdesk.service.engine.slot import Prepare
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

EMBEDDED_EXECUTOR = "local-0"
"""Always the same for the one process that owns a data folder: at its next start it takes up what it left."""

MEMORY_BYTES = 3 * 1024**3
"""What one analysis may take beyond the loaded models; the longest recording takes a seventh of it."""


class Runtime:
    """Slots, engine, heartbeat, sweeper and delivery worker."""

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
        """Nothing runs before `start`.

        Args:
            context: what the service leans on.
            queue: the context's queue, which its owner closes.
            workers: analyses at once; 0 leaves them to other processes.
            executor_id: name of this process among those that run jobs.
            analysis: what a child does with a recording.
            prepare_child: what a child does once, before its first recording.
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
        self._launched = False
        on_server = context.database.engine.dialect.name == "postgresql"
        shared_time: SharedTime = DatabaseTime() if on_server else ProcessTime(context.clock)
        self._heartbeat = Heartbeat(context.database, executor_id, workers, shared_time)
        self._sweeper = Sweeper(context, self._engine, shared_time, runs_jobs=workers > 0)

    @property
    def executor_id(self) -> str:
        """Name of this process among those that run jobs."""
        return self._executor_id

    @property
    def taken_for_dead(self) -> bool:
        """Whether others have given its jobs away; it should be stopped, and another started."""
        return self._heartbeat.taken_for_dead

    @property
    def engine_launched(self) -> bool:
        """Whether jobs are taken."""
        return self._launched

    @property
    def last_beat(self) -> float | None:
        """When the last heartbeat was written, by `time.monotonic`."""
        return self._heartbeat.last_beat

    @property
    def children_start(self) -> bool:
        """Whether the newest child became ready, as far as one was wanted."""
        return self._runner is not None and self._runner.children_start

    def start(self) -> None:
        """Start everything; children warm up in the background."""
        if self._workers:
            settings = self._context.settings
            readable = [path for path in (settings.plugin_source.folder, settings.norms_file) if path is not None]
            slots = SlotPool(self._workers, self._prepare_child, memory_bytes=MEMORY_BYTES, readable=readable)
            self._runner = JobRunner(self._context, slots, self._analysis, self._executor_id)
            self._heartbeat.start()
        self._sweeper.start()
        self._delivery_worker.start()
        if self._runner is not None:
            self._engine.start(self._runner.run, at_once=self._workers)
            self._launched = True

    def drain(self, grace_s: float, stop_now: threading.Event) -> None:
        """Take no new job and wait for those under way, until the grace or `stop_now` ends that; then `stop`."""
        if self._runner is None:
            return
        self._launched = False
        self._engine.pause()
        self._heartbeat.set_draining()
        self._runner.drain(grace_s, stop_now)

    def stop(self) -> None:
        """Hand back the jobs under way, then stop everything."""
        if self._runner is not None:
            self._runner.stop()
            self._engine.stop()
            self._heartbeat.stop()
        self._sweeper.stop()
        self._delivery_worker.stop()
