"""Commands: every change, as a frozen value that names what it changes by id, done by one writer in order."""

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import ClassVar, Optional

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Reads
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.flow.topics import Topic
from vbdesk.language import translated


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did.

    Attributes:
        sentence: for a person; a message or text, empty if nothing needs to be said.
        touched: what is old now.
        erased: what was destroyed.
        undo: takes it back; None if nothing does.
        found: what it found, for the page that gave it.
    """

    sentence: object = ""
    touched: frozenset[Topic] = frozenset()
    erased: frozenset[Topic] = frozenset()
    undo: Optional["Command"] = None
    found: object = None


class Command(ABC):
    """A change. Subclasses are frozen dataclasses; their fields name what they change by id.

    Attributes:
        title: names what it changes, for a person.
        beside: it is done beside the others, since it takes long and changes nothing that they change.
    """

    title: str
    beside: ClassVar[bool] = False

    @abstractmethod
    def do(self, context: DeskContext, task: TaskContext) -> Done:
        """Do it, in one transaction. On a worker."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What became of a command. It carries the command, so nobody remembers which one was meant."""

    command: Command
    done: Done = Done()
    failure: Failure | None = None

    @property
    def sentence(self) -> str:
        """What to say, in the reader's language; empty for nothing."""
        return translated(self.done.sentence) if self.failure is None else self.failure.sentence


class CommandRun(QObject):
    """One command on its way.

    Signals:
        progressed: (Progress) not after a stop.
        ended: (CommandOutcome) it was done or failed.
        stopped: it was stopped before it did anything, instead.
    """

    progressed = Signal(object)
    ended = Signal(object)
    stopped = Signal()

    def __init__(self, command: Command, commands: "Commands") -> None:
        super().__init__(commands)
        self.command, self._commands = command, commands
        self._task: Task | None = None
        self._done: Done | None = None  # set by the worker, so that a late stop hides nothing that was done
        self._failure: Failure | None = None

    def start(self) -> None:
        """Begin."""
        self._task = self._commands.tasks.start(
            self._work,
            failed=self._on_failed,
            progressed=self._on_progress,
            finished=self._on_finished,
            name=type(self.command).__name__,
        )

    def stop(self) -> None:
        """Ask it to stop: it is not begun, or stops at its next check and changes nothing."""
        if self._task is not None:
            self._task.cancel()
        else:
            self._commands.withdraw(self)

    def _work(self, task: TaskContext) -> None:
        self._done = self.command.do(self._commands.context, task)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._failure = failure

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if self._task is not None and not self._task.stop_asked.is_set():
            self.progressed.emit(progress)

    @Slot()
    def _on_finished(self) -> None:
        if self._done is not None or self._failure is not None:
            self._commands.end(self, CommandOutcome(self.command, self._done or Done(), self._failure))
        else:
            self._commands.end(self, None)


class Commands(QObject):
    """The one writer: does commands one after the other. Every method belongs to the GUI thread, and none waits."""

    def __init__(self, context: DeskContext, tasks: TaskOwner, reads: Reads, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.context, self.tasks, self._reads = context, tasks, reads
        self._waiting: deque[CommandRun] = deque()
        self._running: CommandRun | None = None

    @property
    def busy(self) -> bool:
        """Whether a command is done or waits, other than those beside the line."""
        return self._running is not None

    def do(self, command: Command) -> CommandRun:
        """Do it after all earlier ones, or at once if it is done beside them."""
        run = CommandRun(command, self)
        if command.beside:
            run.start()
        else:
            self._waiting.append(run)
            if self._running is None:
                self._start_next()
        return run

    def withdraw(self, run: CommandRun) -> None:
        """Do not begin it."""
        if run in self._waiting:
            self._waiting.remove(run)
            self.end(run, None)

    def end(self, run: CommandRun, outcome: CommandOutcome | None) -> None:
        """Tell what became of a command, after everything that it made old is no longer shown; None if it stopped."""
        if outcome is None:
            run.stopped.emit()
        else:
            self._reads.forget(outcome.done.erased)
            self._reads.touch(outcome.done.touched)
            run.ended.emit(outcome)
        if run is self._running:
            self._start_next()
        run.deleteLater()

    def _start_next(self) -> None:
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            self._running.start()


class Work(QObject):
    """What a page has done at length, such as an export: one command at a time.

    Signals:
        progressed, ended, stopped: of the command; see `CommandRun`.
        busy_changed: (bool) whether a command is under way.
    """

    progressed = Signal(object)
    ended = Signal(object)
    stopped = Signal()
    busy_changed = Signal(bool)

    def __init__(self, commands: Commands, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands = commands
        self._run: CommandRun | None = None

    @property
    def busy(self) -> bool:
        """Whether a command is under way."""
        return self._run is not None

    def start(self, command: Command) -> None:
        """Do it, unless another one is under way."""
        if self.busy:
            return
        self._run = run = self._commands.do(command)
        run.progressed.connect(self.progressed)
        run.ended.connect(self._on_ended)
        run.stopped.connect(self._on_stopped)
        self.busy_changed.emit(True)

    @Slot()
    def cancel(self) -> None:
        """Ask it to stop."""
        if self._run is not None:
            self._run.stop()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        self._run = None
        self.busy_changed.emit(False)
        self.ended.emit(outcome)

    @Slot()
    def _on_stopped(self) -> None:
        self._run = None
        self.busy_changed.emit(False)
        self.stopped.emit()
