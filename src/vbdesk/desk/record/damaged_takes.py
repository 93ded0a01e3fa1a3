"""State of the damaged takes that wait for the user's decision."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.crash_recovery import DamagedTake
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.flow.commands import Command, CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.record.commands import DecideDamaged, FileDecision, RecoverSound
from vbdesk.language import _, formats


class DamagedTakesViewModel(QObject):
    """The damaged takes of the recorder's folder.

    Attributes:
        takes: undecided ones, oldest first.

    Signals:
        changed: `takes` has been read again.
        decided: (str) what was done, as text.
        failed: (str) what went wrong, and what was kept.
    """

    changed = Signal()
    decided = Signal(str)
    failed = Signal(str)

    def __init__(self, flow: Flow, parent: QObject) -> None:
        super().__init__(parent)
        self._flow = flow
        self.takes: tuple[DamagedTake, ...] = ()

    def show(self, takes: tuple[DamagedTake, ...]) -> None:
        """Show the takes that were found."""
        if takes != self.takes:
            self.takes = takes
            self.changed.emit()

    def title(self, take: DamagedTake) -> str:
        """Whose recording it is, and when its file was written last."""
        when = formats.day_and_time(in_zone(take.last_written))
        group_id = take.about.get("group_id")
        if not group_id:
            return _("Unknown subject, {when}", when=when)
        notes = self._flow.context.library.subject_notes
        return _("{subject}, {when}", subject=notes.shown(group_id).text, when=when)

    def decide(self, take: DamagedTake, decision: FileDecision) -> None:
        """Do with its file what a person decided."""
        self._do(DecideDamaged(take.path, decision))

    def recover_sound(self, take_id: str) -> None:
        """Offer the readable parts of a library recording."""
        self._do(RecoverSound(take_id))

    def _do(self, command: Command) -> None:
        self._flow.commands.do(command).ended.connect(self._on_ended)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is None:
            self.decided.emit(outcome.sentence)
        else:
            self.failed.emit(f"{outcome.sentence} {_('The file is kept.')}")
