"""Slot: one child process that runs one task at a time and can be killed at any moment.

Timeouts must work even for native code that never releases the interpreter. A crash of native code must not affect
anything else. Both need a separate process with its own pipe: in a shared pool, one crash can lose other tasks too.

How a child is made and gets a recording differs between systems: see `slot_children`.

A child answers in JSON, which is checked against the return type of its task. A malicious file could control the
answer, and unpickling it would run code here. Requests to a child are trusted and pickled.
"""

import inspect
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_type_hints

from pydantic import TypeAdapter, ValidationError

from vbdesk.privacy import disable_core_dumps
from vbdesk.service.engine.sandbox import enter
from vbdesk.service.engine.slot_children import Children, Pipe, usual_children

if TYPE_CHECKING:  # children import this module and do not need encryption
    from vbdesk.service.encryption.recording_files import StoredRecording


START_LIMIT_S = 120.0  # imports on a busy machine
START_TRIES = 3
START_PAUSE_S = 0.5
END_LIMIT_S = 5.0
MAX_TASKS = 200
IDLE_S = 20.0
LEAVES_AFTER_S = IDLE_S + 10.0  # automatically; well after its last possible task, so that no task is lost
READY, SUCCEEDED, FAILED = b"r", b"+", b"-"  # first byte of a child's message
LARGEST_ANSWER_BYTES = 64 * 1024**2
FAILURE: TypeAdapter[tuple[str, str]] = TypeAdapter(tuple[str, str])
CLASS_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)

Task = Callable[..., Any]
Prepare = Callable[[], None]


class SlotError(Exception):
    """Task without a result."""


class TaskTimedOut(SlotError):
    """The task was killed after its timeout, or used up its processor time."""


class ChildCrashed(SlotError):
    """The child died during the task or before it."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"The analysis process ended with code {exit_code}.")
        self.exit_code = exit_code


class TaskFailed(SlotError):
    """The task raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class SlotClosed(SlotError):
    """The slot was closed during the task or before it."""


@dataclass(slots=True)
class _Child:
    process: BaseProcess
    pipe: Pipe
    ready: bool = False
    tasks_done: int = 0
    rests_since: float = field(default_factory=time.monotonic)

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

    def worn_out(self, max_tasks: int, idle_s: float | None) -> bool:
        idle = idle_s is not None and time.monotonic() - self.rests_since > idle_s
        return idle or self.tasks_done >= max_tasks or not self.process.is_alive()


class Slot:
    """One supervised child at a time, replaced after a kill, a crash or its last task."""

    def __init__(
        self,
        prepare: Prepare,
        *,
        memory_bytes: int | None = None,
        max_tasks: int = MAX_TASKS,
        idle_s: float = IDLE_S,
        readable: Sequence[Path] = (),
        children: Children | None = None,
    ) -> None:
        """Create without starting a child, except where a child's start takes long.

        Args:
            prepare: runs once in every new child: imports, which a warm process may have done already.
            memory_bytes: memory of a task in addition to the prepared child's, where the system can limit it.
            max_tasks: tasks after which a child is replaced, to limit memory growth.
            idle_s: how long a forked child waits for its next task, `IDLE_S` at most.
            readable: files and folders that tasks may read, in addition to the program itself.
            children: how children are made; the way of this system if None.
        """
        self._children = children or usual_children()
        self._readable = readable
        self._prepare = prepare
        self._memory_bytes = memory_bytes
        self._max_tasks = max_tasks
        self._idle_s = None if self._children.start_early else idle_s
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._child: _Child | None = None
        self._children.warm_up()
        if self._children.start_early:
            self._child = self._start()

    def wait_ready(self) -> None:
        """Wait for a prepared child, so that its start does not count towards a task's timeout.

        Raises:
            ChildCrashed: it died during its start.
            SlotClosed: the slot was closed.
        """
        with self._busy:
            self._ready_child()

    def run(
        self,
        task: Task,
        *args: Any,
        timeout_s: float,
        processor_s: float | None = None,
        recording: "StoredRecording | None" = None,
    ) -> Any:
        """Run `task(*args)` in the child; all of them must pickle.

        Args:
            task: function whose return annotation the answer must match.
            args: arguments of the task.
            timeout_s: how long it may run.
            processor_s: how much processor time it may use; not limited on Windows.
            recording: passed to the task, open for reading, as first argument. The child may open no file.

        Raises:
            TaskTimedOut: not finished within `timeout_s` or `processor_s`; the child was killed.
            ChildCrashed: the child died.
            TaskFailed: the task raised.
            SlotClosed: `close` was called.
        """
        with self._busy, _opened(recording, self._children) as opened:
            child = self._ready_child()
            ends_at = time.monotonic() + timeout_s
            try:
                child.pipe.send((task, args, opened is not None, processor_s))
                if opened is not None:
                    self._children.send(child.pipe, opened, child.process.pid or 0)
                return self._receive(child, task, ends_at)
            except (OSError, EOFError, ValidationError):
                raise self._lost(child) from None

    def close(self) -> None:
        """Kill the child at once. Call it once."""
        self._closing.set()
        child = self._child  # a child that starts after this line finds the slot closing
        if child is not None:
            child.kill()  # a running task sees its child die and releases the lock
        with self._busy:
            if self._child is not None:
                self._child.end()

    def _ready_child(self) -> _Child:
        child = None if self._closing.is_set() else self._live_child()
        if child is None or self._closing.is_set():  # check again: `close` looks for a child before it waits
            raise SlotClosed("The service is stopping.")
        if not child.ready:
            try:
                if not child.pipe.poll(START_LIMIT_S):
                    raise self._lost(child)
                self._read(child)
            except (OSError, EOFError):
                raise self._lost(child) from None
            child.ready = True
        return child

    def _live_child(self) -> _Child:
        if self._child is not None and self._child.worn_out(self._max_tasks, self._idle_s):
            self._discard(self._child)
        if self._child is None:
            self._child = self._start()
        return self._child

    def _receive(self, child: _Child, task: Task, ends_at: float) -> Any:
        wait([child.pipe, child.process.sentinel], max(0.0, ends_at - time.monotonic()))
        if not child.pipe.poll():
            if child.process.is_alive() and time.monotonic() >= ends_at:
                self._discard(child)
                raise TaskTimedOut("The analysis did not finish in time.")
            raise EOFError
        kind, content = self._read(child)
        if kind == SUCCEEDED:
            answer = _answer_type(task).validate_json(content)
        elif kind == FAILED:
            name, message = FAILURE.validate_json(content)
            if not CLASS_NAME.fullmatch(name):
                raise EOFError
        else:
            raise EOFError
        child.tasks_done += 1
        child.rests_since = time.monotonic()
        if kind == FAILED:
            raise TaskFailed(name, message)
        return answer

    def _read(self, child: _Child) -> tuple[bytes, bytes]:
        """Read a message of the child: kind and content. The child may never finish its message."""
        watchdog = threading.Timer(END_LIMIT_S, child.kill)
        watchdog.start()
        try:
            said = child.pipe.recv_bytes(LARGEST_ANSWER_BYTES)
        finally:
            watchdog.cancel()
        return said[:1], said[1:]

    def _lost(self, child: _Child) -> SlotError:
        """Return the exception for a child that is gone."""
        if self._closing.is_set():
            return SlotClosed("The service is stopping.")
        exit_code = self._discard(child)
        if ended_by_processor_time(exit_code):
            return TaskTimedOut("The task used up its processor time.")
        return ChildCrashed(exit_code)

    def _discard(self, child: _Child) -> int | None:
        exit_code = child.end()
        self._child = self._start() if self._children.start_early else None
        return exit_code

    def _start(self) -> _Child:
        arguments = (self._children, self._prepare, self._memory_bytes, self._readable)
        for _ in range(START_TRIES):
            try:
                return _Child(*self._children.start(_serve, *arguments))
            except (OSError, EOFError):
                self._closing.wait(START_PAUSE_S)
        raise ChildCrashed(None)


def tame_libraries() -> None:
    """Set variables that numerical libraries read on import. Call it before importing them."""
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(library, "1")  # parallel across slots, not inside one
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime would send telemetry from its own thread


def _serve(
    pipe: Pipe,
    children: Children,
    prepare: Prepare,
    memory_bytes: int | None,
    readable: Sequence[Path],
) -> None:
    """Run in the child: report readiness, then run tasks until the pipe closes."""
    children.settle(pipe)
    for interrupt in (signal.SIGINT, signal.SIGTERM):  # the parent decides when this ends
        signal.signal(interrupt, signal.SIG_IGN)
    tame_libraries()
    prepare()
    limit_resources(memory_bytes)
    enter(readable)
    pipe.send_bytes(READY)
    while pipe.poll(None if children.start_early else LEAVES_AFTER_S):
        try:
            task, args, with_recording, processor_s = pipe.recv()
            opened = children.receive(pipe) if with_recording else None
        except (EOFError, ConnectionResetError):  # the service has ended, perhaps by a kill
            return
        limit_processor_time(processor_s)
        try:
            with opened or nullcontext():
                value = task(*args) if opened is None else task(opened, *args)
            said = SUCCEEDED + _answer_type(task).dump_json(value)
        except Exception as error:
            said = FAILED + FAILURE.dump_json((type(error).__name__, str(error)[:500]))
        with suppress(BrokenPipeError):  # the service was killed; the next round reads the end of the pipe
            pipe.send_bytes(said)


@contextmanager
def _opened(recording: "StoredRecording | None", children: Children) -> Iterator[BinaryIO | None]:
    """Open the recording for a child. Raises TaskFailed, like a task that cannot open it."""
    if recording is None:
        yield None
        return
    try:
        file = children.passable(recording.open("rb"))
    except Exception as error:
        raise TaskFailed(type(error).__name__, str(error)) from None
    with file:
        yield file


@lru_cache(maxsize=64)
def _answer_type(task: Task) -> TypeAdapter[Any]:
    """Return the return type of the task."""
    said = task if inspect.isroutine(task) else type(task).__call__
    return TypeAdapter(get_type_hints(said)["return"])


MEMORY_SIZE = Path("/proc/self/statm")


def limit_resources(memory_bytes: int | None) -> bool:
    """Limit this process's memory, and disable core dumps, which would write its memory to the disk.

    Past the limit an allocation fails: Python code sees `MemoryError`, native code usually crashes. Windows has no such
    limit and macOS does not enforce it: there only a timeout limits a task.

    Args:
        memory_bytes: memory in addition to current use; None sets no limit.

    Returns:
        Whether the memory is limited from now on.
    """
    if sys.platform == "win32":
        return False
    import resource

    disable_core_dumps()
    if memory_bytes is None or not MEMORY_SIZE.exists():
        return False
    pages = int(MEMORY_SIZE.read_text().split()[0])
    limit = pages * resource.getpagesize() + memory_bytes
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    if hard_limit != resource.RLIM_INFINITY and hard_limit < limit:
        return True  # a lower limit is already set
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return True


def limit_processor_time(seconds: float | None) -> None:
    """Let this process use so much processor time from now on; then the system ends it with SIGXCPU.

    The system counts whole seconds, of all threads. Windows has no such limit.

    Args:
        seconds: None removes the limit.
    """
    if sys.platform == "win32":
        return
    import resource

    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    limit = hard_limit if seconds is None else math.ceil(time.process_time() + seconds)
    if hard_limit != resource.RLIM_INFINITY:
        limit = min(limit, hard_limit)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard_limit))


def ended_by_processor_time(exit_code: int | None) -> bool:
    """Return whether the system ended a child because of `limit_processor_time`."""
    if sys.platform == "win32":
        return False
    import signal

    return exit_code == -signal.SIGXCPU
