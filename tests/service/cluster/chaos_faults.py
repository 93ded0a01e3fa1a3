"""Faults for a cluster: kills, pauses, database restarts, a failing store, broken connections."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from cluster import Cluster
from own_postgresql import OwnPostgresql
from served import ReadyProcess, VbdeskProcess
from store_server import StoreServer

LONGEST_PAUSE_S = 60.0
SHORTEST_PAUSE_S = 21.0  # longer than the timeout for heartbeats


class Faults:
    """Injects faults one after the other; pauses overlap with other faults. `counts` records them by kind."""

    def __init__(
        self,
        cluster: Cluster,
        postgresql: OwnPostgresql,
        store: StoreServer,
        chance: random.Random,
        longest_pause_s: float = LONGEST_PAUSE_S,
    ) -> None:
        self._cluster, self._postgresql, self._store = cluster, postgresql, store
        self._chance, self._longest_pause_s = chance, longest_pause_s
        self._paused: dict[VbdeskProcess, threading.Timer] = {}
        self.counts: Counter[str] = Counter()
        self.kinds: Sequence[Callable[[], None]] = (
            self.pause_worker,
            self.kill_api,
            self.kill_worker,
            self.lose_worker_for_ever,
            self.kill_child,
            self.kill_store,
            self.let_store_refuse_some,
            self.let_store_refuse_all,
            self.let_store_lose_answers,
            self.restart_database,
            self.kill_postmaster,
            self.cut_connections,
        )

    def strike(self, seconds: float, *, longest_gap_s: float) -> None:
        """Inject every kind once in random order, then random kinds until the time is over."""
        ends_at = time.monotonic() + seconds
        # a pause first, so that it ends before the other faults do
        kinds = [self.kinds[0], *self._chance.sample(self.kinds[1:], len(self.kinds) - 1)]
        while kinds or time.monotonic() < ends_at:
            kind = kinds.pop(0) if kinds else self._chance.choice(self.kinds)
            self.counts[kind.__name__] += 1
            kind()
            time.sleep(self._chance.uniform(0.2, longest_gap_s))

    def repair(self) -> None:
        """Restore normal operation."""
        for timer in self._paused.values():
            timer.cancel()
        for worker in list(self._paused):
            self._resume(worker)
        self._store.set_mood()
        self._cluster.start()

    def pause_worker(self) -> None:
        """Send SIGSTOP, and SIGCONT long after others removed the worker as dead."""
        awake = [worker for worker in self._cluster.workers if worker not in self._paused]
        if len(awake) < 2:
            return
        worker = self._chance.choice(awake)
        worker.pause()
        seconds = self._chance.uniform(SHORTEST_PAUSE_S, self._longest_pause_s)
        self._paused[worker] = threading.Timer(seconds, self._resume, [worker])
        self._paused[worker].start()

    def kill_api(self) -> None:
        self._kill_and_start(self._chance.choice(self._cluster.apis))

    def kill_worker(self) -> None:
        self._kill_and_start(self._chance.choice(self._cluster.workers))

    def lose_worker_for_ever(self) -> None:
        """Remove a worker with its machine; add another one with an empty folder."""
        lost = self._chance.choice(self._cluster.workers)
        self._forget_pause(lost)
        self._cluster.lose(lost)
        self._cluster.add_workers(1)
        self._cluster.start()

    def kill_child(self) -> None:
        """Kill a child that inspects or analyses recordings, or the process from which they are forked."""
        children = [pid for process in self._cluster.processes if process.runs for pid in process.processes()[1:]]
        if children:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(children), signal.SIGKILL)

    def kill_store(self) -> None:
        self._kill_and_start(self._store)

    def let_store_refuse_some(self) -> None:
        self._be_in_a_mood(refuse=0.3)

    def let_store_refuse_all(self) -> None:
        self._be_in_a_mood(refuse=1.0)

    def let_store_lose_answers(self) -> None:
        self._be_in_a_mood(lose=0.3)

    def restart_database(self) -> None:
        self._postgresql.stop_at_once()
        time.sleep(self._chance.uniform(0.0, 2.0))
        self._postgresql.start()

    def kill_postmaster(self) -> None:
        self._postgresql.kill()
        self._postgresql.start()

    def cut_connections(self) -> None:
        self._cluster.proxy.cut()

    def _be_in_a_mood(self, **mood: float) -> None:
        self._store.set_mood(**mood)
        time.sleep(self._chance.uniform(1.5, 4.0))
        self._store.set_mood()

    def _kill_and_start(self, process: ReadyProcess) -> None:
        if isinstance(process, VbdeskProcess):
            self._forget_pause(process)
        process.kill()
        time.sleep(self._chance.uniform(0.0, 2.0))
        process.start()

    def _forget_pause(self, worker: VbdeskProcess) -> None:
        timer = self._paused.pop(worker, None)
        if timer is not None:
            timer.cancel()

    def _resume(self, worker: VbdeskProcess) -> None:
        if self._paused.pop(worker, None) is not None:
            worker.resume()
