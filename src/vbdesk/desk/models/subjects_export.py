"""Export of several subjects as tables, a folder for research or one PDF, written and audited in a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot

from vbdesk.client.errors import NotFound
from vbdesk.clock import Clock
from vbdesk.desk.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.disk_faults import file_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_details
from vbdesk.outbox.results.repository import ResultRepository

if TYPE_CHECKING:
    from vbdesk.report.subject_record import SubjectRecord


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was written, and how many subjects the service does not know."""

    folder: Path
    subjects: int
    unknown: int


class SubjectsExport(QObject):
    """One export at a time.

    Signals:
        progressed: (int, int) number of subjects read, and the total.
        done: (str, Path) what was written, as a sentence, and its folder.
        failed: (str) why nothing was written.
    """

    progressed = Signal(int, int)
    done = Signal(str, object)
    failed = Signal(str)

    def __init__(
        self, profile: Profile, library: Library, results: ResultRepository, tasks: TaskOwner, clock: Clock
    ) -> None:
        super().__init__()
        self._profile, self._library, self._results, self._tasks = profile, library, results, tasks
        self._clock = clock
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """Whether an export runs."""
        return self._task is not None

    def start(self, kind: str, folder: str, group_ids: Sequence[str]) -> None:
        """Write all data of these subjects into a new folder within `folder`; `kind` is csv, bids or pdf."""
        if self.busy or not group_ids:
            return
        wanted = tuple(group_ids)
        self.progressed.emit(0, len(wanted))
        self._task = self._tasks.start(
            lambda context: self._export(context, kind, Path(folder), wanted),
            self._on_done,
            self._on_failed,
            self._on_progress,
            self._on_finished,
            name="export-subjects",
        )

    def cancel(self) -> None:
        """Stop; nothing is written."""
        if self._task is not None:
            self._task.cancel()

    def _export(self, context: TaskContext, kind: str, folder: Path, group_ids: Sequence[str]) -> _Outcome:
        from vbdesk.report.documents.report_input import ReportOptions, ReportScope
        from vbdesk.report.exports import ExportFormat, export_files, write_files  # slow to import

        now = self._clock.now().replace(microsecond=0)
        records = with_details(self._library, self._records(context, group_ids))
        printed = ExportFormat(kind) is ExportFormat.PDF
        options = ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            scores=not printed,
            letterhead=self._library.letterhead.read() if printed else None,
            scope=ReportScope.TOGETHER,
        )
        files = export_files(ExportFormat(kind), records, options)
        context.check()
        place = folder / f"vbdesk-{kind}-{_local(now):%Y%m%d-%H%M%S}"
        write_files(place, files)
        self._library.note(AuditAction.EXPORTED, detail=f"{kind}, subjects={len(records)}")
        return _Outcome(place, len(records), len(group_ids) - len(records))

    def _records(self, context: TaskContext, group_ids: Sequence[str]) -> "list[SubjectRecord]":
        """Every subject that the service knows."""
        from vbdesk.report.subject_reader import read_subject
        from vbdesk.report.subject_record import RecordSource

        source = RecordSource.of(self._profile.base_url, self._profile.account_id)
        records = []
        with self._results.reader() as reader:
            for place, group_id in enumerate(group_ids):
                context.check()
                context.progress(place, len(group_ids))
                try:
                    records.append(
                        read_subject(group_id, source, reader, reader, on_progress=lambda done, total: context.check())
                    )
                except NotFound:
                    continue
        if not records:
            raise ValueError(self.tr("The service has no analysis of these subjects yet. Nothing was written."))
        return records

    @Slot(object)
    def _on_done(self, outcome: _Outcome) -> None:
        if outcome.unknown:
            sentence = self.tr(
                "Subjects written: {count}. The service does not know {unknown} of them yet. The files are in {folder}."
            )
        else:
            sentence = self.tr("Subjects written: {count}. The files are in {folder}.")
        self.done.emit(
            sentence.format(count=outcome.subjects, unknown=outcome.unknown, folder=outcome.folder), outcome.folder
        )

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(export_fault(failure))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if self._task is not None and not self._task.stop_asked.is_set():
            self.progressed.emit(progress.done, progress.total)

    @Slot()
    def _on_finished(self) -> None:
        self._task = None


def export_fault(failure: Failure) -> str:
    """Why an export was not written, and what to do."""
    if isinstance(failure.error, ValueError):
        return str(failure.error)
    if isinstance(failure.error, OSError):
        text = QCoreApplication.translate("Export", "The export could not be written. {why}")
        return text.format(why=file_sentence(failure.error))
    return failure.sentence


def _local(moment: datetime) -> datetime:
    return moment.astimezone()
