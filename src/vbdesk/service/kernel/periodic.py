"""Work that a process repeats: a table of jobs, one loop, one stop."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

log = logging.getLogger(__name__)


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """One entry of a table of jobs.

    Attributes:
        name: what is done, for the log; also the name of its thread.
        every_s: seconds between two rounds.
        work: does one round; returns the seconds until the next one where they differ.
        first_after_s: seconds before the first round.
        longest_pause_s: failures in a row double the pause, up to this; None keeps it.
        expected: errors of the surroundings, which are logged without a traceback.
        wake: begins the next round at once.
        at_end: what to do after the last round, such as to release a lease.
    """

    name: str
    every_s: float
    work: Callable[[], float | None]
    first_after_s: float = 0.0
    longest_pause_s: float | None = None
    expected: tuple[type[Exception], ...] = (SQLAlchemyError,)
    wake: threading.Event = field(default_factory=threading.Event)
    at_end: Callable[[], None] = _nothing


class PeriodicWorker:
    """Repeats each job of a table in a thread of its own, so that no job delays another.

    Attributes:
        stopping: set when the worker stops; a long round may ask it.
    """

    def __init__(self, table: Sequence[PeriodicJob], stopping: threading.Event | None = None) -> None:
        self._table = table
        self.stopping = stopping or threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(job,), name=f"vbdesk-{job.name}", daemon=True) for job in table
        ]

    def start(self) -> None:
        """Start every job."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Begin no other round, wait for those that run, then end every job."""
        self.stopping.set()
        for job in self._table:
            job.wake.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        for job in self._table:
            try:
                job.at_end()
            except SQLAlchemyError as error:  # leases and heartbeats of this process expire
                log.warning("The database was away (%s) at the end of: %s.", type(error).__name__, job.name)

    def _repeat(self, job: PeriodicJob) -> None:
        pause_s, after_failure_s = job.first_after_s, job.every_s
        while True:
            job.wake.wait(pause_s)
            job.wake.clear()
            if self.stopping.is_set():
                return
            try:
                pause_s = job.work() or job.every_s
                after_failure_s = job.every_s
                continue
            except job.expected as error:
                log.warning("Interrupted (%s): %s. The next round goes on.", type(error).__name__, job.name)
            except Exception:  # the loop must continue after any error
                log.exception("Interrupted: %s. The next round goes on.", job.name)
            pause_s = after_failure_s = min(2 * after_failure_s, job.longest_pause_s or job.every_s)
