"""Commands: every change, as a frozen value that names what it changes by id, done by one writer in order."""

import logging
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Optional

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Reads
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.flow.topics import Topic
from vbdesk.language import translated

log = logging.getLogger(__name__)


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
    """

    title: str

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
        progressed: (Progress).
        ended: (CommandOutcome) it was done or failed; not if it was stopped before it did anything.
    """

    progressed = Signal(object)
    ended = Signal(object)

    def __init__(self, command: Command, commands: "Commands") -> None:
        super().__init__(commands)
        self.command, self._commands = command, commands
        self._task: Task | None = None
        self._done: Done | None = None  # set by the worker, so that a late stop hides nothing that was done

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
        log.warning("%s failed: %s", type(self.command).__name__, type(failure.error).__name__)
        self._commands.settle(self, CommandOutcome(self.command, failure=failure))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.progressed.emit(progress)

    @Slot()
    def _on_finished(self) -> None:
        if self._done is not None:
            self._commands.settle(self, CommandOutcome(self.command, self._done))
        self._commands.start_next()
        self.deleteLater()


class Commands(QObject):
    """The one writer: does commands one after the other. Every method belongs to the GUI thread, and none waits."""

    def __init__(self, context: DeskContext, tasks: TaskOwner, reads: Reads, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.context, self.tasks, self._reads = context, tasks, reads
        self._waiting: deque[CommandRun] = deque()
        self._running: CommandRun | None = None

    def do(self, command: Command) -> CommandRun:
        """Do it after all earlier ones."""
        run = CommandRun(command, self)
        self._waiting.append(run)
        if self._running is None:
            self.start_next()
        return run

    def start_next(self) -> None:
        """Begin the next one; the one before has ended."""
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            self._running.start()

    def withdraw(self, run: CommandRun) -> None:
        """Do not begin it."""
        if run in self._waiting:
            self._waiting.remove(run)
            run.deleteLater()

    def settle(self, run: CommandRun, outcome: CommandOutcome) -> None:
        """Tell what became of a command, after everything that it made old is no longer shown."""
        self._reads.forget(outcome.done.erased)
        self._reads.touch(outcome.done.touched)
        run.ended.emit(outcome)
