"""Supervision of a process's runtime, including recovery after it was removed as dead.

A process that was suspended or cut off from the database for too long finds its jobs given to others. Its own results
for them no longer count: it ends their children and restarts under another name.
"""

import logging
import socket
import threading
from collections.abc import Callable

from vbdesk.contract.ids import new_id
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.engine.runtime import EMBEDDED_EXECUTOR, Runtime
from vbdesk.service.kernel.periodic import PeriodicJob, PeriodicWorker
from vbdesk.service.ports.context import Context

CHECK_INTERVAL_S = 0.2
RESTART_PAUSE_S = 2.0
LONGEST_HOST = 40

log = logging.getLogger(__name__)


class RuntimeSupervisor:
    """Runs one runtime at a time, and replaces it when needed."""

    def __init__(self, make: Callable[[], Runtime], pause_s: float = RESTART_PAUSE_S) -> None:
        """Create the first runtime; `make` gives each a new name. A failed start is retried after a pause."""
        self._make = make
        self._pause_s = pause_s
        self._runtime = make()
        self._turn = threading.Lock()
        self._watch = PeriodicWorker(
            (PeriodicJob("supervisor", CHECK_INTERVAL_S, self._check, first_after_s=CHECK_INTERVAL_S),)
        )
        self._stopping = self._watch.stopping

    @property
    def executor_id(self) -> str:
        """Current name of this executor."""
        return self._runtime.executor_id

    @property
    def engine_launched(self) -> bool:
        """Whether the engine takes jobs."""
        return self._runtime.engine_launched

    @property
    def last_beat(self) -> float | None:
        """Time of the last heartbeat, by `time.monotonic`."""
        return self._runtime.last_beat

    @property
    def children_start(self) -> bool:
        """Whether the newest child process became ready, if one was needed."""
        return self._runtime.children_start

    def start(self) -> None:
        """Start and watch the runtime."""
        self._runtime.start()
        self._watch.start()

    def drain(self, grace_s: float, stop_now: threading.Event) -> None:
        """Take no more jobs; wait for running ones until the grace period ends or `stop_now` is set; then stop."""
        self._stopping.set()
        with self._turn:
            self._runtime.drain(grace_s, stop_now)

    def stop(self) -> None:
        """Hand back the running jobs and stop everything."""
        self._watch.stop()
        self._runtime.stop()

    def _check(self) -> None:
        with self._turn:
            if self._runtime.taken_for_dead and not self._stopping.is_set():
                self._restart()

    def _restart(self) -> None:
        log.warning("Executor %s was considered dead by the others. It starts again.", self.executor_id)
        self._stop_whatever()
        while not self._stopping.is_set():
            self._runtime = self._make()
            try:
                self._runtime.start()
            except Exception:  # the database may be away again
                log.exception("The executor could not start again. The next attempt follows.")
                self._stop_whatever()
                self._stopping.wait(self._pause_s)
            else:
                return

    def _stop_whatever(self) -> None:
        try:
            self._runtime.stop()
        except Exception:  # other executors have its jobs or will take them
            log.exception("Work that is given up did not end cleanly.")


def supervise_runtime(context: Context, queue: DbosQueue, *, workers: int) -> RuntimeSupervisor:
    """Create the supervised runtime of a serving process."""

    def make() -> Runtime:
        return Runtime(context, queue, workers=workers, executor_id=_executor_name(context))

    return RuntimeSupervisor(make)


def _executor_name(context: Context) -> str:
    """Create a new name at every start if several processes share a database."""
    if context.database.engine.dialect.name == "sqlite":
        return EMBEDDED_EXECUTOR
    return f"{socket.gethostname()[:LONGEST_HOST]}-{new_id()}"
