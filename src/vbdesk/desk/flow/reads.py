"""Reads: everything that a page shows, as frozen values that are read on a worker and shared by all pages.

Three things hold for every read, so no page checks them:

- An answer belongs to its read. It cannot reach a page that shows something else by then.
- Nothing older follows something newer. A read never runs twice at a time. What began before a command ended, or before
  something was erased, is not shown afterwards.
- What was erased does not come back with a late answer.

A read has two steps. `here` makes the value from this computer's data. `ask` asks the service and only stores what it
answers. So a page shows the same with and without a network.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.flow.topics import Topic

V = TypeVar("V")

_UNWATCHED = 10  # reads whose snapshots are kept although no page watches them; one may have 1,000 recordings


@dataclass(frozen=True, slots=True)
class Asked:
    """What followed from a question to the service.

    Attributes:
        touched: what else is old now.
        ask_again_s: when to ask again, because the answer is not final; None if it is.
        stored: whether something was stored; if not, the read itself is not read again.
    """

    touched: frozenset[Topic] = frozenset()
    ask_again_s: float | None = None
    stored: bool = True


class Read(ABC, Generic[V]):
    """What is read. Subclasses are frozen dataclasses: equal reads are one read.

    Attributes:
        cached: whether its snapshot is kept while no page watches it. If not, its work stops then.
        refresh_every_s: how often it is read here while a page watches and it `moves`; None for never.
    """

    cached: ClassVar[bool] = True
    refresh_every_s: ClassVar[float | None] = None

    @property
    @abstractmethod
    def topics(self) -> frozenset[Topic]:
        """What makes it old."""

    @abstractmethod
    def here(self, context: DeskContext, before: V | None, task: TaskContext) -> V | None:
        """Read what this computer has; None for nothing. On a worker.

        Args:
            context: the ports.
            before: the last value, for a read that reads only what changed; never one with erased data.
            task: says whether to stop.
        """

    def shows_same(self, value: V, other: V) -> bool:
        """Whether a page shows the same of both values."""
        return value == other

    def read_at(self, value: V) -> datetime | None:
        """When the service gave this value, as far as known."""
        return None

    def moves(self, value: V) -> bool:
        """Whether the value changes with time alone."""
        return True


class AskedRead(Read[V]):
    """A read whose value comes from the service.

    Attributes:
        ask_every_s: how often the service is asked while a page watches; None for once.
        ask_topics: what makes it worthwhile to ask again.
    """

    ask_every_s: ClassVar[float | None] = None
    ask_topics: ClassVar[frozenset[Topic]] = frozenset()

    @abstractmethod
    def ask(self, context: DeskContext, task: TaskContext) -> Asked:
        """Ask the service, and store its answer. On a worker."""


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[V]):
    """What is known of a read.

    Attributes:
        value: as last read here; the same object as long as it looks the same.
        version: another one for each other value.
        loading: nothing was read here yet.
        asking: the service is being asked, or its answer is being read.
        answered: the service has answered, or does not need to be asked.
        pending: its answer was not final, and it is asked again.
        read_at: when the service gave the value, as far as known.
        progress: of the question.
        failure: why the last question brought no answer.
        unreadable: why it could not be read here.
    """

    value: V | None = field(default=None, compare=False)
    version: int = 0
    loading: bool = True
    asking: bool = False
    answered: bool = False
    pending: bool = False
    read_at: datetime | None = None
    progress: Progress | None = None
    failure: Failure | None = None
    unreadable: Failure | None = None


class Watcher(QObject):
    """Who watches reads.

    Signals:
        changed: one of their snapshots changed.
    """

    changed = Signal()


@dataclass(frozen=True, slots=True)
class _Found:
    """What `here` found, and how much had been erased when it began."""

    value: Any
    erased: int


class _Entry(QObject):
    """The state of one read. A forgotten entry has no watcher, so late answers to it reach nobody."""

    def __init__(self, reads: "Reads", read: Read[Any]) -> None:
        super().__init__(reads)
        self._reads, self._read = reads, read
        self.watchers: list[Watcher] = []
        self.snapshot: Snapshot[Any] = Snapshot(answered=not isinstance(read, AskedRead))
        self._reading: Task | None = None
        self._read_again = self._outdated = False
        self._asking: Task | None = None
        self._ask_again = self._ask_if_refused = False
        self._answer: dict[str, Any] = {}  # shown together with the value that it brings
        self._landing: dict[str, Any] = {}  # the answer whose value is being read
        self._ask_timer, self._refresh_timer = QTimer(self), QTimer(self)
        for timer, tick in ((self._ask_timer, self.ask), (self._refresh_timer, self.refresh)):
            timer.setSingleShot(True)
            timer.timeout.connect(tick)

    @Slot()
    def refresh(self) -> None:
        """Read here; once more if it is being read."""
        if self._reading is not None:
            self._read_again = True
            return
        self._refresh_timer.stop()
        self._read_again = self._outdated = False
        self._landing, self._answer = self._answer, {}
        read, context, before = self._read, self._reads.context, self.snapshot.value

        def work(task: TaskContext) -> _Found:
            erased = context.erased()
            return _Found(read.here(context, before, task), erased)

        self._reading = self._reads.tasks.start(
            work, self._on_here, self._on_unreadable, finished=self._on_here_ended, name=type(read).__name__
        )

    def touch(self) -> None:
        """Read here, and never show what is being read now."""
        self._outdated = self._reading is not None
        self.refresh()

    @Slot()
    def ask(self) -> None:
        """Ask the service, unless it is being asked."""
        read, context = self._read, self._reads.context
        if not isinstance(read, AskedRead) or self.snapshot.asking:
            return
        self._ask_timer.stop()
        self._ask_again = self._ask_if_refused = False
        self.set(asking=True)
        self._asking = self._reads.tasks.start(
            lambda task: read.ask(context, task),
            self._on_asked,
            self._on_refused,
            self._on_progress,
            self._on_ask_ended,
            name=type(read).__name__,
        )

    def ask_once_more(self) -> None:
        """Ask the service; once more if it is being asked, since that answer may be older."""
        self._ask_again = self.snapshot.asking
        self.ask()

    def retry(self) -> None:
        """Ask the service if it did not answer the last time, or does not answer now."""
        self._ask_if_refused = self.snapshot.asking
        if self.snapshot.failure is not None:
            self.ask()

    def leave(self) -> None:
        """Nobody watches any more."""
        self._ask_timer.stop()
        self._refresh_timer.stop()
        if not self._read.cached:
            self.cancel()
            if self._reading is not None:
                self._reading.cancel()

    def cancel(self) -> None:
        """Stop asking the service."""
        if self._asking is not None:
            self._asking.cancel()

    def set(self, **changes: Any) -> None:
        """Change the snapshot, and tell who watches."""
        snapshot = replace(self.snapshot, **changes)
        if snapshot == self.snapshot:
            return
        self.snapshot = snapshot
        for watcher in tuple(self.watchers):
            if isValid(watcher):
                watcher.changed.emit()
            else:
                self.watchers.remove(watcher)

    @Slot(object)
    def _on_here(self, found: _Found) -> None:
        if found.erased != self._reads.context.erased():
            self.touch()
        if self._outdated:
            self._answer = self._landing | self._answer
            return
        before, value = self.snapshot.value, found.value
        same = before is value or (before is not None and value is not None and self._read.shows_same(before, value))
        changes = {} if same else {"value": value, "version": self.snapshot.version + 1}
        read_at = None if value is None else self._read.read_at(value)
        self.set(loading=False, unreadable=None, read_at=read_at, **self._landing, **changes)
        every_s = self._read.refresh_every_s
        if every_s is not None and self.watchers and value is not None and self._read.moves(value):
            self._refresh_timer.start(round(1000 * every_s))

    @Slot(object)
    def _on_unreadable(self, failure: Failure) -> None:
        self.set(loading=False, unreadable=failure, **self._landing)

    @Slot()
    def _on_here_ended(self) -> None:
        self._reading = None
        if self._read_again:
            self.refresh()
        elif self._ask_again:
            self.ask()

    @Slot(object)
    def _on_asked(self, asked: Asked) -> None:
        pending = asked.ask_again_s is not None
        answer = {"asking": False, "answered": True, "pending": pending, "progress": None, "failure": None}
        if asked.stored:
            self._answer = answer
            self.refresh()
        elif self.snapshot.loading:
            self._landing |= answer
        else:
            self.set(**answer)
        self._reads.refresh(asked.touched)
        self._wait(asked.ask_again_s)

    @Slot(object)
    def _on_refused(self, failure: Failure) -> None:
        self._ask_again |= self._ask_if_refused
        self.set(asking=False, progress=None, failure=failure)
        self._wait()

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.set(progress=progress)

    @Slot()
    def _on_ask_ended(self) -> None:
        stopped = self._asking is not None and self._asking.stop_asked.is_set()
        self._asking = None
        if stopped and not self._answer and not self._landing:
            self.set(asking=False, progress=None)
        if self._ask_again:
            self.ask()

    def _wait(self, seconds: float | None = None) -> None:
        seconds = seconds or (self._read.ask_every_s if isinstance(self._read, AskedRead) else None)
        if seconds is not None and self.watchers:
            self._ask_timer.start(round(1000 * max(1.0, seconds)))


class Reads(QObject):
    """All reads of an open profile. Every method belongs to the GUI thread, and none waits."""

    def __init__(self, context: DeskContext, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.context, self.tasks = context, tasks
        self._entries: OrderedDict[Read[Any], _Entry] = OrderedDict()
        self._erased = context.erased()

    def watch(self, watcher: Watcher, read: Read[Any]) -> None:
        """Watch a read: its snapshot is what was last known, and newer ones follow."""
        self._leave_erased()
        entry = self._entries.get(read)
        if entry is None:
            entry = self._entries[read] = _Entry(self, read)
        self._entries.move_to_end(read)
        entry.watchers.append(watcher)
        entry.refresh()
        entry.ask()

    def unwatch(self, watcher: Watcher, read: Read[Any]) -> None:
        """Watch no longer."""
        entry = self._entries.get(read)
        if entry is None or watcher not in entry.watchers:
            return
        entry.watchers.remove(watcher)
        if not entry.watchers:
            entry.leave()
            if not read.cached:
                self._drop(read)
        idle = [other for other, known in self._entries.items() if not known.watchers]
        for other in idle[: max(0, len(idle) - _UNWATCHED)]:
            self._drop(other)

    def snapshot(self, read: Read[V]) -> Snapshot[V]:
        """What is known of a read."""
        entry = self._entries.get(read)
        return Snapshot() if entry is None else entry.snapshot

    def ask(self, read: Read[Any]) -> None:
        """Ask the service, for a person: the last failure is no longer said."""
        entry = self._entries.get(read)
        if entry is not None:
            entry.set(failure=None, unreadable=None)
            entry.refresh()
            entry.ask()

    def cancel(self, read: Read[Any]) -> None:
        """Stop asking the service."""
        entry = self._entries.get(read)
        if entry is not None:
            entry.cancel()

    def refresh(self, topics: Collection[Topic]) -> None:
        """Something changed: read again what is watched. What is being read meanwhile is shown, since it is newer."""
        self._leave_erased()
        for _read, entry in self._of(topics):
            if entry.watchers:
                entry.refresh()

    def touch(self, topics: Collection[Topic]) -> None:
        """A command ended: show nothing any more that was read before."""
        for read, entry in self._of(topics):
            self._touch(read, entry)

    def forget(self, topics: Collection[Topic]) -> None:
        """It was erased: drop what is known of it, and what is on its way."""
        for read, entry in self._of(topics):
            self._drop(read)
            if entry.watchers:
                new = self._entries[read] = _Entry(self, read)
                new.watchers, entry.watchers = entry.watchers, []
                new.refresh()
                if entry.snapshot.asking or entry.snapshot.failure is not None:  # no answer of it arrives any more
                    new.ask()
                for watcher in new.watchers:
                    watcher.changed.emit()

    def announce(self, topics: Collection[Topic]) -> None:
        """The service has something new: ask it again."""
        for read, entry in tuple(self._entries.items()):
            wanted = isinstance(read, AskedRead) and read.ask_topics.intersection(topics)
            if wanted and (entry.watchers or entry.snapshot.asking):
                entry.ask_once_more()

    def ask_again(self) -> None:
        """The service is reachable again: ask what brought no answer."""
        for entry in tuple(self._entries.values()):
            if entry.watchers or entry.snapshot.asking:
                entry.retry()

    def _leave_erased(self) -> None:
        """Show nothing that was read before something was erased."""
        erased, self._erased = self._erased, self.context.erased()
        if erased != self._erased:
            for read, entry in tuple(self._entries.items()):
                self._touch(read, entry)

    def _of(self, topics: Collection[Topic]) -> list[tuple[Read[Any], _Entry]]:
        return [(read, entry) for read, entry in self._entries.items() if read.topics.intersection(topics)]

    def _touch(self, read: Read[Any], entry: _Entry) -> None:
        if entry.watchers:
            entry.touch()
        else:
            self._drop(read)

    def _drop(self, read: Read[Any]) -> None:
        entry = self._entries.pop(read)
        entry.leave()
        entry.deleteLater()
