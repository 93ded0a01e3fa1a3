"""State of an import: a preview row by row, then the import."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.desk.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cells import Cell, LabelCell, TwoLineCell
from vbdesk.desk.ui.time_text import clock_words, counted, day_and_time
from vbdesk.outbox.imports.file_import import (
    ImportOutcome,
    ImportPreview,
    ImportRow,
    find_recordings,
    import_rows,
    preview_csv,
    preview_files,
)
from vbdesk.outbox.imports.import_consent import with_consent
from vbdesk.outbox.library.items import TakeMetadata
from vbdesk.outbox.library.library import Library

HEADINGS = ("Recording", "What will happen", "Subject", "Recorded", "Length", "Analysis")


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One recording of the preview; `became` is the outcome of its import."""

    row: ImportRow
    now: datetime
    became: ImportOutcome | None = None

    @property
    def key(self) -> str:
        """Its number."""
        return str(self.row.number)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """File, outcome, subject, time, length and analysis."""
        row = self.row
        length = "–" if row.duration_s is None else clock_words(row.duration_s)
        recorded = "–" if row.recorded_at is None else day_and_time(row.recorded_at, self.now)
        return (
            TwoLineCell(row.path.name, row.path.parent.name),
            self._fate(),
            LabelCell(row.group_id or "–", "text", strong=True, name=True),
            LabelCell(recorded),
            LabelCell(length, right=True),
            LabelCell(row.target.name.replace("_", " ").capitalize()),
        )

    def _fate(self) -> LabelCell:
        if self.row.error is not None:
            return LabelCell(self.row.error, "fail")
        if self.became is None:
            return LabelCell(" ".join(("Ready.", *self.row.notes)), "text2")
        return LabelCell("Imported.", "ok") if self.became.error is None else LabelCell(self.became.error, "fail")


class IntakeViewModel(QObject):
    """Runs one import at a time; the files are only read.

    Attributes:
        table: the rows.
        busy: files are being inspected or imported.
        preview: what would be imported; None before files were inspected.

    Signals:
        begun: inspection of files started.
        progressed: (int, int) number done, and the total.
        previewed: `preview` is ready.
        single: (Path) only one recording was dropped.
        imported: (int, int) number imported, and number not imported.
        failed: (str) why nothing can be imported.
        left: the import was cancelled or has ended.
    """

    begun = Signal()
    progressed = Signal(int, int)
    previewed = Signal()
    single = Signal(object)
    imported = Signal(int, int)
    failed = Signal(str)
    left = Signal()

    def __init__(self, library: Library, tasks: TaskOwner, clock: Clock) -> None:
        super().__init__()
        self._library, self._tasks, self._clock = library, tasks, clock
        self._task: Task | None = None
        self._common: TakeMetadata | None = None
        self.table = CellTable(HEADINGS, self)
        self.preview: ImportPreview | None = None

    @property
    def busy(self) -> bool:
        """Whether files are being inspected or imported."""
        return self._task is not None

    def look(self, paths: list[Path], common: TakeMetadata, signs: Collection[str]) -> None:
        """Inspect files, folders or a CSV.

        Args:
            paths: dropped or chosen.
            common: subject, analysis and other values that a list does not contain.
            signs: names that a list may request.
        """
        if self.busy:
            return
        self.preview, self._common = None, common
        self.table.replace(HEADINGS, ())
        self.begun.emit()
        self._task = self._tasks.start(
            lambda context: self._look(paths, common, signs, context),
            self._on_looked,
            self._on_failed,
            self._on_progress,
            self._on_ended,
            name="intake",
        )

    def take_in(self, *, queue: bool) -> None:
        """Import what is ready as one batch; `queue` adds it to the upload queue."""
        preview, common = self.preview, self._common
        if self.busy or preview is None or common is None or not preview.ready:
            return
        self._task = self._tasks.start(
            lambda context: import_rows(
                self._library, preview.ready, common, queue, context.progress, lambda: context.cancelled
            ),
            self._on_imported,
            self._on_failed,
            self._on_progress,
            self._on_ended,
            name="import",
        )

    def cancel(self) -> None:
        """Cancel; what was imported so far stays."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.preview = None
        self.left.emit()

    def words(self) -> str:
        """The preview as a sentence."""
        if self.preview is None:
            return "Looking at the files. Nothing is changed."
        ready, faulty = len(self.preview.ready), len(self.preview.faulty)
        told = f"{counted(ready, 'recording')} ready"
        if faulty:
            told += f", {faulty} cannot be imported: each row says why"
        return f"{told}. The files themselves stay as they are."

    def _look(
        self, paths: list[Path], common: TakeMetadata, signs: Collection[str], context: TaskContext
    ) -> ImportPreview | Path:
        """On a worker: the preview, with what the consent policy says; or the only recording."""
        found = self._read(paths, common, signs, context)
        if isinstance(found, Path):
            return found
        return with_consent(found, self._library.consent_gate.all(), self._clock.now())

    def _read(
        self, paths: list[Path], common: TakeMetadata, signs: Collection[str], context: TaskContext
    ) -> ImportPreview | Path:
        known, target = self._library.known_sources(), common.target
        progress: Callable[[int, int], None] = context.progress
        if len(paths) == 1 and paths[0].suffix.lower() == ".csv":
            return preview_csv(paths[0], target, known, self._clock, progress, lambda: context.cancelled, signs)
        found = find_recordings(paths)
        if len(found) == 1 and len(paths) == 1 and not paths[0].is_dir():
            return found[0]
        return preview_files(found, common.group_id, target, known, self._clock, progress, lambda: context.cancelled)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if self.sender() is self._task:
            self.progressed.emit(progress.done, progress.total)

    @Slot()
    def _on_ended(self) -> None:
        if self.sender() is self._task:
            self._task = None

    @Slot(object)
    def _on_looked(self, found: ImportPreview | Path) -> None:
        if self.sender() is not self._task:
            return
        self._task = None
        if isinstance(found, Path):
            self.left.emit()
            self.single.emit(found)
        elif not found.rows:
            self.failed.emit("There is no WAV, FLAC, MP3 or M4A file in it. Nothing was changed.")
            self.left.emit()
        else:
            self.preview = found
            now = self._clock.now()
            self.table.replace(HEADINGS, [PreviewRow(row, now) for row in found.rows])
            self.previewed.emit()

    @Slot(object)
    def _on_imported(self, done: list[ImportOutcome]) -> None:
        self._task = None
        preview, now = self.preview, self._clock.now()
        became = {imported.row.number: imported for imported in done}
        rows = () if preview is None else preview.rows
        self.table.replace(HEADINGS, [PreviewRow(row, now, became.get(row.number)) for row in rows])
        well = sum(imported.error is None for imported in done)
        self.imported.emit(well, len(rows) - well)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._task = None
        self.failed.emit(failure.sentence)
        self.left.emit()
