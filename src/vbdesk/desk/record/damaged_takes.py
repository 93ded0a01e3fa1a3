"""State of the damaged takes that wait for the user's decision."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.crash_recovery import DamagedTake
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.flow.tasks import Failure, Lane
from vbdesk.language import Message, _, formats, message, plural_message, translated
from vbdesk.outbox.library.damaged_takes import DamagedTakes
from vbdesk.outbox.library.subject_notes import SubjectNotes


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

    def __init__(self, damaged: DamagedTakes, notes: SubjectNotes, disk: Lane, parent: QObject | None = None) -> None:
        """Make it; `disk` runs the file operations, one at a time."""
        super().__init__(parent)
        self._damaged, self._notes, self._disk = damaged, notes, disk
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
        return _("{subject}, {when}", subject=self._notes.shown(group_id).words, when=when)

    def recover(self, take: DamagedTake) -> None:
        """Offer the readable parts as new recordings, and keep the file."""
        self._run(lambda: _recovered(self._damaged.recover(take.path)))

    def recover_sound(self, take_id: str) -> None:
        """Offer the readable parts of a library recording, which does not change."""
        self._run(lambda: _recovered(self._damaged.recover_sound(take_id)))

    def keep(self, take: DamagedTake) -> None:
        """Keep the file and stop offering it."""

        def work() -> Message:
            self._damaged.keep(take.path)
            return message("The damaged file is kept in {folder}.", folder=self._damaged.folder)

        self._run(work)

    def delete(self, take: DamagedTake) -> None:
        """Delete the file."""

        def work() -> Message:
            self._damaged.delete(take.path)
            return message("The damaged file is deleted.")

        self._run(work)

    def _run(self, work: Callable[[], Message]) -> None:
        self._disk.run(lambda context: work(), self._on_done, self._on_failed, name="damaged")

    @Slot(object)
    def _on_done(self, done: Message) -> None:
        self.decided.emit(translated(done))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(f"{translated(failure.sentence)} {_('The file is kept.')}")


def _recovered(count: int) -> Message:
    return plural_message(
        "{count} readable part recovered. Review it as a recording; the damaged file is kept.",
        "{count} readable parts recovered. Review each as a recording; the damaged file is kept.",
        count,
    )
