"""The app lock: whether it is on, when it locks the window, and the way to turn it on and off."""

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.boot_clock import BootTime
from vbdesk.clock import Clock
from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.preferences import ChangePreferences, PreferenceStore
from vbdesk.outbox.library.managed_policy import MANAGED
from vbdesk.outbox.profiles.service_key import LockState

LOCK_AFTER = (1, 2, 5, 10, 15, 30, 60)
"""Choices of minutes."""
USUAL_LOCK_AFTER = 10
_CHECK_INTERVAL_MS = 2000


class IdleClock:
    """Time since the last input, time of sleep included."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: BootTime | None = None

    def restart(self) -> None:
        """An input came."""
        self._since = self._clock.boot()

    def seconds(self) -> float:
        """Seconds since the last input; infinite if the computer was started again in between."""
        if self._since is None:
            return 0.0
        now = self._clock.boot()
        return now.seconds - self._since.seconds if now.boot_id == self._since.boot_id else float("inf")


@dataclass(frozen=True, slots=True)
class LockChoice:
    """What was chosen about the lock.

    Attributes:
        passphrase_opens: whether a passphrase opens the keys, so that the window can be locked.
        state: of the app lock; None if it is off.
        lock_after: minutes without input; None for Ctrl+L only.
    """

    passphrase_opens: bool = False
    state: LockState | None = None
    lock_after: int | None = None


@dataclass(frozen=True)
class LockRead(Read[LockChoice]):
    """What was chosen about the lock."""

    topics = frozenset({Changed.SETTINGS})

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> LockChoice:  # noqa: D102
        context.clock.boot()  # its first call reads a file
        keys = ServiceKeys(context.ports)
        minutes = context.ports.policy.app_lock_minutes or PreferenceStore(context.ports.config_dir).load().lock_after
        return LockChoice(keys.passphrase_opens(), keys.app_lock(), minutes)

    def shows_same(self, value: LockChoice, other: LockChoice) -> bool:
        """Whether a form may keep what was typed: each reading ends a change."""
        return False


@dataclass(frozen=True)
class TurnLockOn(Command):
    """Let `passphrase` open the keys of this computer. Finds the recovery key."""

    passphrase: str = field(repr=False)
    lock_after: int | None

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        recovery_key = ServiceKeys(context.ports).turn_lock_on(self.passphrase)
        PreferenceStore(context.ports.config_dir).change(lock_after=self.lock_after)
        return Done(touched=LockRead.topics, found=recovery_key)


@dataclass(frozen=True)
class TurnLockOff(Command):
    """Let the keyring open the keys of this computer again; not where the organisation wants the lock."""

    passphrase: str = field(repr=False)

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        if context.ports.policy.app_lock_minutes is not None:
            raise ValueError(MANAGED)
        ServiceKeys(context.ports).turn_lock_off(self.passphrase)
        PreferenceStore(context.ports.config_dir).change(lock_after=None)
        return Done(touched=LockRead.topics)


class AppLock(QObject):
    """Locks the window of the desk, and turns the app lock on and off.

    Attributes:
        managed_minutes: minutes after which the organisation wants the lock; None if it does not.

    Signals:
        locked: the window has to hide everything about persons.
        released: the passphrase was entered.
        changed: (LockChoice) what is chosen.
        recovery_due: (str) the recovery key, to be shown once.
        busy_changed: (bool) whether the lock is being turned on or off.
        failed: (str) why something was not changed.
    """

    locked = Signal()
    released = Signal()
    changed = Signal(object)
    recovery_due = Signal(str)
    busy_changed = Signal(bool)
    failed = Signal(str)

    def __init__(self, flow: ProgramFlow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.managed_minutes = flow.ports.policy.app_lock_minutes
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._on_changed)
        self._screen.ended.connect(self._on_ended)
        self._idle = IdleClock(flow.ports.clock)
        self._choice = LockChoice()
        self._is_locked = False
        self._check_timer = QTimer(self)
        self._check_timer.setInterval(_CHECK_INTERVAL_MS)
        self._check_timer.timeout.connect(self.lock_if_idle)

    @property
    def choice(self) -> LockChoice:
        """What is chosen, as last read."""
        return self._choice

    @property
    def is_missing(self) -> bool:
        """Whether the organisation wants the lock and no passphrase opens this computer, as last read."""
        return self.managed_minutes is not None and not self._choice.passphrase_opens

    @property
    def is_locked(self) -> bool:
        """Whether the window is locked."""
        return self._is_locked

    def read(self) -> None:
        """Read what is chosen."""
        if self._screen.read(LockRead) is None:
            self._screen.add(LockRead())
        else:
            self._screen.ask(LockRead)

    def turn_on(self, passphrase: str, lock_after: int | None) -> None:
        """Let `passphrase` open the keys of this computer, and lock the window after `lock_after` minutes."""
        self._change(TurnLockOn(passphrase, lock_after))

    def turn_off(self, passphrase: str) -> None:
        """Let the keyring open the keys of this computer again; not where the organisation wants the lock."""
        self._change(TurnLockOff(passphrase))

    def choose_lock_after(self, minutes: int | None) -> None:
        """Lock after so many minutes without input; None for Ctrl+L only."""
        self._change(ChangePreferences({"lock_after": minutes}))

    def note_input(self) -> None:
        """A key was pressed, or the pointer moved; an input after a sleep of the computer comes too late."""
        if self._choice.lock_after is not None and not self.lock_if_idle():
            self._idle.restart()

    @Slot()
    def lock_if_idle(self) -> bool:
        """Lock the window if the chosen time has passed; whether it is locked."""
        minutes = self._choice.lock_after
        if minutes is not None and self._idle.seconds() >= 60 * minutes:
            self.lock()
        return self._is_locked

    @Slot()
    def lock(self) -> bool:
        """Lock the window now; whether it is locked. Without a passphrase nothing could open it again."""
        if not self._is_locked and self._choice.passphrase_opens:
            self._is_locked = True
            self._check_timer.stop()
            self.locked.emit()
        return self._is_locked

    @Slot()
    def release(self) -> None:
        """Show the window again, after the passphrase was entered."""
        self._is_locked = False
        if self._choice.lock_after is not None:
            self._idle.restart()
        self._watch()
        self.released.emit()

    def stop(self) -> None:
        """Stop measuring; the desk ends."""
        self._check_timer.stop()

    def _watch(self) -> None:
        if self._choice.lock_after is not None and self._choice.passphrase_opens and not self._is_locked:
            self._check_timer.start()
        else:
            self._check_timer.stop()

    def _change(self, command: Command) -> None:
        self.busy_changed.emit(True)
        self._screen.do(command)

    @Slot()
    def _on_changed(self) -> None:
        found = self._screen.of(LockRead)
        if found.unreadable is not None:
            self.failed.emit(found.unreadable.sentence)
        elif found.value is not None and found.value is not self._choice:
            self._choice = found.value
            if self._choice.lock_after is not None:
                self._idle.restart()
            self._watch()
            self.changed.emit(self._choice)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        self.busy_changed.emit(False)
        if outcome.failure is not None:
            self.failed.emit(outcome.sentence)
            self.read()  # a part may be done
        elif isinstance(outcome.command, TurnLockOn):
            self.recovery_due.emit(outcome.done.found)
