"""Export of one subject, written and audited in a task; asks before it replaces files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.clock import utc_now
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.export_fault import export_fault
from vbdesk.desk.models.fhir_sending import FhirOrder, FhirSending
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.report_print import MakePages, PrintOrder, ReportPrint, pages_for_paper
from vbdesk.language import _, joined
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_consents, with_details
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.report.drawing.style import Look

if TYPE_CHECKING:
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.subject_record import SubjectRecord
CHARTS = ("png", "svg")
"""Formats that need no more than what the page shows: they work without the service."""
PRINTED = "pdf"
DRAWN = (PRINTED, *CHARTS)
"""Formats with a look."""
SIGNED = ("pdf", "fhir")
"""Formats that name the person who read the recording."""


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
class _Content:
    """What is exported, and a remark on it."""

    record: "SubjectRecord"
    options: "ReportOptions"
    remark: str = ""


@dataclass(frozen=True, slots=True)
class _Written:
    """Outcome: path, notes, and what prints the same."""

    place: Path
    remark: str
    order: PrintOrder | None = None


class SubjectExport(QObject):
    """One export at a time.

    Attributes:
        saved: the file or folder that was written last.
        printable: what prints the PDF that was written last; None after another format.
        printing: prints the report.
        sending: sends the subject to a FHIR server.
        look: of reports and charts.

    Signals:
        busy_changed: (bool) whether an export runs.
        progressed: (str) progress as text.
        done: (str) where it was written, as a sentence.
        would_overwrite: (str, callable) a file exists, as a sentence; the callable replaces it.
        failed: (str) why nothing was written.
    """

    busy_changed = Signal(bool)
    progressed = Signal(str)
    done = Signal(str)
    would_overwrite = Signal(str, object)
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        results: ResultRepository,
        tasks: TaskOwner,
        look: ReportLook,
        printing: ReportPrint,
        sending: FhirSending,
    ) -> None:
        super().__init__()
        self._profile, self._library, self._results, self._tasks = profile, library, results, tasks
        self.look, self.printing, self.sending = look, printing, sending
        for part in (printing, sending):
            part.setParent(self)
        self._task: Task | None = None
        self.saved: Path | None = None
        self.printable: PrintOrder | None = None
        self._request: tuple[ExportRequest, TrajectoryRead] | None = None

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

    def start(self, request: ExportRequest, read: TrajectoryRead) -> None:
        """Export the subject of `read`, the page's content."""
        if self.busy:
            return
        self._request, self.printable = (request, read), None
        look = self.look.current

        def work(context: TaskContext) -> _Written:
            return self._export(context, request, read, look)

        self.busy_changed.emit(True)
        self._task = self._tasks.start(
            work, self._on_done, self._on_failed, self._on_progress, self._on_finished, name="export"
        )

    def print_report(self, request: ExportRequest, read: TrajectoryRead) -> None:
        """Print the report that `request` describes; its folder is not used."""
        look = self.look.current

        def pages(context: TaskContext, letter: bool) -> tuple[Sequence[bytes], str]:
            content = self._content(context, request, read, look)
            return pages_for_paper([content.record], content.options, letter), content.remark

        self.printing.start(self._order(read.group_id, pages))

    def send(self, read: TrajectoryRead) -> None:
        """Ask whether to send the subject to the FHIR server."""

        def records(context: TaskContext) -> "list[SubjectRecord]":
            return [self._record(context, "fhir", read)]

        self.sending.ask(FhirOrder(1, self.shown(read.group_id), records))

    def cancel(self) -> None:
        """Stop; nothing is written."""
        if self._task is not None:
            self._task.cancel()

    def _export(self, context: TaskContext, request: ExportRequest, read: TrajectoryRead, look: Look) -> _Written:
        from vbdesk.report.exports import ExportFormat, expected_files, export_files, refuse_overwriting, write_files
        from vbdesk.report.file_names import file_stems

        kind = ExportFormat(request.kind)
        stem = file_stems([read.group_id])[read.group_id]
        folder = Path(request.folder) / f"{stem}-{kind}" if kind.one_folder else Path(request.folder)
        if not request.replace:
            refuse_overwriting(folder, expected_files(kind, [read.group_id]))  # before a read that may take long
        content = self._content(context, request, read, look)
        files = export_files(kind, [content.record], content.options)
        context.check()
        write_files(folder, files, overwrite=request.replace)
        self._library.note(AuditAction.EXPORTED, detail=f"{kind}, subjects=1")

        def pages(context: TaskContext, letter: bool) -> tuple[Sequence[bytes], str]:
            return pages_for_paper([content.record], content.options, letter), content.remark

        order = self._order(read.group_id, pages) if request.kind == PRINTED else None
        return _Written(folder if kind.one_folder else folder / next(iter(files)), content.remark, order)

    def _content(self, context: TaskContext, request: ExportRequest, read: TrajectoryRead, look: Look) -> _Content:
        """On a worker: the content for `request`, read from the service where necessary."""
        from vbdesk.report.documents.compiler import missing_letters  # the report's libraries are slow to import
        from vbdesk.report.documents.report_input import ReportOptions, ReportScope
        from vbdesk.report.exports import ExportFormat
        from vbdesk.report.sign_off import SignOff

        kind, now = ExportFormat(request.kind), utc_now().replace(microsecond=0)
        printed = kind is ExportFormat.PDF
        options = ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            scores=request.scores,
            subject_line=self._library.subject_notes.note_of(read.group_id).line if request.name and printed else "",
            letterhead=self._library.letterhead.read() if printed else None,
            scope=ReportScope.OVER_TIME if request.over_time else ReportScope.RECORDING,
            sign_off=SignOff(request.reader, now) if request.reader and request.kind in SIGNED else None,
            look=look,
        )
        record = self._record(context, request.kind, read)
        if kind.one_folder:
            [record] = with_details(self._library, [record])
        if kind is ExportFormat.FHIR:
            [record] = with_consents(self._library, [record])
        words = options.subject_line + (request.reader if options.sign_off is not None else "")
        missing = missing_letters(words) if printed else ""
        remark = (
            _("The report's fonts lack these letters, which print as squares: {letters}", letters=missing)
            if missing
            else ""
        )
        return _Content(record, options, remark)

    def _order(self, group_id: str, pages: MakePages) -> PrintOrder:
        def note() -> None:
            self._library.note(AuditAction.EXPORTED, detail="print, subjects=1")

        return PrintOrder(_("Print the report of {subject}", subject=self.shown(group_id)), pages, note)

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
        self.saved, self.printable = written.place, written.order
        self.done.emit(joined(_("Written to {path}.", path=written.place), written.remark))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        from vbdesk.report.exports import WouldOverwrite  # already imported by the task

        if isinstance(failure.error, WouldOverwrite) and self._request is not None:
            request, read = self._request
            again = partial(self.start, replace(request, replace=True), read)
            self.would_overwrite.emit(failure.sentence, again)
        else:
            self.failed.emit(export_fault(failure))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if progress.total:
            done = min(progress.done + 1, progress.total)
            self.progressed.emit(_("Reading result {done} of {total}", done=done, total=progress.total))

    @Slot()
    def _on_finished(self) -> None:
        self._task = None
        self.busy_changed.emit(False)
