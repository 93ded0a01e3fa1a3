"""Keeping the work of a process running, also when the others have taken the process for dead.

A process that was cut off from the database, or stopped, for longer than others wait comes back to find its jobs given
away. What it still holds of them is worth nothing: it ends their children and begins anew under another name.
"""

import logging
import socket
import threading
from collections.abc import Callable

from vbdesk.contract.ids import new_id
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.engine.runtime import EMBEDDED_EXECUTOR, Runtime
from vbdesk.service.ports.context import Context

LOOK_EVERY_S = 0.2
RESTART_PAUSE_S = 2.0
LONGEST_HOST = 40

log = logging.getLogger(__name__)


class RuntimeSupervisor:
    """Runs one runtime after another; never two at a time."""

    def __init__(self, make: Callable[[], Runtime], pause_s: float = RESTART_PAUSE_S) -> None:
        """Prepare the first; `make` gives each a name of its own. A start that fails is tried again after a pause."""
        self._make = make
        self._pause_s = pause_s
        self._runtime = make()
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="vbdesk-supervisor", daemon=True)

    @property
    def executor_id(self) -> str:
        """The present name of this process among those that run jobs."""
        return self._runtime.executor_id

    @property
    def engine_launched(self) -> bool:
        """Whether jobs are taken."""
        return self._runtime.engine_launched

    @property
    def last_beat(self) -> float | None:
        """When the last heartbeat was written, by `time.monotonic`."""
        return self._runtime.last_beat

    @property
    def children_start(self) -> bool:
        """Whether the newest child became ready, as far as one was wanted."""
        return self._runtime.children_start

    def start(self) -> None:
        """Start the runtime, and watch it."""
        self._runtime.start()
        self._thread.start()

    def drain(self, grace_s: float, stop_now: threading.Event) -> None:
        """Take no new job and wait for those under way, until the grace or `stop_now` ends that; then `stop`."""
        self._stopping.set()
        with self._turn:
            self._runtime.drain(grace_s, stop_now)

    def stop(self) -> None:
        """Hand back what is still under way, and stop everything."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._runtime.stop()

    def _keep(self) -> None:
        while not self._stopping.wait(LOOK_EVERY_S):
            with self._turn:
                if self._runtime.taken_for_dead and not self._stopping.is_set():
                    self._restart()

    def _restart(self) -> None:
        log.warning("Executor %s was taken for dead; its work begins anew.", self.executor_id)
        self._stop_whatever()
        while not self._stopping.is_set():
            self._runtime = self._make()
            try:
                self._runtime.start()
            except Exception:  # the database may be away again
                log.exception("The work could not begin anew; trying again.")
                self._stop_whatever()
                self._stopping.wait(self._pause_s)
            else:
                return

    def _stop_whatever(self) -> None:
        try:
            self._runtime.stop()
        except Exception:  # the others have its jobs, or will
            log.exception("Work that is given up did not end cleanly.")


def supervise_runtime(context: Context, queue: DbosQueue, *, workers: int) -> RuntimeSupervisor:
    """The kept runtime of a serving process."""

    def make() -> Runtime:
        return Runtime(context, queue, workers=workers, executor_id=_executor_name(context))

    return RuntimeSupervisor(make)


def _executor_name(context: Context) -> str:
    """A new name at every start where several processes share a database."""
    if context.database.engine.dialect.name == "sqlite":
        return EMBEDDED_EXECUTOR
    return f"{socket.gethostname()[:LONGEST_HOST]}-{new_id()}"
