"""The sweeper: what no single job can see to. One process at a time does it for all, by a lease."""

import logging
import threading
import time
from collections.abc import Collection
from datetime import timedelta

from vbdesk.contract.ids import new_id
from vbdesk.service.context import Context
from vbdesk.service.groups.cohort import CohortSnapshots
from vbdesk.service.jobs import repository, retention
from vbdesk.service.jobs.wiring import lifecycle_of
from vbdesk.service.work import executors, leases
from vbdesk.service.work.port import JobEngine

SWEEP_EVERY_S = 5.0  # each is a write to the disk, also when nothing happens
TIDY_EVERY_S = 600.0
KEEP_RUNS = timedelta(days=1)
KEEP_IDEMPOTENCY_KEYS = timedelta(days=1)
TASK = "sweep"

log = logging.getLogger(__name__)


class Sweeper:
    """Heartbeat, recovery of dead executors' jobs, overdue runs, and tidying up; one thread.

    Every process has one. Each gives its own heartbeat; the rest is done by the one that holds the lease.
    """

    def __init__(self, context: Context, engine: JobEngine, executor_id: str | None) -> None:
        """Without an executor's name (a process that only serves the API) there is no heartbeat."""
        self._context = context
        self._engine = engine
        self._executor_id = executor_id
        self._holder = executor_id or new_id()
        self._lifecycle = lifecycle_of(context)
        self._snapshots = CohortSnapshots(context.database, context.clock, context.parameters)
        self._overdue_since: dict[str, float] = {}
        self._next_tidy = time.monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="vbdesk-sweeper", daemon=True)

    def start(self) -> None:
        """Give the first heartbeat and begin."""
        self._claim()
        self._thread.start()

    def stop(self) -> None:
        """End, sign this executor off, and leave the rest to another."""
        self._stopping.set()
        self._thread.join()
        with self._context.database.writing() as connection:
            leases.give_up(connection, TASK, self._holder)
            if self._executor_id is not None:
                executors.sign_off(connection, self._executor_id)

    def sweep(self) -> bool:
        """One round of what must happen within seconds; False when another process sees to it."""
        if not self._claim():
            self._overdue_since.clear()
            return False
        now = self._context.clock.now()
        with self._context.database.reading() as connection:
            live = executors.list_live(connection, now)
            overdue = repository.list_overdue(connection, now, live)
            waiting = repository.list_set_aside(connection)
        recovered = self._engine.recover(live)
        if recovered:
            log.warning("%d jobs of executors that died are run again.", recovered)
        self._end_overdue(overdue)
        if waiting:
            with self._context.database.writing() as connection:
                self._lifecycle.settle(connection, waiting)
        return True

    def tidy(self) -> None:
        """One round of what may happen within the hour: old audio, orphans, keys, runs; cohort snapshots."""
        context, now = self._context, self._context.clock.now()
        with context.database.writing() as connection:
            repository.forget_idempotency_keys(connection, now - KEEP_IDEMPOTENCY_KEYS)
        retention.remove_old_audio(context)
        orphans = retention.remove_orphans(context)
        if orphans:
            log.warning("%d files that belonged to no job or upload were removed.", orphans)
        self._engine.purge(KEEP_RUNS)
        self._snapshots.take_due()

    def _end_overdue(self, job_ids: Collection[str]) -> None:
        """End runs that their slots did not end in time.

        A computer that slept finds every run overdue when it wakes, while the slots count only the time awake. So a
        run is left alone until it was seen overdue for as long as a run may take.
        """
        now = time.monotonic()
        self._overdue_since = {job_id: self._overdue_since.get(job_id, now) for job_id in job_ids}
        for job_id, since in self._overdue_since.items():
            if now - since >= self._context.settings.job_timeout_s:
                with self._context.database.writing() as connection:
                    self._lifecycle.time_out(connection, job_id)

    def _claim(self) -> bool:
        """Give the heartbeat; whether the sweep is ours."""
        now = self._context.clock.now()
        with self._context.database.writing() as connection:
            if self._executor_id is not None:
                executors.beat(connection, self._executor_id, now)
            return leases.take(connection, TASK, self._holder, now)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                if self.sweep() and time.monotonic() >= self._next_tidy:
                    self.tidy()
                    self._next_tidy = time.monotonic() + TIDY_EVERY_S
            except Exception:  # whatever it was, the next round must come
                log.exception("A sweep was interrupted; the next one goes on.")
            self._stopping.wait(SWEEP_EVERY_S)
