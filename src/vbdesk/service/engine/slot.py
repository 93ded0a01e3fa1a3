"""Slot: one child process that runs one task at a time and can be killed at any moment.

Timeouts must work even for native code that never releases the interpreter. A crash of native code must not affect
anything else. Both need a separate process with its own pipe: in a shared pool, one crash can lose other tasks too.

On Linux, children are forked from a warm process that has imported what tasks need (see `warm_imports`). A child starts
within milliseconds, so none waits idle, and imported modules are in memory once. On other systems forking is not safe:
every slot keeps a child with its own imports.

A child gets a recording as an open descriptor, or as bytes where descriptors cannot be passed. A recording encrypted on
the disk is decrypted here, into memory: the child has neither the key nor a file.

A child answers in JSON, which is checked against the return type of its task. A malicious file could control the
answer, and unpickling it would run code here. Requests to a child are trusted and pickled.
"""

import ctypes
import inspect
import io
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import forkserver, reduction
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess, SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_type_hints

from pydantic import TypeAdapter, ValidationError

from vbdesk.service.engine.resource_limits import ended_by_processor_time, limit_processor_time, limit_resources
from vbdesk.service.engine.sandbox import enter

if TYPE_CHECKING:  # children import this module and do not need encryption
    from vbdesk.service.encryption.recording_files import StoredRecording

FORKS = sys.platform == "linux"
CONTEXT = multiprocessing.get_context("forkserver") if FORKS else multiprocessing.get_context("spawn")
WARM = "vbdesk.service.engine.warm_imports"
START_LIMIT_S = 120.0  # imports on a busy machine
START_TRIES = 3
START_PAUSE_S = 0.5
END_LIMIT_S = 5.0
MAX_TASKS = 200
IDLE_S = 20.0
LEAVES_AFTER_S = IDLE_S + 10.0  # automatically; well after its last possible task, so that no task is lost
PR_SET_PDEATHSIG = 1
ORPHANED = 99
READY, SUCCEEDED, FAILED = b"r", b"+", b"-"  # first byte of a child's message
LARGEST_ANSWER_BYTES = 64 * 1024**2
FAILURE: TypeAdapter[tuple[str, str]] = TypeAdapter(tuple[str, str])
CLASS_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
LONGEST_TEMPORARY_FOLDER = 70  # bytes, so that a socket path below it stays within Linux's limit of 107

_COPY_BYTES = 1024 * 1024

if FORKS:
    import fcntl

    CONTEXT.set_forkserver_preload([WARM])
    _READ_ONLY = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

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
    process: SpawnProcess | ForkServerProcess
    pipe: Connection
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

    def worn_out(self, max_tasks: int, idle_s: float) -> bool:
        idle = FORKS and time.monotonic() - self.rests_since > idle_s
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
    ) -> None:
        """Create without starting a child.

        Args:
            prepare: runs once in every new child: imports, which a warm process may have done already.
            memory_bytes: memory of a task in addition to the prepared child's, where the system can limit it.
            max_tasks: tasks after which a child is replaced, to limit memory growth.
            idle_s: how long a forked child waits for its next task, `IDLE_S` at most.
            readable: files and folders that tasks may read, in addition to the program itself.
        """
        self._readable = readable
        self._prepare = prepare
        self._memory_bytes = memory_bytes
        self._max_tasks = max_tasks
        self._idle_s = idle_s
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._child: _Child | None = None
        if FORKS:
            _ensure_warm_process()
        else:
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
        with self._busy, _opened(recording) as opened:
            child = self._ready_child()
            ends_at = time.monotonic() + timeout_s
            try:
                child.pipe.send((task, args, opened is not None, processor_s))
                if opened is not None and FORKS:
                    reduction.send_handle(child.pipe, opened.fileno(), child.process.pid or 0)
                elif opened is not None:
                    child.pipe.send_bytes(opened.read())
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
        self._child = None if FORKS else self._start()
        return exit_code

    def _start(self) -> _Child:
        for _ in range(START_TRIES):
            ours, theirs = CONTEXT.Pipe()
            arguments = (theirs, self._prepare, self._memory_bytes, self._readable)
            process = CONTEXT.Process(target=_serve, args=arguments, name="vbdesk-slot", daemon=True)
            try:
                process.start()
            except (OSError, EOFError):  # the warm process is dying; another is started when it is dead
                ours.close()
                self._closing.wait(START_PAUSE_S)
            else:
                return _Child(process, ours)
            finally:
                theirs.close()
        raise ChildCrashed(None)


def tame_libraries() -> None:
    """Set variables that numerical libraries read on import. Call it before importing them."""
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(library, "1")  # parallel across slots, not inside one
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime would send telemetry from its own thread


def _serve(pipe: Connection, prepare: Prepare, memory_bytes: int | None, readable: Sequence[Path]) -> None:
    """Run in the child: report readiness, then run tasks until the pipe closes."""
    _die_with_the_service()
    for interrupt in (signal.SIGINT, signal.SIGTERM):  # the parent decides when this ends
        signal.signal(interrupt, signal.SIG_IGN)
    if FORKS:
        _close_all_but(pipe)
    tame_libraries()
    prepare()
    limit_resources(memory_bytes)
    enter(readable)
    pipe.send_bytes(READY)
    while pipe.poll(LEAVES_AFTER_S if FORKS else None):
        try:
            task, args, with_recording, processor_s = pipe.recv()
            opened = _take_over(pipe) if with_recording else None
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


def _take_over(pipe: Connection) -> BinaryIO:
    """Receive the recording as a descriptor, or as bytes where children are not forked."""
    return os.fdopen(reduction.recv_handle(pipe), "rb") if FORKS else io.BytesIO(pipe.recv_bytes())


@contextmanager
def _opened(recording: "StoredRecording | None") -> Iterator[BinaryIO | None]:
    """Open the recording for a child. Raises TaskFailed, like a task that cannot open it."""
    if recording is None:
        yield None
        return
    try:
        file: BinaryIO = recording.open("rb")
        if FORKS and not _has_descriptor(file):
            with file:
                file = _in_memory(file)
    except Exception as error:
        raise TaskFailed(type(error).__name__, str(error)) from None
    with file:
        yield file


def _has_descriptor(file: BinaryIO) -> bool:
    """Return whether the recording is stored unencrypted, so that the system can read it by descriptor."""
    try:
        file.fileno()
    except io.UnsupportedOperation:
        return False
    return True


def _in_memory(file: BinaryIO) -> BinaryIO:
    """Copy the content to a read-only file in memory that has a descriptor. Raises OSError."""
    descriptor = os.memfd_create("recording", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(descriptor, "w+b", buffering=0) as copy:
        shutil.copyfileobj(file, copy, _COPY_BYTES)
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _READ_ONLY)
        copy.seek(0)
        return os.fdopen(os.dup(copy.fileno()), "rb")


@lru_cache(maxsize=64)
def _answer_type(task: Task) -> TypeAdapter[Any]:
    """Return the return type of the task."""
    said = task if inspect.isroutine(task) else type(task).__call__
    return TypeAdapter(get_type_hints(said)["return"])


def _close_all_but(pipe: Connection) -> None:
    """Close inherited descriptors, such as the pipes of sibling processes."""
    kept = {0, 1, 2, pipe.fileno()}
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if number not in kept:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(number)


def _die_with_the_service() -> None:
    """End this process with the service, so that a killed service leaves no analysis behind."""
    guardian = multiprocessing.parent_process()
    if guardian is None:
        return
    if FORKS:
        # The warm process ends with the service. The kernel then ends its children, even while native code holds the
        # interpreter. WORKAROUND: each child inherits the pipe that makes the warm process exit when it is closed, and
        # could use that process too (multiprocessing.forkserver of Python 3.11).
        os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if not guardian.is_alive():
            os._exit(ORPHANED)
        return
    threading.Thread(target=_exit_after, args=(guardian.sentinel,), daemon=True).start()


def _ensure_warm_process() -> None:
    """Start the warm process if it is not running. Its socket is in /tmp if the temporary folder's name is long."""
    usual = tempfile.gettempdir()
    if len(os.fsencode(usual)) > LONGEST_TEMPORARY_FOLDER:
        tempfile.tempdir = "/tmp"  # noqa: S108 - a private folder is made in it
    try:
        forkserver.ensure_running()
    finally:
        tempfile.tempdir = usual


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(ORPHANED)
