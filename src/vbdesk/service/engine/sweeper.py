"""Sweeper: work across all jobs, done by one process at a time under a lease."""

import logging
import math
import time
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from vbdesk.contract.ids import new_id
from vbdesk.service.credits.service import read_ledger
from vbdesk.service.engine import executors, leases
from vbdesk.service.engine.job_engine import JobEngine
from vbdesk.service.engine.shared_clock import ProcessTime, SharedTime
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.groups.cohort_snapshots import CohortSnapshots
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.jobs.repository import Hold
from vbdesk.service.kernel.periodic import PeriodicJob
from vbdesk.service.maintenance import orphans, retention
from vbdesk.service.maintenance.store_identity import may_remove
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.store import StoreUnavailable

SWEEP_EVERY_S = 5.0  # each is a write to the disk, even when nothing happens
LONGEST_PAUSE_S = 2 * SWEEP_EVERY_S  # between two rounds, for a process that may judge the other executors
TIDY_EVERY_S = 600.0
SEARCH_EVERY_S = 86_400.0  # a search for orphans lists the whole store
FORGOTTEN_AFTER_S = 300.0  # a taken job starts within seconds, unless the store or a child delays it
RUN_RETENTION = timedelta(days=1)
IDEMPOTENCY_KEY_RETENTION = timedelta(days=1)
TASK = "sweep"

log = logging.getLogger(__name__)


class Sweeper:
    """Recovers dead executors' jobs, ends overdue runs and deletes expired data.

    Every process has one; the lease holder does the work. Processes that run jobs get the lease first, so that the API
    processes stay fast.
    """

    def __init__(
        self,
        context: Context,
        engine: JobEngine,
        shared_time: SharedTime | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        runs_jobs: bool = True,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create the sweeper; leases use the context's clock unless `time` is given."""
        self._runs_jobs = runs_jobs
        self._monotonic = monotonic
        self._context = context
        self._engine = engine
        self._holder = new_id()
        self._lifecycle = JobLifecycle.of(context)
        self._histories = GroupHistories.of(context)
        self._eraser = Eraser(context.database, context.storage, self._histories, context.clock)
        self._snapshots = CohortSnapshots(context.database, context.clock, context.parameters)
        self._time = shared_time or ProcessTime(context.clock)
        self._steady_since = self._last_round = -math.inf
        self._last_time: datetime | None = None
        self._overdue_since: dict[tuple[str, Hold], float] = {}
        self._unheld_since: dict[str, float] = {}
        self._next_search = self._monotonic()
        self._ours = False
        self._is_stopping = is_stopping

    def jobs(self) -> tuple[PeriodicJob, ...]:
        """What is repeated, all of it by the process that has the lease."""
        return (
            PeriodicJob("sweeper", SWEEP_EVERY_S, self._sweep_again, at_end=self.leave),
            PeriodicJob("tidying", TIDY_EVERY_S, self._tidy_in_turn),
        )

    def leave(self) -> None:
        """Release the lease."""
        with self._context.database.writing() as connection:
            leases.give_up(connection, TASK, self._holder)

    def sweep(self) -> bool:
        """Do the work that is due within seconds; False when another process does it."""
        ours = self._claim()
        self._context.metrics.sweep_held.set(ours)
        if not ours:
            self._overdue_since.clear()
            self._unheld_since.clear()
            self._context.metrics.ledger = None  # the lease holder reports it
            return False
        if self._monotonic() - self._steady_since >= executors.DEAD_AFTER.total_seconds():
            self._strike_out_dead()
        with self._context.database.reading() as connection:
            overdue = repository.list_overdue(
                connection, self._context.clock.now(), executors.list_signed_on(connection)
            )
            waiting = repository.list_set_aside(connection)
        recovered = self._engine.recover(self._list_signed_on, self._find_forgotten)
        if recovered:
            log.warning("%d jobs of executors that died, or forgot them, are run again.", recovered)
        self._end_overdue(overdue)
        if waiting:
            with self._context.database.writing() as connection:
                self._histories.settle(connection, waiting)
        return True

    def tidy(self) -> None:
        """Do the hourly work: deletions, old audio, keys, runs, snapshots; daily, orphans."""
        context, now = self._context, self._context.clock.now()
        with context.database.writing() as connection:
            repository.forget_idempotency_keys(connection, now - IDEMPOTENCY_KEY_RETENTION)
        try:
            self._tidy_store()
        except StoreUnavailable as error:  # the rest needs no store
            log.warning("Recordings could not be tidied (%s); the next round tries again.", type(error).__name__)
        self._engine.purge(RUN_RETENTION)
        self._snapshots.take_due()
        self._audit_ledger()

    def _tidy_store(self) -> None:
        if not may_remove(self._context):
            return
        self._eraser.finish_accounts()
        retention.remove_erased_audio(self._context)
        retention.remove_old_audio(self._context, self._is_stopping)
        if self._monotonic() >= self._next_search:
            self._sweep_orphans()
            self._next_search = self._monotonic() + SEARCH_EVERY_S

    def _sweep_orphans(self) -> None:
        swept = orphans.sweep_orphans(self._context, self._is_stopping)
        self._context.metrics.orphans_quarantined.inc(swept.quarantined)
        self._context.metrics.orphans_left.set(swept.left)
        if swept.quarantined:
            log.warning("%d objects that belong to no job or upload were quarantined.", swept.quarantined)
        if swept.put_back:
            log.warning("%d objects came back from quarantine: a job or an upload has them.", swept.put_back)
        if swept.removed:
            log.warning("%d objects were removed after 14 days in quarantine.", swept.removed)

    def _audit_ledger(self) -> None:
        """Publish the ledger's totals and whether balances match it."""
        with self._context.database.reading() as connection:
            self._context.metrics.ledger = read_ledger(connection)

    def _end_overdue(self, runs: Collection[tuple[str, Hold]]) -> None:
        """End runs that their slots did not end in time.

        After a computer's sleep every run looks overdue, while the slots count only the time awake. A run is ended
        only after it was seen as overdue for a full timeout. While disk space is short no run is ended: its outcome
        may be waiting for space.
        """
        if self._context.disk.is_reached():
            self._overdue_since.clear()
            return
        now = self._monotonic()
        self._overdue_since = {run: self._overdue_since.get(run, now) for run in runs}
        for (job_id, hold), since in self._overdue_since.items():
            if now - since >= self._context.settings.job_timeout_s:
                with self._context.database.writing() as connection:
                    self._lifecycle.time_out(connection, job_id, hold)

    def _find_forgotten(self, taken: Collection[str]) -> Collection[str]:
        """Return jobs that living executors took, but none of them has held for a long time.

        A requeued copy does no harm: an executor that only waits continues, and a job held by another stays with it.
        """
        now = self._monotonic()
        with self._context.database.reading() as connection:
            unheld = repository.list_unheld(connection, taken)
        self._unheld_since = {job_id: self._unheld_since.get(job_id, now) for job_id in unheld}
        forgotten = [job_id for job_id, since in self._unheld_since.items() if now - since >= FORGOTTEN_AFTER_S]
        for job_id in forgotten:
            del self._unheld_since[job_id]
        return forgotten

    def _list_signed_on(self) -> Collection[str]:
        with self._context.database.reading() as connection:
            return executors.list_signed_on(connection)

    def _strike_out_dead(self) -> None:
        """Take the jobs of dead executors away, so that their late results do not count.

        A process that could not read heartbeats for that long must not judge others: after an outage of the database or
        of this process, all executors look dead.
        """
        with self._context.database.writing() as connection:
            dead = executors.remove_dead(connection, self._time.now(connection))
            if dead:
                repository.take_from(connection, dead)
        for executor_id in dead:
            log.warning("Executor %s gave no sign of life; its jobs are run again.", executor_id)

    def _claim(self) -> bool:
        """Return whether this process holds the lease, and record the regularity of rounds."""
        with self._context.database.writing() as connection:
            now = self._time.now(connection)
            if self._runs_jobs or not executors.any_alive(connection, now):
                ours = leases.take(connection, TASK, self._holder, now)
            else:
                leases.give_up(connection, TASK, self._holder)
                ours = False
        before, self._last_round = self._last_round, self._monotonic()
        time_before, self._last_time = self._last_time or now, now
        # The monotonic clock stops while a computer sleeps, but heartbeats keep ageing.
        pause_s = max(self._last_round - before, (now - time_before).total_seconds())
        if pause_s > LONGEST_PAUSE_S:
            self._steady_since = self._last_round
        return ours

    def _sweep_again(self) -> None:
        self._ours = self.sweep()

    def _tidy_in_turn(self) -> float | None:
        if not self._ours:
            return SWEEP_EVERY_S
        self.tidy()
        return None
