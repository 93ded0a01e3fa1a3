"""A slot: one child process that runs one task at a time and can be ended at any moment.

Time-outs must hold even for native code that never gives the interpreter back, and a crash of native code must take
nothing else down. Both need a process of its own behind a pipe of its own; a shared pool can lose more than the guilty
task when one child dies.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from vbdesk.service.work.fence import fence

CONTEXT = multiprocessing.get_context("spawn")
START_LIMIT_S = 120.0  # imports and model sessions on a busy machine
END_LIMIT_S = 5.0
MAX_TASKS = 200
PR_SET_PDEATHSIG = 1
ORPHANED = 99

Task = Callable[..., Any]
Prepare = Callable[[], None]


class SlotError(Exception):
    """A task that gave no result."""


class TaskTimedOut(SlotError):
    """The task was ended because its time was over."""


class ChildCrashed(SlotError):
    """The child died under the task, or before it."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"The analysis process ended with code {exit_code}.")
        self.exit_code = exit_code


class TaskFailed(SlotError):
    """The task raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class SlotClosed(SlotError):
    """The slot was closed while the task ran, or before it."""


@dataclass(slots=True)
class _Child:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    tasks_done: int = 0

    def kill(self) -> None:
        with suppress(ValueError):  # already ended and closed
            self.process.kill()

    def end(self) -> int | None:
        self.process.kill()
        self.process.join(END_LIMIT_S)
        self.pipe.close()
        exit_code = self.process.exitcode
        self.process.close()
        return exit_code


class Slot:
    """One supervised child, replaced whenever it was ended, has crashed or has grown old."""

    def __init__(
        self, prepare: Prepare, nursery: Executor, *, memory_bytes: int | None = None, max_tasks: int = MAX_TASKS
    ) -> None:
        """Start the first child.

        Args:
            prepare: run once in every new child: imports and model sessions.
            nursery: an executor whose thread outlives the slot. On Linux a child is tied to the *thread* that started
                it, so short-lived threads must not start any.
            memory_bytes: what a task may take beyond what the prepared child holds, where the system can bound it.
            max_tasks: after so many tasks a child is replaced, lest memory creep.
        """
        self._prepare = prepare
        self._memory_bytes = memory_bytes
        self._nursery = nursery
        self._max_tasks = max_tasks
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._child: Future[_Child] = nursery.submit(_spawn, prepare, memory_bytes)

    def wait_ready(self) -> None:
        """Wait until the child has prepared itself, so that this does not count as a task's time.

        Raises:
            ChildCrashed: it died on the way.
            SlotClosed: the slot was closed.
        """
        with self._busy:
            self._ready_child()

    def run(self, task: Task, *args: Any, timeout_s: float) -> Any:
        """Run `task(*args)` in the child; all of them must pickle.

        Raises:
            TaskTimedOut: not finished within `timeout_s`; the child is gone.
            ChildCrashed: the child died.
            TaskFailed: the task raised.
            SlotClosed: `close` was called.
        """
        with self._busy:
            child = self._ready_child()
            ends_at = time.monotonic() + timeout_s
            try:
                child.pipe.send((task, args))
                return self._receive(child, ends_at)
            except (OSError, EOFError):
                raise self._lost() from None

    def close(self) -> None:
        """End the child at once, whatever it does. Call it once."""
        self._closing.set()
        self._child.result().kill()  # a running task sees its child die and lets go of the lock
        with self._busy:
            self._child.result().end()

    def _ready_child(self) -> _Child:
        if self._closing.is_set():
            raise SlotClosed("The service is stopping.")
        child = self._child.result()
        if child.tasks_done >= self._max_tasks or not child.process.is_alive():
            self._replace()
            child = self._child.result()
        if not child.ready:
            try:
                if not child.pipe.poll(START_LIMIT_S):
                    raise self._lost()
                child.pipe.recv()
            except (OSError, EOFError):
                raise self._lost() from None
            child.ready = True
        return child

    def _receive(self, child: _Child, ends_at: float) -> Any:
        wait([child.pipe, child.process.sentinel], max(0.0, ends_at - time.monotonic()))
        if not child.pipe.poll():
            if child.process.is_alive() and time.monotonic() >= ends_at:
                self._replace()
                raise TaskTimedOut("The analysis did not finish in time.")
            raise EOFError
        succeeded, value = child.pipe.recv()
        child.tasks_done += 1
        if not succeeded:
            raise TaskFailed(*value)
        return value

    def _lost(self) -> SlotError:
        """What to raise for a child that is gone; its replacement is already on the way."""
        if self._closing.is_set():
            return SlotClosed("The service is stopping.")
        return ChildCrashed(self._replace())

    def _replace(self) -> int | None:
        exit_code = self._child.result().end()
        self._child = self._nursery.submit(_spawn, self._prepare, self._memory_bytes)
        return exit_code


def _spawn(prepare: Prepare, memory_bytes: int | None) -> _Child:
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(
        target=_serve, args=(theirs, prepare, memory_bytes, os.getpid()), name="vbdesk-slot", daemon=True
    )
    process.start()
    theirs.close()
    return _Child(process, ours)


def _serve(pipe: Connection, prepare: Prepare, memory_bytes: int | None, parent: int) -> None:
    """The child: announce readiness, then answer one task after the other until the pipe closes."""
    _die_with(parent)
    for interrupt in (signal.SIGINT, signal.SIGTERM):  # the parent decides when this ends
        signal.signal(interrupt, signal.SIG_IGN)
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(library, "1")  # parallel across slots, not inside one
    prepare()
    fence(memory_bytes)
    pipe.send("ready")
    while True:
        try:
            task, args = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, task(*args))
        except Exception as error:
            answer = (False, (type(error).__name__, str(error)[:500]))
        pipe.send(answer)


def _die_with(parent: int) -> None:
    """Tie this process to its parent, so that a killed service leaves no analysis behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also holds while native code keeps the interpreter
        if os.getppid() != parent:
            os._exit(ORPHANED)
        return
    guardian = multiprocessing.parent_process()
    if guardian is not None:
        threading.Thread(target=_exit_after, args=(guardian.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(ORPHANED)
