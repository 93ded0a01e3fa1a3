"""Export of several subjects as tables, a folder for research or one PDF; printing and sending of the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.errors import NotFound
from vbdesk.clock import Clock
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.export_fault import export_fault
from vbdesk.desk.models.fhir_sending import FhirOrder, FhirSending
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.report_print import MakePages, PrintOrder, ReportPrint, pages_for_paper
from vbdesk.language import _, joined, message, ngettext
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.recording_details import with_details
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.report.drawing.style import Look

if TYPE_CHECKING:
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.subject_record import SubjectRecord

MOST_PRINTED = 100
"""Subjects of one printed report: 200 pages take half a minute to prepare."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was written, how to print it, and how many subjects the service does not know."""

    folder: Path
    place: Path
    subjects: int
    unknown: int
    order: PrintOrder | None


class SubjectsExport(QObject):
    """One export at a time.

    Attributes:
        printing: prints the report of several subjects.
        sending: sends them to a FHIR server.
        look: of reports.
        printable: what prints the PDF that was written last; None after another format.

    Signals:
        progressed: (int, int) number of subjects read, and the total.
        done: (str, Path) what was written, as a sentence, and the file or folder.
        failed: (str) why nothing was written.
    """

    progressed = Signal(int, int)
    done = Signal(str, object)
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        results: ResultRepository,
        tasks: TaskOwner,
        clock: Clock,
        look: ReportLook,
        printing: ReportPrint,
        sending: FhirSending,
    ) -> None:
        super().__init__()
        self._profile, self._library, self._results, self._tasks = profile, library, results, tasks
        self._clock = clock
        self.look, self.printing, self.sending = look, printing, sending
        for part in (printing, sending):
            part.setParent(self)
        self.printable: PrintOrder | None = None
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """Whether an export runs."""
        return self._task is not None

    def start(self, kind: str, folder: str, group_ids: Sequence[str]) -> None:
        """Write all data of these subjects into a new folder within `folder`; `kind` is csv, bids or pdf."""
        if self.busy or not group_ids:
            return
        wanted, look = tuple(group_ids), self.look.current
        self.printable = None
        self.progressed.emit(0, len(wanted))
        self._task = self._tasks.start(
            lambda context: self._export(context, kind, Path(folder), wanted, look),
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

    def print_report(self, group_ids: Sequence[str]) -> None:
        """Print one report of these subjects over time."""
        wanted, look = tuple(group_ids), self.look.current
        if not wanted or self.printing.busy:
            return
        if len(wanted) > MOST_PRINTED:
            sentence = _(
                "A report of {count} subjects is too long to be printed from here. Choose at most {most}, or export "
                "the PDF and print it with another program.",
                count=len(wanted),
                most=MOST_PRINTED,
            )
            self.printing.failed.emit(sentence)
            return

        def pages(context: TaskContext, letter: bool) -> tuple[Sequence[bytes], str]:
            records = self._records(context, wanted)
            unknown = len(wanted) - len(records)
            words = _("The service does not know {unknown} of the subjects yet.", unknown=unknown) if unknown else ""
            return pages_for_paper(records, self._options(look, printed=True), letter), words

        self.printing.start(self._order(pages, len(wanted)))

    def send(self, group_ids: Sequence[str]) -> None:
        """Ask whether to send these subjects to the FHIR server."""
        wanted = tuple(group_ids)
        self.sending.ask(FhirOrder(len(wanted), "", lambda context: self._records(context, wanted)))

    def _export(self, context: TaskContext, kind: str, folder: Path, group_ids: Sequence[str], look: Look) -> _Outcome:
        from vbdesk.report.exports import ExportFormat, export_files, write_files  # slow to import

        printed = ExportFormat(kind) is ExportFormat.PDF
        records = with_details(self._library, self._records(context, group_ids))
        options = self._options(look, printed=printed)
        files = export_files(ExportFormat(kind), records, options)
        context.check()
        written = folder / f"vbdesk-{kind}-{_local(options.exported_at):%Y%m%d-%H%M%S}"
        write_files(written, files)
        self._library.note(AuditAction.EXPORTED, detail=f"{kind}, subjects={len(records)}")
        place = written / next(iter(files)) if len(files) == 1 else written
        few = printed and len(records) <= MOST_PRINTED

        def pages(context: TaskContext, letter: bool) -> tuple[Sequence[bytes], str]:
            return pages_for_paper(records, options, letter), ""

        order = self._order(pages, len(records)) if few else None
        return _Outcome(written, place, len(records), len(group_ids) - len(records), order)

    def _options(self, look: Look, *, printed: bool) -> "ReportOptions":
        """On a worker: how a report or a table is made now."""
        from vbdesk.report.documents.report_input import ReportOptions, ReportScope

        now = self._clock.now().replace(microsecond=0)
        return ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            scores=not printed,
            letterhead=self._library.letterhead.read() if printed else None,
            scope=ReportScope.TOGETHER,
            look=look,
        )

    def _order(self, pages: MakePages, count: int) -> PrintOrder:
        def note() -> None:
            self._library.note(AuditAction.EXPORTED, detail=f"print, subjects={count}")

        title = ngettext("Print the report of {count} subject", "Print the report of {count} subjects", count)
        return PrintOrder(title, pages, note)

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
            raise ValueError(message("The service has no analysis of these subjects yet. Nothing was written."))
        return records

    @Slot(object)
    def _on_done(self, outcome: _Outcome) -> None:
        written = ngettext("{count:,} subject was written.", "{count:,} subjects were written.", outcome.subjects)
        unknown = ""
        if outcome.unknown:
            unknown = ngettext(
                "The service does not know {count:,} of the chosen ones yet.",
                "The service does not know {count:,} of the chosen ones yet.",
                outcome.unknown,
            )
        self.printable = outcome.order
        where = _("The files are in {folder}.", folder=outcome.folder)
        self.done.emit(joined(written, unknown, where), outcome.place)

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


def _local(moment: datetime) -> datetime:
    return moment.astimezone()
