"""Export of one result as JSON, report or FHIR, written and audited in a task."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.contract.jobs import Job
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.models.result_source import ResultSource
from vbdesk.desk.models.result_state import ResultView
from vbdesk.desk.tasks import Failure, TaskContext, TaskOwner
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.disk_faults import file_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_consents
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.exports import EXTENSIONS, ExportFormat, export_files, write_files
from vbdesk.report.file_names import file_stems
from vbdesk.report.subject_record import RecordSource, SubjectRecord, subject_record


class ResultExport(QObject):
    """Exports the result that is shown.

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
        source: ResultSource,
        tasks: TaskOwner,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._profile, self._library, self._results = profile, library, results
        self._source, self._tasks = source, tasks

    def file_name(self, view: ResultView, kind: ExportFormat) -> str:
        """Default file name: subject id and time."""
        moment = "" if view.recorded_at is None else f"{in_zone(view.recorded_at):-%Y%m%d-%H%M}"
        stem = file_stems([view.group_id])[view.group_id] if view.group_id else "result"
        return f"{stem}{moment}{EXTENSIONS.get(kind, f'.{kind}')}"

    def save_json(self, view: ResultView, path: Path) -> None:
        """Write the result as received."""
        if view.reading is not None:
            raw = f"{view.reading.raw}\n".encode()
            self._start(ExportFormat.JSON, view, path, lambda: raw)

    def export(self, kind: ExportFormat, view: ResultView, path: Path, *, scores: bool) -> None:
        """Write a report or FHIR bundle of this recording; reads missing data from the service."""

        def content() -> bytes:
            now = datetime.now(UTC).replace(microsecond=0)
            options = ReportOptions(
                exported_at=now,
                zone=now.astimezone().tzinfo or UTC,
                scores=scores,
                letterhead=self._library.letterhead.read() if kind is ExportFormat.PDF else None,
            )
            records = [self._record(view)]
            if kind is ExportFormat.FHIR:
                records = with_consents(self._library, records)
            files = export_files(kind, records, options)
            return next(file for file in files.values() if isinstance(file, bytes))

        self._start(kind, view, path, content)

    def _start(self, kind: ExportFormat, view: ResultView, path: Path, content: Callable[[], bytes]) -> None:
        library, take_id = self._library, view.recording.take_id

        def work(context: TaskContext) -> Path:
            write_files(path.parent, {path.name: content()}, overwrite=True)
            library.note(AuditAction.EXPORTED, take_id, kind.value)
            return path

        self._tasks.start(work, self._on_written, self._on_failed, name="export-result")

    def _record(self, view: ResultView) -> SubjectRecord:
        stored = self._results.stored_trajectory(view.group_id)
        trajectory = None if stored is None else stored.value
        source = RecordSource.of(self._profile.base_url, self._profile.account_id)
        return subject_record(view.group_id, source, [(view.recorded_at, self._job(view))], trajectory)

    def _job(self, view: ResultView) -> Job:
        found = self._source.here(view.recording)
        job = found.job or self._source.ask(found).job
        if job is None:
            raise ValueError("The service has no analysis of this recording.")
        return job

    @Slot(object)
    def _on_written(self, path: Path) -> None:
        self.saved.emit(str(path))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        error = failure.error
        if isinstance(error, OSError):
            self.failed.emit(self.tr("Nothing was written. {why}").format(why=file_sentence(error)))
        else:
            self.failed.emit(str(error) if isinstance(error, ValueError) else failure.sentence)
