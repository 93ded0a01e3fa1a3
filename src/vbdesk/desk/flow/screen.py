"""A screen: what one page shows now, and the commands that were given on it."""

from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from shiboken6 import isValid

from vbdesk.desk.flow.commands import Command, CommandOutcome, CommandRun, Commands
from vbdesk.desk.flow.reads import Read, Reads, Snapshot, Watcher

V = TypeVar("V")
R = TypeVar("R", bound=Read[Any])


class Screen(Watcher):
    """Watches one read of each kind. A page asks it what to show, and keeps nothing itself.

    Signals:
        ended: (CommandOutcome) of a command that was given on it, while it shows the same as then.
    """

    ended = Signal(object)

    def __init__(self, reads: Reads, commands: Commands, parent: QObject) -> None:
        super().__init__(parent)
        self._reads, self._commands = reads, commands
        self._shown: dict[type[Read[Any]], Read[Any]] = {}
        self._runs: list[CommandRun] = []

    def show(self, *reads: Read[Any]) -> None:
        """Show these and nothing else: what belongs to the former ones arrives no more."""
        self.clear()
        for read in reads:
            self.add(read)

    def clear(self) -> None:
        """Show nothing."""
        for run in filter(isValid, self._runs):
            run.ended.disconnect(self._on_ended)
        self._runs = []
        for kind in tuple(self._shown):
            self.drop(kind)

    def stop(self) -> None:
        """Stop what was begun on it beside the other commands, and show nothing."""
        for run in filter(isValid, self._runs):
            if run.command.beside:
                run.stop()
        self.clear()

    def add(self, read: Read[Any]) -> None:
        """Show this too, in place of another one of its kind."""
        self.drop(type(read))
        self._shown[type(read)] = read
        self._reads.watch(self, read)
        self.changed.emit()

    def drop(self, kind: type[Read[Any]]) -> None:
        """Show none of this kind."""
        read = self._shown.pop(kind, None)
        if read is not None:
            self._reads.unwatch(self, read)

    def read(self, kind: type[R]) -> R | None:
        """What is shown of this kind."""
        read = self._shown.get(kind)
        return read if isinstance(read, kind) else None

    def of(self, kind: type[Read[V]]) -> Snapshot[V]:
        """The snapshot of what is shown of this kind; an empty one if nothing is."""
        read = self._shown.get(kind)
        return Snapshot() if read is None else self._reads.snapshot(read)

    def ask(self, kind: type[Read[Any]]) -> None:
        """Ask the service again, for a person."""
        if kind in self._shown:
            self._reads.ask(self._shown[kind])

    def do(self, command: Command) -> CommandRun:
        """Do a command. `ended` follows, unless the screen shows something else by then."""
        run = self._commands.do(command)
        run.ended.connect(self._on_ended)
        self._runs.append(run)
        return run

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        self._runs = [run for run in self._runs if run.command is not outcome.command]
        self.ended.emit(outcome)
