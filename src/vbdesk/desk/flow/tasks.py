"""Background work: short tasks with one owner, and the long-lived thread of the outbox.

The only module of the desk that makes threads. They are daemons: a call that never returns, such as a keyring that
waits for a password, cannot keep the program from exiting.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client import ErrorKind
from vbdesk.language import Message, message, translated
from vbdesk.outbox.library.disk_faults import disk_fault, file_sentence, refused_sentence

log = logging.getLogger(__name__)

T = TypeVar("T")

PROGRESS_INTERVAL_S = 0.1
CLOSING_TIMEOUT_S = 5.0
_CLOSING_POLL_MS = 50


class TaskCancelled(Exception):
    """Raised inside a task when it was asked to stop."""


class Remedy(StrEnum):
    """What helps against a failure."""

    RETRYABLE = "retryable"
    NEEDS_ATTENTION = "needs_attention"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task failed.

    Attributes:
        reason: a message or an error with one: what happened, what was kept, what to do.
        remedy: whether a retry or the user can help.
        error: the exception.
    """

    reason: object
    remedy: Remedy
    error: Exception

    @property
    def sentence(self) -> str:
        """The reason in the reader's language."""
        return translated(self.reason)

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Describe an error; errors of our own packages, and values that we refuse, have their own sentences."""
        if type(error).__module__.startswith("vbdesk."):
            kind = getattr(error, "kind", None)
            remedy = Remedy(kind.value) if isinstance(kind, ErrorKind) else Remedy.NEEDS_ATTENTION
            return cls(error, remedy, error)
        if isinstance(error, ValueError) and error.args and isinstance(error.args[0], Message):
            return cls(error, Remedy.NEEDS_ATTENTION, error)
        fault = disk_fault(error)
        if fault is not None:
            return cls(refused_sentence(fault), Remedy.RETRYABLE, error)
        if isinstance(error, OSError):
            return cls(file_sentence(error), Remedy.RETRYABLE, error)
        log.warning("A task failed unexpectedly", exc_info=error)
        unexpected = message("Something unexpected happened ({error}). Try again.", error=type(error).__name__)
        return cls(unexpected, Remedy.TERMINAL, error)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a task; `total` is 0 if unknown. `text` say what is under way, for a person."""

    done: int
    total: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Result:
    """What the work of a task returned."""

    value: Any


class TaskContext:
    """A task's view of its runner: cancellation and progress. Used in the worker."""

    def __init__(self, task: "Task") -> None:
        self._task = task
        self._said_at = 0.0

    @property
    def cancelled(self) -> bool:
        """Whether the task was asked to stop."""
        return self._task.stop_asked.is_set()

    def check(self) -> None:
        """Raise if the task has to stop.

        Raises:
            TaskCancelled: it has to stop.
        """
        if self.cancelled:
            raise TaskCancelled

    def wait(self, seconds: float) -> None:
        """Wait; raises TaskCancelled as soon as the task has to stop."""
        if self._task.stop_asked.wait(seconds):
            raise TaskCancelled

    def wait_for(self, parts: Iterable["Stoppable"]) -> None:
        """Wait until parts that were asked to stop have stopped, as long as closing does; raises as `wait` does."""
        deadline = time.monotonic() + CLOSING_TIMEOUT_S
        self.check()
        while any(part.alive() for part in parts) and time.monotonic() < deadline:
            self.wait(_CLOSING_POLL_MS / 1000)

    def progress(self, done: int, total: int = 0, text: str = "") -> None:
        """Report progress; at most ten reports a second arrive, and always the last and those of unknown length."""
        now = time.monotonic()
        if now - self._said_at >= PROGRESS_INTERVAL_S or done == total:
            self._said_at = now
            self._task.report(self._task.progressed, Progress(done, total, text))


class Task(QObject):
    """One piece of work. Lives on the GUI thread; its signals arrive there.

    Signals:
        done: (object) what the work returned.
        failed: (Failure) the work raised.
        progressed: (Progress).
        finished: right after done or failed, with no other event between them; or after a cancellation.
    """

    done = Signal(object)
    failed = Signal(object)
    progressed = Signal(object)
    finished = Signal()
    _ended = Signal(object)

    def __init__(self, work: Callable[[TaskContext], Any], name: str, parent: QObject) -> None:
        super().__init__(parent)
        self.stop_asked = threading.Event()
        self._work = work
        self._lock = threading.Lock()
        self._detached = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._ended.connect(self._tell_end)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Ask the work to stop; it stops at its next check."""
        self.stop_asked.set()

    def alive(self) -> bool:
        """Whether the work still runs."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait for the end of the thread: it must not emit through a deleted object."""
        self._thread.join()

    def detach(self) -> None:
        """Disconnect the work from its receivers."""
        self.stop_asked.set()
        with self._lock:
            self._detached = True

    def report(self, signal: Any, *values: Any) -> None:
        """Emit one of the task's signals from the worker, unless it was detached."""
        with self._lock:
            if not self._detached:
                signal.emit(*values)

    def _run(self) -> None:
        end: _Result | Failure | None = None
        try:
            result = self._work(TaskContext(self))
        except TaskCancelled:
            pass
        except Exception as error:
            end = Failure.of(error)
        else:
            if not self.stop_asked.is_set():
                end = _Result(result)
        self.report(self._ended, end)

    @Slot(object)
    def _tell_end(self, end: "_Result | Failure | None") -> None:
        if self._detached:
            return
        if isinstance(end, _Result):
            self.done.emit(end.value)
        elif end is not None:
            self.failed.emit(end)
        self.finished.emit()


class TaskOwner(QObject):
    """Owner of all tasks of the desk.

    Signals:
        all_ended: after `close`, when nothing runs or the timeout is over.
    """

    all_ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: set[Task] = set()
        self._closing = False
        self._deadline = 0.0
        self._waiting: list[Stoppable] = []
        self._timer = QTimer(self)
        self._timer.setInterval(_CLOSING_POLL_MS)
        self._timer.timeout.connect(self._look_whether_ended)

    def start(
        self,
        work: Callable[[TaskContext], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Failure], None] | None = None,
        progressed: Callable[[Progress], None] | None = None,
        finished: Callable[[], None] | None = None,
        name: str = "task",
    ) -> Task:
        """Run `work` in its own thread; the outcome is passed to slots on the GUI thread.

        Receivers are connected before the work starts.

        Raises:
            TypeError: a receiver is not a method of a QObject; it would run in the worker.
        """
        task = Task(work, name, self)
        receivers = (
            (task.done, done),
            (task.failed, failed),
            (task.progressed, progressed),
            (task.finished, finished),
        )
        for signal, receiver in receivers:
            if receiver is not None:
                if not isinstance(getattr(receiver, "__self__", None), QObject):
                    raise TypeError("Task signals connect only to slots of QObjects.")
                signal.connect(receiver)
        task.finished.connect(self._on_finished)
        self._tasks.add(task)
        if not self._closing:
            task.start()
        return task

    @property
    def busy(self) -> bool:
        """Whether any task runs."""
        return any(task.alive() for task in self._tasks)

    def close(self, *others: "Stoppable", timeout_s: float = CLOSING_TIMEOUT_S) -> None:
        """Ask all tasks and long-lived parts to stop; `all_ended` follows within `timeout_s`."""
        self._closing = True
        self._waiting = list(others)
        for task in self._tasks:
            task.cancel()
        for other in self._waiting:
            other.ask_to_stop()
        self._deadline = time.monotonic() + timeout_s
        self._timer.start()

    @Slot()
    def _look_whether_ended(self) -> None:
        running = self.busy or any(other.alive() for other in self._waiting)
        if running and time.monotonic() < self._deadline:
            return
        self._timer.stop()
        for task in self._tasks:
            task.detach()
        self.all_ended.emit()

    @Slot()
    def _on_finished(self) -> None:
        task = self.sender()
        if isinstance(task, Task):
            self._tasks.discard(task)
            task.join()
            task.deleteLater()


def delete_after(ending: QObject, parts: Iterable["Stoppable"]) -> None:
    """Delete a QObject as soon as what runs in it has ended, or the timeout is over."""
    owner = TaskOwner(ending)
    owner.all_ended.connect(ending.deleteLater)
    owner.close(*parts)


class Stoppable(Protocol):
    """A long-lived part that closing has to wait for."""

    def ask_to_stop(self) -> None:
        """Ask it to stop; does not wait."""

    def alive(self) -> bool:
        """Whether it still runs."""


class LongLived:
    """The thread of an open profile that runs the outbox's sync worker.

    `run` gets the stop event; `wake` ends a wait.
    """

    def __init__(self, run: Callable[[threading.Event], None], wake: Callable[[], None], name: str) -> None:
        self._stop = threading.Event()
        self._wake = wake
        self._thread = threading.Thread(target=run, args=(self._stop,), name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Ask it to stop; does not wait."""
        self._stop.set()
        self._wake()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()


class SerialTasks(QObject):
    """Runs tasks one after the other, for a resource that allows one user at a time."""

    def __init__(self, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._waiting: deque[Callable[[], Task]] = deque()
        self._busy = False

    @property
    def busy(self) -> bool:
        """Whether something runs or waits."""
        return self._busy

    def run(
        self,
        work: Callable[[TaskContext], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Failure], None] | None = None,
        name: str = "lane",
    ) -> None:
        """Run `work` after all earlier work; see `TaskOwner.start`."""
        self._waiting.append(lambda: self._tasks.start(work, done, failed, finished=self._start_next, name=name))
        if not self._busy:
            self._start_next()

    @Slot()
    def _start_next(self) -> None:
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting.popleft()()
