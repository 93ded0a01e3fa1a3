"""What is set for the recordings of a profile, and how they are looked after: when to send, how long to keep, audit."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.outbox.diagnostics.diagnostics import diagnose, write_bundle
from vbdesk.outbox.library.audit import AuditReader, AuditVerification
from vbdesk.outbox.library.settings import LibrarySettings, Retention, RetentionRule, SendRule
from vbdesk.outbox.profiles.profiles import Profile

LONGEST_DAYS = 3650


class RulesViewModel(QObject):
    """Reads and changes what is set; every change is kept at once.

    Signals:
        changed: (LibrarySettings) what is set now.
        network_said: (str) what the system tells of the network, for the rule about metered ones.
        checked: (bool, str) whether the audit log is whole, and the sentence about it.
        written: (Path) where the diagnostics are.
        failed: (str) why what was asked was not done.
    """

    changed = Signal(object)
    network_said = Signal(str)
    checked = Signal(bool, str)
    written = Signal(object)
    failed = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        workspace.counts_changed.connect(self._on_counts)
        workspace.network_changed.connect(self.tell)

    @Slot()
    def tell(self) -> None:
        """Say what is set, as last read."""
        self.changed.emit(self._workspace.settings)
        self.network_said.emit(_network_words(self._workspace.network.state().metered))

    @property
    def profile(self) -> Profile:
        """Whose rules these are."""
        return self._workspace.profile

    def set_send_rule(self, rule: SendRule) -> None:
        """When recordings in the line are sent."""
        library = self._workspace.library
        self._change(lambda context: library.change_settings(send_rule=rule))

    def set_retention(self, rule: RetentionRule, days: int) -> None:
        """How long the sound stays after a result."""
        library, retention = self._workspace.library, Retention(rule, min(max(days, 0), LONGEST_DAYS))
        self._change(lambda context: library.change_settings(retention=retention))

    def check_audit(self) -> None:
        """Follow the audit log from its first entry to its last."""
        workspace = self._workspace

        def work(context: TaskContext) -> AuditVerification:
            folder = workspace.outside.library_dir(workspace.profile.profile_id)
            return AuditReader(folder, workspace.library.store.key).verify()

        workspace.tasks.start(work, self._on_verified, self._on_failed, name="audit")

    def write_diagnostics(self, file: Path) -> None:
        """Put what helps to find a fault into a file, without secrets and without anything about a person."""
        workspace = self._workspace

        def work(context: TaskContext) -> Path:
            write_bundle(diagnose(workspace.outside), file)
            return file

        workspace.tasks.start(work, self._on_written, self._on_failed, name="diagnostics")

    def _change(self, work: Callable[[TaskContext], LibrarySettings]) -> None:
        self._workspace.tasks.start(work, self._on_changed, self._on_failed, name="rules")

    @Slot(object)
    def _on_counts(self, _: object) -> None:
        self.changed.emit(self._workspace.settings)

    @Slot(object)
    def _on_changed(self, settings: LibrarySettings) -> None:
        self.changed.emit(settings)

    @Slot(object)
    def _on_verified(self, found: AuditVerification) -> None:
        self.checked.emit(found.ok, found.sentence)

    @Slot(object)
    def _on_written(self, file: Path) -> None:
        self.written.emit(file)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
        self.tell()


def _network_words(metered: bool | None) -> str:
    if metered is None:
        return "This system does not tell whether a network is metered: every network counts as unmetered."
    return "The present network is metered." if metered else "The present network is not metered."
