"""What a page offers for reports: print, send, export, and the look; each with its message."""

from collections.abc import Callable
from functools import partial
from weakref import WeakMethod

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtPrintSupport import QAbstractPrintDialog, QPrintDialog
from PySide6.QtWidgets import QDialog, QFileDialog, QMenu, QWidget
from shiboken6 import isValid

from vbdesk.client.fhir import host_of
from vbdesk.desk.flow.commands import CommandOutcome, Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.reports.report_look import ReportLook, look_names
from vbdesk.desk.reports.reports import (
    FhirServerRead,
    FindPrinter,
    PrintReport,
    Report,
    SendToFhir,
    Written,
    export_fault,
)
from vbdesk.desk.reports.subjects_export import MOST_PRINTED, SubjectsReport, WriteSubjects
from vbdesk.desk.system_printer import PrintJob
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import Button
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.shortcuts import sequence
from vbdesk.language import _, ngettext
from vbdesk.report.drawing.style import Look

_WORK = "work"  # topic of the message while it runs


class WorkBanner(Banner):
    """The message of work, next to the page's own: progress with Cancel, then how it ended."""

    def __init__(self, flow: Flow, page: QWidget) -> None:
        super().__init__()
        self.float_over(page)
        self._work = Work(flow.commands, self)
        self._work.progressed.connect(self._show_progress)
        self._work.ended.connect(self._on_ended)
        self._work.stopped.connect(self._on_stopped)

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return self._work.busy

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        self.say(Tone.INFO, progress.text, NoticeAction(_("Cancel"), self._cancel, stays=True), topic=_WORK)

    def _cancel(self) -> None:
        self._work.cancel()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is None:
            self.say_end(Tone.OK, outcome.sentence)
        else:
            self.say_end(Tone.FAIL, export_fault(outcome.failure))

    @Slot()
    def _on_stopped(self) -> None:
        self.withdraw(_WORK)

    def say_end(self, tone: Tone, sentence: str) -> None:
        """Say how it ended."""
        self.say(tone, sentence, close_action())
        announce(self, sentence, urgent=tone is Tone.FAIL)


class PrintBanner(WorkBanner):
    """Prints a report: the system's print dialog, a message, and Ctrl+P.

    Signals:
        wanted: the entry of the menu was chosen, or Ctrl+P was pressed.
    """

    wanted = Signal()

    def __init__(self, flow: Flow, action: QAction, page: QWidget) -> None:
        """Bind the page and `action`, the entry of its export menu."""
        super().__init__(flow, page)
        self._dialog: QPrintDialog | None = None
        action.setShortcut(sequence("print"))
        page.addAction(action)  # so that the key works while the menu is closed
        action.triggered.connect(self.wanted)

    @property
    def busy(self) -> bool:
        """Whether something is printed, or the printer is being set up."""
        return super().busy or (self._dialog is not None and isValid(self._dialog))

    def offer(self, report: Report | None) -> Callable[[], None] | None:
        """What prints a report; None if there is none."""
        return None if report is None else partial(self.start, report)

    def start(self, report: Report) -> None:
        """Let a person set up the printer, then print."""
        if not self.busy:
            self._work.start(FindPrinter(report))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        job = outcome.done.found
        if not isinstance(outcome.command, FindPrinter) or not isinstance(job, PrintJob):
            super()._on_ended(outcome)
            return
        self.withdraw(_WORK)
        if not self.window().isVisible():  # the window was locked meanwhile, and the title names a person
            return
        report = outcome.command.report
        self._dialog = dialog = QPrintDialog(job.device, self.window())
        dialog.setWindowTitle(report.title)
        dialog.setOption(QAbstractPrintDialog.PrintDialogOption.PrintToFile, False)  # the export writes better files
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(partial(self._work.start, PrintReport(report, job)))
        QDialog.open(dialog)  # the one of QPrintDialog wants a receiver


class FhirBanner(WorkBanner):
    """Sends to the FHIR server of the profile: an entry of the export menu, a question, a message.

    Attributes:
        action: of the menu; hidden while no server is configured.

    Signals:
        wanted: the entry was chosen.
    """

    wanted = Signal()

    def __init__(self, flow: Flow, menu: QMenu, page: QWidget) -> None:
        super().__init__(flow, page)
        self.action = QAction(_("Send to the FHIR server"), menu)
        self.action.setVisible(False)
        self.action.triggered.connect(self.wanted)
        menu.addAction(self.action)
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)

    def read_server(self) -> None:
        """Read which server is configured."""
        self._screen.show(FhirServerRead())

    def ask(self, report: Report, subjects: int, shown: str = "") -> None:
        """Ask whether to send a report of subjects; `shown` names the only one."""
        address = self._screen.of(FhirServerRead).value
        if self.busy or not address or not subjects:
            return
        host = host_of(address)
        if shown:
            sentence = _(
                "Send the results and consents of {subject} to {host}? They leave this computer and cannot be taken "
                "back from here.",
                subject=shown,
                host=host,
            )
        else:
            sentence = ngettext(
                "Send the results and consents of {count} subject to {host}? They leave this computer and cannot be "
                "taken back from here.",
                "Send the results and consents of {count} subjects to {host}? They leave this computer and cannot be "
                "taken back from here.",
                subjects,
                host=host,
            )
        send = NoticeAction(_("Send"), partial(self._work.start, SendToFhir(report, subjects, address)))
        self.say(Tone.WARN, sentence, send, NoticeAction(_("Cancel")))
        self.button.setFocus()
        announce(self, sentence)

    def _cancel(self) -> None:
        super()._cancel()
        stopping = _("Stopping. The server may take up to three minutes to answer what was sent last.")
        self._show_progress(Progress(0, 0, stopping))

    @Slot()
    def _on_stopped(self) -> None:
        sentence = _("Stopped. What the server has already stays there; sending it again changes nothing.")
        self.say_end(Tone.INFO, sentence)

    @Slot()
    def _show(self) -> None:
        self.action.setVisible(bool(self._screen.of(FhirServerRead).value))


class LookMenu(QMenu):
    """The look of reports; the current one has a mark."""

    def __init__(self, model: ReportLook, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(_("Look of reports"))
        self._model = model
        group = QActionGroup(self)
        for look, text in look_names().items():
            action = QAction(text, group)
            action.setCheckable(True)
            action.setData(look)
            self.addAction(action)
        group.triggered.connect(self._on_chosen)
        model.changed.connect(self._show)
        self._show(model.current)

    @Slot(object)
    def _show(self, look: Look) -> None:
        for action in self.actions():
            action.setChecked(action.data() == look)

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._model.choose(Look(action.data()))


class SubjectsMenu(QMenu):
    """Exports, prints and sends the subjects of a page.

    Attributes:
        printing, sending: with their messages.
        scope: says of how many subjects.
        work: the export.

    Signals:
        wanted: (str, str) the format, csv, bids or pdf, and the folder to write into.
    """

    wanted = Signal(str, str)

    def __init__(
        self,
        flow: Flow,
        look: ReportLook,
        button: Button,
        page: QWidget,
        banner: Banner,
        chosen: Callable[[], list[str]],
    ) -> None:
        """Open below `button`, and say what becomes of it in `banner`; `chosen` is a method of `page`."""
        super().__init__(page)
        self._look, self._button, self._banner, self._chosen = look, button, banner, WeakMethod(chosen)
        button.clicked.connect(self._drop)
        self.scope = self.addAction("")
        self.scope.setEnabled(False)
        for kind, text in (
            ("csv", _("All data as tables (CSV)")),
            ("bids", _("Folder for research (BIDS)")),
            ("pdf", _("One report over time (PDF)")),
        ):
            action = self.addAction(text)
            action.setData(kind)
        self.addSeparator()
        self.print_action = self.addAction(_("Print one report over time"))
        self.addMenu(LookMenu(look, self))
        self.triggered.connect(self._on_action)
        self.wanted.connect(self.export)
        self.work = Work(flow.commands, self)
        self.work.progressed.connect(self._show_progress)
        self.work.ended.connect(self._on_ended)
        self.printing, self.sending = PrintBanner(flow, self.print_action, page), FhirBanner(flow, self, page)
        self.printing.wanted.connect(self.print_report)
        self.sending.wanted.connect(self._send)

    def _report(self) -> SubjectsReport:
        chosen = self._chosen()
        return SubjectsReport.of([] if chosen is None else chosen(), self._look.current)

    @Slot(str, str)
    def export(self, kind: str, folder: str) -> None:
        """Export all data of the subjects."""
        report = self._report()
        if report.group_ids:
            self.work.start(WriteSubjects(report, kind, folder))

    @Slot()
    def print_report(self) -> None:
        """Print one report of the subjects over time."""
        report = self._report()
        if len(report.group_ids) > MOST_PRINTED:
            sentence = _(
                "A report of {count} subjects is too long to be printed from here. Choose at most {most}, or export "
                "the PDF and print it with another program.",
                count=len(report.group_ids),
                most=MOST_PRINTED,
            )
            self.printing.say_end(Tone.FAIL, sentence)
        elif report.group_ids:
            self.printing.start(report)

    @Slot()
    def _send(self) -> None:
        report = self._report()
        self.sending.ask(report, len(report.group_ids))

    @Slot()
    def _drop(self) -> None:
        self.scope.setText(ngettext("{count:,} subject", "{count:,} subjects", len(self._report().group_ids)))
        self.popup(self._button.mapToGlobal(self._button.rect().bottomLeft()))

    @Slot(QAction)
    def _on_action(self, action: QAction) -> None:
        if action.data() not in ("csv", "bids", "pdf"):
            return
        dialog = QFileDialog(self.parentWidget(), _("Export into a folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(partial(self.wanted.emit, action.data()))
        dialog.open()

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        self._banner.say(Tone.INFO, progress.text, NoticeAction(_("Cancel"), self.work.cancel))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        found = outcome.done.found
        if outcome.failure is not None:
            self._banner.say(Tone.FAIL, export_fault(outcome.failure), close_action())
        elif isinstance(found, Written):
            self._banner.say_saved(outcome.sentence, found.path, prints=self.printing.offer(found.printable))
