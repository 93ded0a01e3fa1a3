"""Rules for the recordings of a profile: sending, retention, audit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.language import _, translated
from vbdesk.outbox.library.audit import AuditVerification
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.managed_policy import ManagedPolicy
from vbdesk.outbox.library.settings import (
    LibrarySettings,
    Retention,
    RetentionRule,
)
from vbdesk.outbox.profiles.profiles import Profile

LONGEST_DAYS = 3650


class RulesViewModel(QObject):
    """Reads and changes the rules; every change is saved immediately.

    Signals:
        changed: (LibrarySettings) the current settings.
        network_said: (str) the network's state, for the rule about metered networks.
        checked: (bool, str) whether the audit log is intact, and a sentence.
        written: (Path) of the diagnostics.
        failed: (str) why an action failed.
    """

    changed = Signal(object)
    network_said = Signal(str)
    checked = Signal(bool, str)
    written = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        sync: SyncState,
        tasks: TaskOwner,
        write_diagnostics: Callable[[Path], None],
    ) -> None:
        super().__init__()
        self._profile, self._library, self._sync, self._tasks = profile, library, sync, tasks
        self._write_diagnostics = write_diagnostics
        self._changes = Lane(tasks, self)  # in order, so that the last choice is the one that stays
        sync.counts_changed.connect(self._on_counts)
        sync.network_changed.connect(self.tell)

    @Slot()
    def tell(self) -> None:
        """Emit the settings as last read."""
        self.changed.emit(self._sync.settings)
        self.network_said.emit(_network_words(self._sync.network.state().metered))

    @property
    def policy(self) -> ManagedPolicy:
        """What the organisation has set; it cannot be changed here."""
        return self._library.policy

    @property
    def profile(self) -> Profile:
        """The profile of the rules."""
        return self._profile

    def change(self, **changes: Any) -> None:
        """Set the given fields of `LibrarySettings`."""
        library = self._library
        self._change(lambda context: library.change_settings(**changes))

    def set_retention(self, rule: RetentionRule, days: int) -> None:
        """Set how long the sound is kept after a result."""
        self.change(retention=Retention(rule, min(max(days, 0), LONGEST_DAYS)))

    def change_consent(self, **changes: Any) -> None:
        """Set the given fields of `ConsentRules`."""
        library = self._library
        self._change(lambda context: library.change_consent_rules(lambda rules: replace(rules, **changes)))

    def check_audit(self) -> None:
        """Verify the whole audit log."""

        def work(context: TaskContext) -> AuditVerification:
            return self._library.verify_audit()

        self._tasks.start(work, self._on_verified, self._on_failed, name="audit")

    def write_diagnostics(self, file: Path) -> None:
        """Write diagnostics to a file, without secrets and personal data."""

        def work(context: TaskContext) -> Path:
            self._write_diagnostics(file)
            return file

        self._tasks.start(work, self._on_written, self._on_failed, name="diagnostics")

    def _change(self, work: Callable[[TaskContext], LibrarySettings]) -> None:
        self._changes.run(work, self._on_changed, self._on_failed, name="rules")

    @Slot(object)
    def _on_counts(self, counts: object) -> None:
        self.changed.emit(self._sync.settings)

    @Slot(object)
    def _on_changed(self, settings: LibrarySettings) -> None:
        self.changed.emit(settings)

    @Slot(object)
    def _on_verified(self, found: AuditVerification) -> None:
        self.checked.emit(found.ok, translated(found.sentence))

    @Slot(object)
    def _on_written(self, file: Path) -> None:
        self.written.emit(file)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
        self.tell()


def _network_words(metered: bool | None) -> str:
    if metered is None:
        return _("This system does not tell whether a network is metered: every network counts as unmetered.")
    return _("The present network is metered.") if metered else _("The present network is not metered.")
