"""State of the Subject page: one subject over time, read from the service and kept while that is away."""

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QImage

from vbdesk.client.errors import NotFound
from vbdesk.contract.longitudinal import TrajectoryRunning
from vbdesk.desk.models.cell_table import CellTable
from vbdesk.desk.places import Recording
from vbdesk.desk.plots.picture import write_picture
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.desk.viewmodels.subject_reading import SubjectReading, subject_of
from vbdesk.desk.viewmodels.time_words import counted
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.items import ItemFilter
from vbdesk.outbox.states import ON_THEIR_WAY, OutboxState


class SubjectViewModel(QObject):
    """One subject at a time.

    Signals:
        shown: (SubjectReading) newer data, or another subject.
        waiting: (str) there is nothing to show yet, and why.
        stale: (str) what is shown may be old, and why; empty when it is not.
        exported: (str) path of the picture that was written.
        export_failed: (str) why it was not.
    """

    shown = Signal(object)
    waiting = Signal(str)
    stale = Signal(str)
    exported = Signal(str)
    export_failed = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.table = CellTable(("Recorded",), self)
        self.group_id = ""
        self.reading: SubjectReading | None = None
        self._kept: dict[str, SubjectReading] = {}
        self._done = 0
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.reload)
        workspace.counts_changed.connect(self._on_counts)

    def open(self, group_id: str) -> None:
        """Show another subject; what was last read of it at once, newer data when it comes."""
        self._again.stop()
        self.group_id = group_id
        self.reading = self._kept.get(group_id)
        if self.reading is not None:
            self._show(self.reading)
        else:
            self.waiting.emit("Reading the trajectory.")
        self.reload()

    def leave(self) -> None:
        """The page is no longer seen."""
        self._again.stop()
        self.group_id = ""

    @Slot()
    def reload(self) -> None:
        """Ask the service again."""
        group_id = self.group_id
        if not group_id:
            return

        def work(context: TaskContext) -> tuple[str, SubjectReading | TrajectoryRunning | str]:
            return group_id, self._read(group_id)

        self._workspace.tasks.start(work, self._on_read, self._on_failed, name="trajectory")

    def open_recording(self, job_id: str) -> None:
        """Show the result of one recording."""
        rows = () if self.reading is None else self.reading.rows
        recorded_at = next((row.recorded_at for row in rows if row.key == job_id), None)
        self._workspace.navigator.open(
            "result", Recording(job_id=job_id, group_id=self.group_id, recorded_at=recorded_at)
        )

    def record(self) -> None:
        """Record this subject."""
        self._workspace.navigator.open("record", self.group_id)

    def export(self, picture: QImage, path: Path) -> None:
        """Write a drawn chart."""

        def work(context: TaskContext) -> Path:
            write_picture(picture, path)
            return path

        self._workspace.tasks.start(work, self._on_exported, self._on_export_failed, name="export")

    def _read(self, group_id: str) -> SubjectReading | TrajectoryRunning | str:
        """On a worker: the trajectory, that it is still being computed, or why there is none."""
        try:
            with self._workspace.client() as client:
                read = client.groups.trajectory(group_id)
        except NotFound:
            return self._nothing_yet(group_id)
        if isinstance(read, TrajectoryRunning):
            return read
        if not read.data_points:
            return self._nothing_yet(group_id)
        return subject_of(read, self._workspace.outside.clock.now())

    def _nothing_yet(self, group_id: str) -> str:
        items = self._workspace.library.list(ItemFilter(group_id=group_id))
        moving = sum(item.state in ON_THEIR_WAY for item in items)
        if moving:
            return f"{counted(moving, 'recording')} on the way. The charts appear with the first result."
        return "No recording of this subject has a result yet."

    def _show(self, reading: SubjectReading) -> None:
        self.reading = self._kept[reading.group_id] = reading
        self.table.replace(reading.headings, reading.rows)
        self.shown.emit(reading)

    @Slot(object)
    def _on_read(self, answer: tuple[str, SubjectReading | TrajectoryRunning | str]) -> None:
        group_id, read = answer
        if group_id != self.group_id:
            return
        if isinstance(read, SubjectReading):
            self.stale.emit("")
            if self.reading is None or self.reading.computed_at != read.computed_at:
                self._show(read)
        elif isinstance(read, TrajectoryRunning):
            self._again.start(1000 * max(1, read.retry_after_seconds))
            if self.reading is None:
                self.waiting.emit("The trajectory is being computed. It appears here by itself.")
        else:
            self.reading = None
            self._kept.pop(group_id, None)
            self.stale.emit("")
            self.waiting.emit(read)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        if self.reading is not None:
            self.stale.emit(f"{failure.sentence} The charts show what was last read.")
        else:
            self.stale.emit(failure.sentence)
            self.waiting.emit("There is nothing to show until the service answers.")

    @Slot(object)
    def _on_counts(self, counts: dict[OutboxState, int]) -> None:
        """A result has come: perhaps this subject's."""
        done, before = counts[OutboxState.DONE], self._done
        self._done = done
        if done > before and self.group_id:
            self.reload()

    @Slot(object)
    def _on_exported(self, path: Path) -> None:
        self.exported.emit(str(path))

    @Slot(object)
    def _on_export_failed(self, failure: Failure) -> None:
        self.export_failed.emit(failure.sentence)
