"""Random schedules of pages, answers, changes and erasures, in which a test decides when each step happens.

`Schedule(seed).run()` raises AssertionError if a page shows what it must not show. Needs a QCoreApplication.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer

from vbdesk.desk.flow.commands import Command, Commands, Done, Work
from vbdesk.desk.flow.reads import Asked, AskedRead, Reads
from vbdesk.desk.flow.screen import Screen
from vbdesk.desk.flow.tasks import Task
from vbdesk.language.messages import literal

SUBJECTS = "ABC"
STEPS = 120


class HeldTask(Task):
    """A task whose work, and each of its signals, wait for the test."""

    def start(self):
        self.parent().hold(self._run)

    def report(self, signal, *values):
        self.parent().hold(lambda: super(HeldTask, self).report(signal, *values))


class HeldTasks(QObject):
    """In place of the owner of tasks: nothing happens until `step`, and then in any order of tasks."""

    def __init__(self, chance, parent):
        super().__init__(parent)
        self._chance, self._steps, self._closed = chance, [], False

    def start(self, work, done=None, failed=None, progressed=None, finished=None, name="task"):
        task = HeldTask(work, name, self)
        for signal, receiver in (
            (task.done, done),
            (task.failed, failed),
            (task.progressed, progressed),
            (task.finished, finished),
        ):
            if receiver is not None:
                assert isinstance(receiver.__self__, QObject)
                signal.connect(receiver)
        if not self._closed:
            task.start()
        return task

    def hold(self, step):
        self._steps.append(step)

    def step(self):
        """Let one step happen; returns whether there was one."""
        if not self._steps:
            return False
        self._steps.pop(self._chance.randrange(len(self._steps)))()
        return True

    def close(self):
        """As the owner of tasks does: nothing begins any more, and what runs tells nobody how it ended."""
        self._closed = True
        for task in self.findChildren(HeldTask):
            task.detach()


@dataclass(frozen=True)
class Value:
    """What this computer knew of a subject, and by which change of it."""

    group_id: str
    change: int
    takes: tuple[str, ...]


@dataclass
class World:
    """The truth: recordings of each subject here and at the service. In place of the ports."""

    here: dict[str, tuple[str, ...]] = field(default_factory=dict)
    service: dict[str, tuple[str, ...]] = field(default_factory=lambda: {name: (f"{name}-0",) for name in SUBJECTS})
    changes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    excluded: dict[int, tuple[str, str]] = field(default_factory=dict)
    destroyed: set[str] = field(default_factory=set)
    done: dict[Command, tuple[str, int]] = field(default_factory=dict)  # subject and number of the change
    erasures: int = 0
    reachable: bool = True
    readable: bool = True

    def erased(self):
        return self.erasures

    def store(self, name, takes):
        self.here[name] = tuple(take for take in takes if take not in self.destroyed)
        self.changes[name] += 1


@dataclass(frozen=True)
class Course(AskedRead[Value]):
    group_id: str
    ask_every_s = 60.0
    refresh_every_s = 5.0
    ask_topics = frozenset({"arrived"})

    @property
    def topics(self):
        return frozenset({"library", self.group_id})

    def here(self, context, before, task):
        if not context.readable:
            raise OSError(5, "Input/output error")
        if self.group_id not in context.here:
            return None
        return Value(self.group_id, context.changes[self.group_id], context.here[self.group_id])

    def ask(self, context, task):
        task.progress(1, 2)
        if not context.reachable:
            raise ConnectionError("The service does not answer.")
        task.check()
        takes = context.service.get(self.group_id)
        if takes is not None:
            context.store(self.group_id, takes)
        return Asked(frozenset({self.group_id}))


@dataclass(frozen=True)
class Question(Course):
    """A read of a question: its snapshot is not kept."""

    cached = False


@dataclass(frozen=True)
class Exclude(Command):
    take_id: str
    number: int

    def do(self, context, task):
        name = self.take_id[0]
        if self.take_id not in context.here.get(name, ()):
            raise ValueError(literal("There is no such recording."))
        for place in (context.here, context.service):
            place[name] = tuple(take for take in place.get(name, ()) if take != self.take_id)
        context.changes[name] += 1
        context.excluded[self.number] = (name, self.take_id)
        context.done[self] = name, context.changes[name]
        return Done(self.take_id, frozenset({name}), undo=PutBack(self.number))


@dataclass(frozen=True)
class PutBack(Command):
    number: int

    def do(self, context, task):
        task.check()
        name, take_id = context.excluded[self.number]
        takes = (*context.service.get(name, ()), take_id)
        context.service[name] = tuple(dict.fromkeys(take for take in takes if take not in context.destroyed))
        context.store(name, context.service[name])
        context.done[self] = name, context.changes[name]
        return Done(take_id, frozenset({name}))


@dataclass(frozen=True)
class Erase(Command):
    group_id: str
    number: int

    def do(self, context, task):
        gone = {*context.here.pop(self.group_id, ()), *context.service.pop(self.group_id, ())}
        context.destroyed |= gone
        context.changes[self.group_id] += 1
        context.done[self] = self.group_id, context.changes[self.group_id]
        return Done(self.group_id, erased=frozenset({self.group_id}))


@dataclass(frozen=True)
class FetchAll(Command):
    """Stores what the service has of each subject, one after the other, as Cohort reads many."""

    number: int
    beside = True

    def do(self, context, task):
        for place, name in enumerate(SUBJECTS):
            task.check()
            task.progress(place, len(SUBJECTS), str(self.number))
            if not context.reachable:
                raise ConnectionError("The service does not answer.")
            if name in context.service:
                context.store(name, context.service[name])
        return Done(touched=frozenset(SUBJECTS))


class Schedule:
    """Two pages, one writer, and a world that changes by itself."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.world = World()
        self.root = QObject()
        self.tasks = HeldTasks(self.chance, self.root)
        self.reads = Reads(self.world, self.tasks, self.root)
        self.commands = Commands(self.world, self.tasks, self.reads, self.root)
        self.screens = [Screen(self.reads, self.commands, self.root) for _ in range(2)]
        for screen in self.screens:
            screen.changed.connect(self.check)
            screen.ended.connect(partial(self.hear_on, screen))
        self.work = Work(self.commands, self.root)
        self.fetches, self.ended = [], []
        self.work.progressed.connect(self.hear_progress)
        self.work.ended.connect(lambda outcome: self.ended.append(outcome.command))
        self.work.stopped.connect(lambda: self.ended.append(self.fetches[-1]))
        self.cancelled = set()
        self.given, self.heard, self.stopped, self.undo, self.faults = [], [], [], [], []
        self.runs, self.given_on, self.shown_on = [], {}, {screen: object() for screen in self.screens}
        self.shown, self.least, self.erased = {}, defaultdict(int), set()

    def hear_progress(self, progress):
        if progress.text in self.cancelled:
            self.faults.append("progress after a stop")

    def fetch(self):
        if not self.work.busy:
            if self.ended != self.fetches:
                self.faults.append("work is not busy before its command has ended")
            self.fetches.append(FetchAll(len(self.fetches)))
        self.work.start(self.fetches[-1])

    def hear_on(self, screen, outcome):
        if self.given_on.get(outcome.command) != self.shown_on[screen]:
            self.faults.append(f"{outcome.command} ended on a page that shows something else")

    def hear(self, outcome):
        self.heard.append(outcome.command)
        self.runs = [run for run in self.runs if run.command != outcome.command]
        if outcome.failure is None:
            self.undo += [outcome.done.undo] if outcome.done.undo is not None else []
            name, change = self.world.done[outcome.command]
            self.least[name] = max(change, self.least[name])
            if outcome.done.erased:
                self.erased = set(self.world.destroyed)

    def check(self):
        """What the pages show is of what they watch, never older than before, and nothing that was erased."""
        for screen in self.screens:
            for kind in (Course, Question):
                read, value = screen.read(kind), screen.of(kind).value
                if value is None or self.shown.get(read) == value:
                    continue
                before = self.shown.get(read, value)
                for wrong, words in (
                    (read is None or value.group_id != read.group_id, "of another subject"),
                    (value.change < before.change, "older than before"),
                    (value.change < self.least[value.group_id], "from before a change that has ended"),
                    (self.erased.intersection(value.takes), "erased"),
                ):
                    if wrong:
                        self.faults.append(f"{value} is shown by {read}: {words}")
                self.shown[read] = value

    def give(self, screen, command):
        self.given.append(command)
        self.given_on[command] = self.shown_on[screen]
        run = screen.do(command)
        run.ended.connect(self.hear)
        self.runs = [*self.runs[-2:], run]

    def perform(self):
        chance, world = self.chance, self.world
        screen, name = chance.choice(self.screens), chance.choice(SUBJECTS)
        match chance.choices(range(17), (8, 3, 10, 8, 3, 3, 4, 4, 3, 2, 3, 3, 3, 2, 3, 2, 60))[0]:
            case 0:
                screen.show(Course(name))
                self.shown_on[screen] = object()
            case 1:
                screen.add(Question(name))
            case 2:  # another computer sends a recording
                world.service[name] = (*world.service.get(name, ()), f"{name}-{chance.randrange(10**6)}")
                self.reads.announce({"arrived"})
            case 3 if world.here.get(name):
                self.give(screen, Exclude(chance.choice(world.here[name]), len(self.given)))
            case 4:
                self.give(screen, Erase(name, len(self.given)))
            case 5:
                world.reachable = not world.reachable
                if world.reachable:
                    self.reads.ask_again()
            case 6 if self.undo:
                self.give(screen, self.undo.pop())
            case 7:  # the sync worker stores something
                if name in world.here:
                    world.store(name, world.here[name])
                self.reads.refresh({"library"})
            case 8:
                screen.drop(Question)
            case 9:
                screen.clear()
                self.shown_on[screen] = object()
            case 10:
                self.tick()
            case 11:
                world.readable = not world.readable
            case 12 if world.here.get(name):  # the trash destroys a recording when its time is over
                gone = world.here[name][0]
                world.destroyed.add(gone)
                world.service[name] = tuple(take for take in world.service.get(name, ()) if take != gone)
                world.store(name, world.here[name])
                world.erasures += 1
                self.erased = set(world.destroyed)
                self.tasks.hold(lambda: self.reads.refresh({"library"}))  # the window hears of it later
            case 13 if self.runs:
                run = self.runs.pop()
                run.stop()
                self.stopped.append(run.command)
            case 14:
                self.fetch()
            case 15 if self.work.busy:
                self.cancelled.add(str(self.fetches[-1].number))
                self.work.cancel()
            case _:
                self.tasks.step()

    def tick(self):
        for timer in self.reads.findChildren(QTimer):
            if timer.isActive() and self.chance.random() < 0.5:
                timer.stop()
                timer.timeout.emit()

    def run(self):
        for _ in range(self.chance.randrange(STEPS // 2, 2 * STEPS)):
            self.perform()
            self.check()
            if self.chance.random() < 0.05:
                QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        if self.chance.random() < 0.2:
            self.close()
        else:
            self.settle()
        assert self.faults == []
        self.end()

    def end(self):
        for timer in self.root.findChildren(QTimer):
            timer.stop()
        self.root.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def close(self):
        """The window closes while work runs: what was done was done whole and in order."""
        self.tasks.close()
        for screen in self.screens:
            screen.clear()
        while self.tasks.step():
            pass
        assert self.heard == [command for command in self.given if command in self.heard]
        assert list(self.world.done) == [command for command in self.given if command in self.world.done]

    def settle(self):
        """Everything ends: pages show the truth, and every command ended once, in order."""
        self.world.reachable = self.world.readable = True
        self.reads.ask_again()
        while self.tasks.step():
            self.check()
        for screen in self.screens:  # a person tries again what could not be read while the disk was away
            for kind in (Course, Question):
                if screen.of(kind).unreadable is not None:
                    screen.ask(kind)
        while self.tasks.step():
            self.check()
        assert self.heard == [command for command in self.given if command in self.heard]
        assert self.ended == self.fetches
        assert not self.work.busy
        assert set(self.heard) >= set(self.world.done) | (set(self.given) - set(self.stopped))
        for screen in self.screens:
            for kind in (Course, Question):
                read, snapshot = screen.read(kind), screen.of(kind)
                if read is None:
                    continue
                takes = None if snapshot.value is None else snapshot.value.takes
                assert takes == self.world.here.get(read.group_id) == self.world.service.get(read.group_id)
                assert not snapshot.loading
                assert not snapshot.asking
                assert snapshot.failure is None
