"""Export of one subject, written and audited in a task; asks before it replaces files."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.models.subjects_export import export_fault
from vbdesk.desk.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_consents, with_details
from vbdesk.outbox.results.repository import ResultRepository

if TYPE_CHECKING:
    from vbdesk.report.subject_record import SubjectRecord
CHARTS = ("png", "svg")
"""Formats that need no more than what the page shows: they work without the service."""
PRINTED = "pdf"
SIGNED = ("pdf", "fhir")
"""Formats that tell who has read."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export.

    Attributes:
        kind: name of an `ExportFormat`.
        folder: target; formats of several files get a subfolder.
        reader: name of the person who read the newest recording; may be empty.
        scores: include raw scores, for research.
        name: print the subject's name and second line.
        over_time: print the subject over time instead of the newest recording.
        replace: existing files may be replaced.
    """

    kind: str
    folder: str
    reader: str = ""
    scores: bool = False
    name: bool = False
    over_time: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class _Written:
    """Outcome: path and notes."""

    place: Path
    remark: str


class SubjectExport(QObject):
    """One export at a time.

    Attributes:
        saved: the file or folder that was written last.

    Signals:
        busy_changed: (bool) whether an export runs.
        progressed: (str) progress as text.
        done: (str) where it was written, as a sentence.
        would_overwrite: (str) a file exists, as a sentence; `replace` continues.
        failed: (str) why nothing was written.
    """

    busy_changed = Signal(bool)
    progressed = Signal(str)
    done = Signal(str)
    would_overwrite = Signal(str)
    failed = Signal(str)

    def __init__(self, profile: Profile, library: Library, results: ResultRepository, tasks: TaskOwner) -> None:
        super().__init__()
        self._profile, self._library, self._results, self._tasks = profile, library, results, tasks
        self._task: Task | None = None
        self.saved: Path | None = None
        self._wish: tuple[ExportRequest, TrajectoryRead] | None = None

    @property
    def busy(self) -> bool:
        """Whether an export runs."""
        return self._task is not None

    def name_of(self, group_id: str) -> str:
        """What a report can print in addition to the id: alias and second line; empty if there is neither."""
        return self._library.subject_notes.note_of(group_id).line

    def shown(self, group_id: str) -> str:
        """How the subject is shown, in one line."""
        return self._library.subject_notes.shown(group_id).words

    def start(self, wish: ExportRequest, read: TrajectoryRead) -> None:
        """Export the subject of `read`, the page's content."""
        if self.busy:
            return
        self._wish = (wish, read)

        def work(context: TaskContext) -> _Written:
            return self._export(context, wish, read)

        self.busy_changed.emit(True)
        self._task = self._tasks.start(
            work, self._on_done, self._on_failed, self._on_progress, self._on_finished, name="export"
        )

    def replace(self) -> None:
        """Replace the existing files, after the user confirmed."""
        if self._wish is not None:
            wish, read = self._wish
            self.start(replace(wish, replace=True), read)

    def cancel(self) -> None:
        """Stop; nothing is written."""
        if self._task is not None:
            self._task.cancel()

    def _export(self, context: TaskContext, wish: ExportRequest, read: TrajectoryRead) -> _Written:
        from vbdesk.report.documents.compiler import missing_letters  # the report's libraries are slow to import
        from vbdesk.report.documents.report_input import ReportOptions, ReportScope
        from vbdesk.report.exports import ExportFormat, expected_files, export_files, refuse_overwriting, write_files
        from vbdesk.report.file_names import file_stems
        from vbdesk.report.sign_off import SignOff

        kind, now = ExportFormat(wish.kind), datetime.now(UTC).replace(microsecond=0)
        note = self._library.subject_notes.note_of(read.group_id)
        options = ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            scores=wish.scores,
            subject_line=note.line if wish.name and kind is ExportFormat.PDF else "",
            letterhead=self._library.letterhead.read() if kind is ExportFormat.PDF else None,
            scope=ReportScope.OVER_TIME if wish.over_time else ReportScope.RECORDING,
            sign_off=SignOff(wish.reader, now) if wish.reader and wish.kind in SIGNED else None,
        )
        stem = file_stems([read.group_id])[read.group_id]
        folder = Path(wish.folder) / f"{stem}-{kind}" if kind.one_folder else Path(wish.folder)
        if not wish.replace:
            refuse_overwriting(folder, expected_files(kind, [read.group_id]))  # before a read that may take long
        record = self._record(context, wish.kind, read)
        if kind.one_folder:
            [record] = with_details(self._library, [record])
        if kind is ExportFormat.FHIR:
            [record] = with_consents(self._library, [record])
        files = export_files(kind, [record], options)
        context.check()
        write_files(folder, files, overwrite=wish.replace)
        self._library.note(AuditAction.EXPORTED, detail=f"{kind}, subjects=1")
        printed = options.subject_line + (wish.reader if options.sign_off is not None else "")
        missing = missing_letters(printed) if kind is ExportFormat.PDF else ""
        remark = f" The report's fonts lack these letters, which print as squares: {missing}" if missing else ""
        return _Written(folder if kind.one_folder else folder / next(iter(files)), remark)

    def _record(self, context: TaskContext, kind: str, read: TrajectoryRead) -> "SubjectRecord":
        from vbdesk.report.subject_reader import read_subject
        from vbdesk.report.subject_record import RecordSource, subject_record

        source = RecordSource.of(self._profile.base_url, self._profile.account_id)
        if kind in CHARTS:
            return subject_record(read.group_id, source, (), read)

        def progress(done: int, total: int) -> None:
            context.check()
            context.progress(done, total)

        with self._results.reader() as reader:
            return read_subject(read.group_id, source, reader, reader, on_progress=progress)

    @Slot(object)
    def _on_done(self, written: _Written) -> None:
        self.saved = written.place
        self.done.emit(f"Written to {written.place}.{written.remark}")

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        from vbdesk.report.exports import WouldOverwrite  # already imported by the task

        if isinstance(failure.error, WouldOverwrite):
            self.would_overwrite.emit(failure.sentence)
        else:
            self.failed.emit(export_fault(failure))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if progress.total:
            self.progressed.emit(f"Reading result {min(progress.done + 1, progress.total)} of {progress.total}")

    @Slot()
    def _on_finished(self) -> None:
        self._task = None
        self.busy_changed.emit(False)
