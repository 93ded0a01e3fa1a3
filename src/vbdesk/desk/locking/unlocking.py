"""State of the pages about the key of this computer: unlock, recover, recovery key."""

from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.desk.flow.commands import Command, CommandOutcome, Done, Work
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.language import N_, _, message, ngettext
from vbdesk.outbox.profiles.service_key import PASSPHRASE_LEAST, PassphraseWrong
from vbdesk.outbox.profiles.vault import VaultMissing

UNEQUAL = N_("The two entries differ. Enter the same passphrase twice.")
_TRIES_AT_ONCE = 3
_LONGEST_PAUSE_S = 60.0
NO_KEYRING = N_("This computer has no keyring. Choose a passphrase too: it opens the recordings from now on.")


def passphrase_fault(passphrase: str, repeated: str) -> str | None:
    """Error of a new passphrase; None if it is valid."""
    if len(passphrase) < PASSPHRASE_LEAST:
        return ngettext("Use at least {count} character.", "Use at least {count} characters.", PASSPHRASE_LEAST)
    return None if passphrase == repeated else _(UNEQUAL)


class WrongTries:
    """The pause after wrong passphrases: longer with each, at most a minute, so that nobody stays locked out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._count, self._until = 0, 0.0

    def add(self) -> None:
        """A passphrase was wrong."""
        self._count += 1
        pause = 0.0 if self._count < _TRIES_AT_ONCE else min(_LONGEST_PAUSE_S, 2.0 ** (self._count - _TRIES_AT_ONCE))
        self._until = self._clock.monotonic() + pause

    def clear(self) -> None:
        """The passphrase was right."""
        self._count, self._until = 0, 0.0

    def pause_s(self) -> float:
        """Seconds until the next try."""
        return max(0.0, self._until - self._clock.monotonic())


@dataclass(frozen=True)
class Unlock(Command):
    """Open the key with the passphrase."""

    passphrase: str = field(repr=False)
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        ServiceKeys(context.ports).unlock(self.passphrase)
        return Done()


@dataclass(frozen=True)
class Recover(Command):
    """Open the key with the recovery key; with a new passphrase if there is no keyring."""

    typed: str = field(repr=False)
    passphrase: str | None = field(repr=False)
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        ServiceKeys(context.ports).recover(self.typed, self.passphrase)
        return Done()


@dataclass(frozen=True)
class SaveRecoveryKey(Command):
    """Write the recovery key to the file that the user chose."""

    recovery_key: str = field(repr=False)
    file: Path
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        ServiceKeys(context.ports).save_recovery_key(self.recovery_key, self.file)
        return Done(
            message("Saved as {file}. Move it off this computer, or print it and delete the file.", file=self.file)
        )


@dataclass(frozen=True)
class MarkRecoveryOffered(Command):
    """Offer the recovery key no more."""

    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        ServiceKeys(context.ports).recovery_was_offered()
        return Done()


class UnlockViewModel(QObject):
    """Opens the key with a passphrase or the recovery key.

    Attributes:
        sentence: why the user is asked.

    Signals:
        busy_changed: (bool) whether the key is being opened.
        failed: (str) why it did not open.
        passphrase_wanted: (str) why the recovery key needs a new passphrase.
        opened: the key is open.
    """

    busy_changed = Signal(bool)
    failed = Signal(str)
    passphrase_wanted = Signal(str)
    opened = Signal()

    def __init__(
        self,
        flow: ProgramFlow,
        sentence: str,
        tries: WrongTries,
        *,
        with_passphrase: bool,
        parent: QObject | None = None,
    ) -> None:
        """Ask for the passphrase if `with_passphrase`, else for the recovery key; `tries` are those of the program."""
        super().__init__(parent)
        self._work = Work(flow.commands, self)
        self._work.busy_changed.connect(self.busy_changed)
        self._work.ended.connect(self._on_ended)
        self._tries = tries
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._on_pause_over)
        self.sentence, self.with_passphrase = sentence, with_passphrase

    def unlock(self, passphrase: str) -> None:
        """Open the key with the passphrase, unless a pause after a wrong one still lasts."""
        if self._tries.pause_s():
            self._rest("")
            return
        self._work.start(Unlock(passphrase))

    def recover(self, typed: str, passphrase: str | None) -> None:
        """Open the key with the recovery key; with a new passphrase if there is no keyring."""
        if not self._pause.isActive():
            self._work.start(Recover(typed, passphrase))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        failure = outcome.failure
        if failure is None:
            self._tries.clear()
            self.opened.emit()
            return
        if isinstance(failure.error, VaultMissing):
            self.passphrase_wanted.emit(_(NO_KEYRING))
            return
        if isinstance(failure.error, PassphraseWrong):
            self._tries.add()
            if self._tries.pause_s():
                self._rest(failure.sentence)
                return
        self.failed.emit(failure.sentence)

    def _rest(self, sentence: str) -> None:
        """Wait before the next try."""
        seconds = self._tries.pause_s()
        text = _("The next try is possible in {seconds} s.", seconds=ceil(seconds))
        self.failed.emit(f"{sentence} {text}".strip())
        self.busy_changed.emit(True)
        self._pause.start(ceil(1000 * seconds))

    @Slot()
    def _on_pause_over(self) -> None:
        self.busy_changed.emit(False)


class RecoveryOfferViewModel(QObject):
    """The recovery key, shown once.

    Attributes:
        recovery_key: groups of characters, with dashes between.

    Signals:
        saved: (str) where it was saved, as a sentence.
        failed: (str) why it was not saved.
        finished: it was offered, and is not shown again.
    """

    saved = Signal(str)
    failed = Signal(str)
    finished = Signal()

    def __init__(
        self,
        flow: ProgramFlow,
        recovery_key: str,
        *,
        by_passphrase: bool,
        parent: QObject | None = None,
    ) -> None:
        """Make it; `by_passphrase`: a passphrase opens the key, not the keyring."""
        super().__init__(parent)
        self._screen = flow.screen(self)
        self._screen.ended.connect(self._on_ended)
        self.recovery_key, self.by_passphrase = recovery_key, by_passphrase

    @property
    def groups(self) -> list[str]:
        """The groups of the key, as they are shown."""
        return self.recovery_key.split("-")

    def save(self, file: Path) -> None:
        """Write the key to the file that the user chose."""
        self._screen.do(SaveRecoveryKey(self.recovery_key, file))

    def finish(self) -> None:
        """Finish: the user has the key or does not want it."""
        self._screen.do(MarkRecoveryOffered())

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if isinstance(outcome.command, MarkRecoveryOffered):
            self.finished.emit()  # if it is not marked, it is offered again at the next start
        else:
            (self.saved if outcome.failure is None else self.failed).emit(outcome.sentence)
