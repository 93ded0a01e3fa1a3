"""Printing of a report: find a printer, let a person set it up, make the pages, print them, note it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.export_fault import export_fault
from vbdesk.desk.ports import Printers
from vbdesk.language import _

if TYPE_CHECKING:
    from vbdesk.desk.system_printer import PrintJob
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.subject_record import SubjectRecord

MakePages = Callable[[TaskContext, bool], tuple[Sequence[bytes], str]]
"""Pages as PNG, and a sentence on what they lack."""


@dataclass(frozen=True, slots=True)
class PrintOrder:
    """What to print.

    Attributes:
        title: names the report and its subject, for the person who sets up the printer.
        pages: makes them for Letter paper or for A4, and reports what was read. Blocks.
        note: notes in the audit log that they were printed. Blocks.
    """

    title: str
    pages: MakePages
    note: Callable[[], None]


class ReportPrint(QObject):
    """Prints one report at a time.

    Signals:
        setup_wanted: (PrintJob, str) a job to set up in a dialog of this title; `go_on` or `give_up` follows.
        progressed: (str) what is under way.
        done: (str) what was printed.
        failed: (str) why nothing was printed.
        ended: nothing is under way any more.
    """

    setup_wanted = Signal(object, str)
    progressed = Signal(str)
    done = Signal(str)
    failed = Signal(str)
    ended = Signal()

    def __init__(self, printers: Printers, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._printers, self._tasks = printers, tasks
        self._order: PrintOrder | None = None
        self._job: PrintJob | None = None
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """Whether something is printed, or the printer is being set up."""
        return self._order is not None

    def start(self, order: PrintOrder) -> None:
        """Look for a printer."""
        if self.busy:
            return
        self._order = order
        self.progressed.emit(_("Looking for a printer."))
        self._task = self._tasks.start(
            lambda context: self._printers.job(), self._on_job, self._on_failed, finished=self._on_found, name="printer"
        )

    def offer(self, order: PrintOrder | None) -> Callable[[], None] | None:
        """What prints `order`; None if there is none."""
        return None if order is None else partial(self.start, order)

    def cancel(self) -> None:
        """Stop; no printer takes back the pages that it has."""
        if self._task is not None:
            self._task.cancel()

    @Slot()
    def give_up(self) -> None:
        """Print nothing."""
        self._end()

    @Slot()
    def go_on(self) -> None:
        """Print as the job was set up."""
        order, job = self._order, self._job
        if order is None or job is None:
            return
        self.progressed.emit(_("Preparing the pages for the printer."))

        def work(context: TaskContext) -> tuple[int, str]:
            pages, lacking = order.pages(context, job.takes_letter)
            count = job.print_pages(pages, context.check)
            order.note()
            return count, lacking

        self._task = self._tasks.start(
            work, self._on_printed, self._on_failed, self._on_progress, self._end, name="print"
        )

    @Slot(object)
    def _on_job(self, job: "PrintJob | None") -> None:
        if job is None:
            self.failed.emit(
                _(
                    "This computer has no printer, so nothing was printed. Set one up in the settings of the system, "
                    "or export the PDF and print it elsewhere."
                )
            )
        elif self._order is not None:
            self._job = job
            self.setup_wanted.emit(job, self._order.title)

    @Slot()
    def _on_found(self) -> None:
        self._task = None
        if self._job is None:
            self._end()

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if progress.done < progress.total:
            self.progressed.emit(
                _("Reading from the service: {done} of {total}.", done=progress.done, total=progress.total)
            )
        else:
            self.progressed.emit(_("Preparing the pages for the printer."))

    @Slot(object)
    def _on_printed(self, printed: tuple[int, str]) -> None:
        count, lacking = printed
        self.done.emit(f"{_('Pages sent to the printer: {count}.', count=count)} {lacking}".strip())

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(export_fault(failure))

    @Slot()
    def _end(self) -> None:
        self._order = self._job = self._task = None
        self.ended.emit()


def pages_for_paper(records: "Sequence[SubjectRecord]", options: "ReportOptions", letter: bool) -> list[bytes]:
    """On a worker: the pages of a report, for Letter paper or for A4. Raises ValueError."""
    from vbdesk.report.documents.report_input import PageSize  # the libraries of reports are slow to import
    from vbdesk.report.documents.reports import printed_pages

    return printed_pages(records, replace(options, page_size=PageSize.LETTER if letter else PageSize.A4))
