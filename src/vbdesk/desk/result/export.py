"""Export of one result as JSON, report or FHIR, written and audited in a task; printing of its report."""

from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.clock import utc_now
from vbdesk.contract.jobs import Job
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.report_print import MakePages, PrintOrder, ReportPrint, pages_for_paper
from vbdesk.desk.models.result_source import ResultSource
from vbdesk.desk.models.result_state import ResultView
from vbdesk.language import _, joined, message, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.disk_faults import file_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_consents
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.drawing.style import Look
from vbdesk.report.exports import EXTENSIONS, ExportFormat, export_files, write_files
from vbdesk.report.file_names import file_stems
from vbdesk.report.subject_record import RecordSource, SubjectRecord, subject_record


class ResultExport(QObject):
    """Exports the result that is shown.

    Attributes:
        printing: prints its report.
        look: of the report.
        printable: what prints the PDF that was written last; None after another format.

    Signals:
        saved: (str) path of the file that was written.
        failed: (str) why no file was written.
    """

    saved = Signal(str)
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        results: ResultRepository,
        tasks: TaskOwner,
        look: ReportLook,
        printing: ReportPrint,
    ) -> None:
        super().__init__()
        self._profile, self._library, self._results = profile, library, results
        self._source, self._tasks = ResultSource(library, results), tasks
        self.look, self.printing = look, printing
        printing.setParent(self)
        self.printable: PrintOrder | None = None

    def file_name(self, view: ResultView, kind: ExportFormat) -> str:
        """Default file name: subject id and time."""
        moment = "" if view.recorded_at is None else f"{in_zone(view.recorded_at):-%Y%m%d-%H%M}"
        stem = file_stems([view.group_id])[view.group_id] if view.group_id else "result"
        return f"{stem}{moment}{EXTENSIONS.get(kind, f'.{kind}')}"

    def save_json(self, view: ResultView, path: Path) -> None:
        """Write the result as received."""
        if view.reading is not None:
            raw = f"{view.reading.raw}\n".encode()
            self._start(ExportFormat.JSON, view, path, lambda: (raw, None))

    def export(self, kind: ExportFormat, view: ResultView, path: Path, *, scores: bool) -> None:
        """Write a report or FHIR bundle of this recording; reads missing data from the service."""
        look = self.look.current

        def content() -> tuple[bytes, PrintOrder | None]:
            options, records = self._options(kind, look, scores=scores), [self._record(view)]
            if kind is ExportFormat.FHIR:
                records = with_consents(self._library, records)
            files = export_files(kind, records, options)
            order = None
            if kind is ExportFormat.PDF:
                order = self._order(view, lambda context, letter: (pages_for_paper(records, options, letter), ""))
            return next(file for file in files.values() if isinstance(file, bytes)), order

        self._start(kind, view, path, content)

    def print_report(self, view: ResultView, *, scores: bool) -> None:
        """Print the report of this recording; reads missing data from the service."""
        look = self.look.current

        def pages(context: TaskContext, letter: bool) -> tuple[Sequence[bytes], str]:
            options = self._options(ExportFormat.PDF, look, scores=scores)
            return pages_for_paper([self._record(view)], options, letter), ""

        self.printing.start(self._order(view, pages))

    def _start(
        self, kind: ExportFormat, view: ResultView, path: Path, content: Callable[[], tuple[bytes, PrintOrder | None]]
    ) -> None:
        library, take_id = self._library, view.recording.take_id

        def work(context: TaskContext) -> tuple[Path, PrintOrder | None]:
            made, order = content()
            write_files(path.parent, {path.name: made}, overwrite=True)
            library.note(AuditAction.EXPORTED, take_id, kind.value)
            return path, order

        self._tasks.start(work, self._on_written, self._on_failed, name="export-result")

    def _options(self, kind: ExportFormat, look: Look, *, scores: bool) -> ReportOptions:
        now = utc_now().replace(microsecond=0)
        return ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            scores=scores,
            letterhead=self._library.letterhead.read() if kind is ExportFormat.PDF else None,
            look=look,
        )

    def _order(self, view: ResultView, pages: MakePages) -> PrintOrder:
        def note() -> None:
            self._library.note(AuditAction.EXPORTED, view.recording.take_id, "print")

        subject = self._library.subject_notes.shown(view.group_id).words if view.group_id else view.title
        title = _("Print the report of {subject}, {recording}", subject=subject, recording=view.title)
        return PrintOrder(title, pages, note)

    def _record(self, view: ResultView) -> SubjectRecord:
        stored = self._results.stored_trajectory(view.group_id)
        trajectory = None if stored is None else stored.value
        source = RecordSource.of(self._profile.base_url, self._profile.account_id)
        return subject_record(view.group_id, source, [(view.recorded_at, self._job(view))], trajectory)

    def _job(self, view: ResultView) -> Job:
        found = self._source.here(view.recording)
        known = found.job is not None and found.job.status.terminal
        job = found.job if known else self._source.ask(found).job
        if job is None:
            raise ValueError(message("The service has no analysis of this recording."))
        return job

    @Slot(object)
    def _on_written(self, written: tuple[Path, PrintOrder | None]) -> None:
        path, self.printable = written
        self.saved.emit(str(path))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        error = failure.error
        if isinstance(error, OSError):
            self.failed.emit(joined(_("Nothing was written."), translated(file_sentence(error))))
        else:
            self.failed.emit(translated(error) if isinstance(error, ValueError) else failure.sentence)
