"""The app lock: whether it is on, when it locks the window, and the way to turn it on and off."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.boot_clock import BootTime
from vbdesk.clock import Clock
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.preferences import PreferenceStore
from vbdesk.desk.models.service_keys import ServiceKeys
from vbdesk.outbox.library.managed_policy import managed_words
from vbdesk.outbox.profiles.service_key import LockState

LOCK_AFTER = (1, 2, 5, 10, 15, 30, 60)
"""Choices of minutes."""
USUAL_LOCK_AFTER = 10
_LOOK_MS = 2000

T = TypeVar("T")


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


class AppLock(QObject):
    """Locks the window of the desk, and turns the app lock on and off.

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

    def __init__(
        self,
        keys: ServiceKeys,
        preferences: PreferenceStore,
        clock: Clock,
        tasks: TaskOwner,
        parent: QObject | None,
        managed_minutes: int | None = None,
    ) -> None:
        """Make it; with `managed_minutes` the organisation wants the lock, after so many minutes."""
        super().__init__(parent)
        self.managed_minutes = managed_minutes
        self._keys, self._preferences = keys, preferences
        self._lane = Lane(tasks, self)
        self._clock = clock
        self._idle = IdleClock(clock)
        self._choice = LockChoice()
        self._is_locked = False
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self.lock_if_idle)

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
        self._lane.run(self._read, self._on_read, self._on_failed, name="app-lock")

    def turn_on(self, passphrase: str, lock_after: int | None) -> None:
        """Let `passphrase` open the keys of this computer, and lock the window after `lock_after` minutes."""

        def work(context: TaskContext) -> str:
            recovery_key = self._keys.turn_lock_on(passphrase)
            self._preferences.change(lock_after=lock_after)
            return recovery_key

        self._change(work, self._on_turned_on)

    def turn_off(self, passphrase: str) -> None:
        """Let the keyring open the keys of this computer again; not where the organisation wants the lock."""
        if self.managed_minutes is not None:
            self.failed.emit(managed_words())
            return

        def work(context: TaskContext) -> None:
            self._keys.turn_lock_off(passphrase)
            self._preferences.change(lock_after=None)

        self._change(work, self._on_changed)

    def choose_lock_after(self, minutes: int | None) -> None:
        """Lock after so many minutes without input; None for Ctrl+L only."""
        self._change(lambda context: self._preferences.change(lock_after=minutes), self._on_changed)

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
            self._look.stop()
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
        self._look.stop()

    def _watch(self) -> None:
        if self._choice.lock_after is not None and self._choice.passphrase_opens and not self._is_locked:
            self._look.start()
        else:
            self._look.stop()

    def _read(self, context: TaskContext) -> LockChoice:
        minutes = self.managed_minutes or self._preferences.load().lock_after
        self._clock.boot()  # its first call reads a file
        return LockChoice(self._keys.passphrase_opens(), self._keys.app_lock(), minutes)

    def _change(self, work: Callable[[TaskContext], T], done: Callable[[T], None]) -> None:
        self.busy_changed.emit(True)
        self._lane.run(work, done, self._on_failed, name="app-lock")

    @Slot(object)
    def _on_read(self, choice: LockChoice) -> None:
        self._choice = choice
        if choice.lock_after is not None:
            self._idle.restart()
        self._watch()
        self.changed.emit(choice)

    @Slot(object)
    def _on_turned_on(self, recovery_key: str) -> None:
        self._on_changed(None)
        self.recovery_due.emit(recovery_key)

    @Slot(object)
    def _on_changed(self, _: object) -> None:
        self.busy_changed.emit(False)
        self.read()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.busy_changed.emit(False)
        self.failed.emit(failure.sentence)
        self._lane.run(self._read, self._on_read, name="app-lock")
