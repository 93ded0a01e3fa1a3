"""Readings of earlier calibrations, made again after an upgrade without a person, while no job waits."""

import contextlib
import logging
import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.ids import new_id
from vbdesk.service.engine import leases, outdated_readings
from vbdesk.service.engine.analysis import Analysis, present_calibration
from vbdesk.service.engine.job_runner import NoChildStarts
from vbdesk.service.engine.outdated_readings import DONE, FAILED
from vbdesk.service.engine.queue_state import read_queue_state
from vbdesk.service.engine.recomputed_readings import Outcome, ReadingRecomputer
from vbdesk.service.engine.shared_clock import SharedTime
from vbdesk.service.engine.slot import ChildCrashed, SlotClosed
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.periodic import PeriodicJob
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.store import StoreUnavailable

TASK = "recompute"
FIRST_AFTER_S = 300.0  # a restart has enough to do, and a process that cannot stay up analyses nothing again
PAUSE_S = 10.0  # between two rounds, and while jobs wait
SEARCH_INTERVAL_S = 6 * 3600.0  # a process of an older release may have added readings meanwhile
AT_ONCE = 10
"""Recordings in a round. At a second for each, an idle service spends half of one processor's time."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Pass:
    """The readings of one search."""

    due: deque[str]
    given_up: int
    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))


class BackgroundRecompute:
    """Makes readings again, one recording at a time over all processes.

    It uses the process's own slots, and only a free one, so that it needs no memory of its own. A job that arrives
    meanwhile waits for one analysis at most. Each attempt is noted before it begins, so that a recording that ends its
    process is tried three times and no more.
    """

    def __init__(
        self,
        context: Context,
        slots: SlotPool,
        analysis: Analysis,
        shared_time: SharedTime,
        *,
        version: str | None = None,
        first_after_s: float = FIRST_AFTER_S,
    ) -> None:
        """Create without starting.

        Args:
            context: dependencies of the service.
            slots: slots of this process.
            analysis: task of a child.
            shared_time: clock of leases.
            version: the present calibration; asked of a child if None.
            first_after_s: how long after the start the first round begins.
        """
        self._context, self._slots, self._time = context, slots, shared_time
        self._version, self._first_after_s = version, first_after_s
        self._recomputer = ReadingRecomputer(context.database, context.storage, context.settings, slots, analysis)
        self._pass: _Pass | None = None
        self._longest = timedelta(seconds=2 * context.settings.job_timeout_s + 60)
        self._holder = new_id()
        self._stopping = threading.Event()

    def job(self) -> PeriodicJob:
        """The rounds, of which one process at a time does any."""
        return PeriodicJob(
            "recompute",
            PAUSE_S,
            self._round_until_closed,
            first_after_s=self._first_after_s,
            longest_pause_s=6 * PAUSE_S,
            expected=(SQLAlchemyError, StoreUnavailable, NoChildStarts),
            at_end=self.leave,
        )

    def pause(self) -> None:
        """Begin no other recording."""
        self._stopping.set()

    def leave(self) -> None:
        """Release the lease, after the slots were closed."""
        with self._context.database.writing() as connection:
            leases.give_up(connection, TASK, self._holder)

    def round(self) -> float:
        """Make up to `AT_ONCE` readings again; return the seconds until the next round.

        Raises:
            SlotClosed: the process stops.
            NoChildStarts: this machine cannot start an analysis process.
            StoreUnavailable, SQLAlchemyError: the store or the database is away.
        """
        for _ in range(AT_ONCE):
            if not self._may_go_on():
                return PAUSE_S
            version = self._version = self._version or self._ask_version()
            found = self._pass = self._pass or self._search(version)
            if not found.due:
                self._end(found)
                return SEARCH_INTERVAL_S
            self._recompute(found, found.due.popleft(), version)
        return PAUSE_S

    def _may_go_on(self) -> bool:
        """Whether nothing else needs the slots, and this process holds the lease, renewed for the next recording."""
        context = self._context
        if self._stopping.is_set() or context.draining.is_set() or context.disk.is_reached():
            return False
        if not self._slots.has_free:
            return False
        with context.database.reading() as connection:
            if read_queue_state(connection, context.clock.now()).waiting:
                return False
        with context.database.writing() as connection:
            ours = leases.take(connection, TASK, self._holder, self._time.now(connection), self._longest)
        if not ours:
            self._pass = None  # the holder of the lease searches
            self._report(0, 0)
        return ours

    def _ask_version(self) -> str:
        with self._slots.borrow() as slot:
            try:
                slot.wait_ready()
                version: str = slot.run(
                    present_calibration,
                    self._context.settings.norms_file,
                    timeout_s=self._context.settings.job_timeout_s,
                )
            except ChildCrashed:
                raise NoChildStarts from None
        return version

    def _search(self, version: str) -> _Pass:
        found = outdated_readings.search(self._context.database, version, self._stopping.is_set)
        self._report(len(found.due), found.given_up)
        if found.due:
            log.info(
                "%d readings of groups were made by an earlier calibration than %s and their recordings are kept. They "
                "are made again while no job waits.",
                len(found.due),
                version,
            )
        return _Pass(deque(found.due), found.given_up)

    def _recompute(self, found: _Pass, job_id: str, version: str) -> None:
        database = self._context.database
        with database.reading() as connection:
            row = outdated_readings.find_usable(connection, job_id)
            due = row is not None and outdated_readings.is_outdated(connection, row, version)
        claimed = False

        def claim() -> bool:
            nonlocal claimed
            claimed = self._claim(job_id, version)
            return claimed

        outcome = None
        if row is not None and due:
            try:
                outcome = self._recomputer.recompute_one(row, claim)
            except SlotClosed:
                if claimed:
                    database.write(lambda connection: outdated_readings.hand_back(connection, job_id, version))
                raise
        if outcome is not None:
            ended = DONE if outcome is Outcome.RECOMPUTED else FAILED
            database.write(lambda connection: outdated_readings.conclude(connection, job_id, version, ended))
            found.counts[outcome] += 1
            self._context.metrics.readings_recomputed.labels(outcome.value).inc()
            log.info("Reading of job %s with calibration %s: %s.", job_id, version, outcome.value)
        self._report(len(found.due), found.given_up)

    def _claim(self, job_id: str, version: str) -> bool:
        with self._context.database.writing() as connection:
            now = self._time.now(connection)
            return outdated_readings.claim(connection, job_id, version, now, now - self._longest)

    def _end(self, found: _Pass) -> None:
        self._pass = None
        if any(found.counts.values()):
            counts = ", ".join(f"{count} {outcome.value}" for outcome, count in found.counts.items() if count)
            log.info("No reading of an earlier calibration is left that can be made again now (%s).", counts)
        if found.given_up:
            log.warning(
                "%d readings of an earlier calibration could not be made again in %d attempts. Trajectories mark them.",
                found.given_up,
                outdated_readings.MOST_TRIES,
            )

    def _report(self, due: int, given_up: int) -> None:
        self._context.metrics.outdated_readings.labels("due").set(due)
        self._context.metrics.outdated_readings.labels("given_up").set(given_up)

    def _round_until_closed(self) -> float | None:
        with contextlib.suppress(SlotClosed):  # the process stops
            return self.round()
        return None
