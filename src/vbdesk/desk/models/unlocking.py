"""State of the pages about the key of this computer: unlock, recover, recovery key."""

from collections.abc import Callable
from math import ceil
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.models.service_keys import ServiceKeys
from vbdesk.language import N_, _, ngettext
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
        keys: ServiceKeys,
        tasks: TaskOwner,
        sentence: str,
        tries: WrongTries,
        *,
        with_passphrase: bool,
        parent: QObject | None = None,
    ) -> None:
        """Ask for the passphrase if `with_passphrase`, else for the recovery key; `tries` are those of the program."""
        super().__init__(parent)
        self._keys, self._tasks, self._busy = keys, tasks, False
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
        self._start(lambda context: self._keys.unlock(passphrase))

    def recover(self, typed: str, passphrase: str | None) -> None:
        """Open the key with the recovery key; with a new passphrase if there is no keyring."""
        self._start(lambda context: self._keys.recover(typed, passphrase))

    def _start(self, work: Callable[[TaskContext], None]) -> None:
        if not self._busy:
            self._set_busy(True)
            self._tasks.start(work, self._on_opened, self._on_failed, name="unlock")

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self.busy_changed.emit(busy)

    @Slot(object)
    def _on_opened(self, _: None) -> None:
        self._tries.clear()
        self._set_busy(False)
        self.opened.emit()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._set_busy(False)
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
        words = _("The next try is possible in {seconds} s.", seconds=ceil(seconds))
        self.failed.emit(f"{sentence} {words}".strip())
        self._set_busy(True)
        self._pause.start(ceil(1000 * seconds))

    @Slot()
    def _on_pause_over(self) -> None:
        self._set_busy(False)


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
        keys: ServiceKeys,
        tasks: TaskOwner,
        recovery_key: str,
        *,
        by_passphrase: bool,
        parent: QObject | None = None,
    ) -> None:
        """Make it; `by_passphrase`: a passphrase opens the key, not the keyring."""
        super().__init__(parent)
        self._keys, self._tasks = keys, tasks
        self.recovery_key, self.by_passphrase = recovery_key, by_passphrase

    @property
    def groups(self) -> list[str]:
        """The groups of the key, as they are shown."""
        return self.recovery_key.split("-")

    def save(self, file: Path) -> None:
        """Write the key to the file that the user chose."""

        def work(context: TaskContext) -> Path:
            self._keys.save_recovery_key(self.recovery_key, file)
            return file

        self._tasks.start(work, self._on_saved, self._on_failed, name="recovery-save")

    def finish(self) -> None:
        """Finish: the user has the key or does not want it."""
        self._tasks.start(
            lambda context: self._keys.recovery_was_offered(), self._on_finished, self._on_not_noted, name="recovery"
        )

    @Slot(object)
    def _on_saved(self, file: Path) -> None:
        self.saved.emit(_("Saved as {file}. Move it off this computer, or print it and delete the file.", file=file))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)

    @Slot(object)
    def _on_finished(self, _: None) -> None:
        self.finished.emit()

    @Slot(object)
    def _on_not_noted(self, failure: Failure) -> None:
        """Continue; the key is offered again at the next start."""
        self.finished.emit()
