"""Print on a page: the system's print dialog, a message, and Ctrl+P."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtPrintSupport import QAbstractPrintDialog, QPrintDialog
from PySide6.QtWidgets import QDialog, QWidget

from vbdesk.desk.models.report_print import ReportPrint
from vbdesk.desk.system_printer import PrintJob
from vbdesk.desk.ui.shortcuts import sequence
from vbdesk.desk.ui.work_banner import WorkBanner


class PrintBanner(WorkBanner):
    """Binds `ReportPrint` to a page.

    Signals:
        wanted: the entry of the menu was chosen, or Ctrl+P was pressed.
    """

    wanted = Signal()

    def __init__(self, model: ReportPrint, action: QAction, page: QWidget) -> None:
        """Bind the page and `action`, the entry of its export menu."""
        super().__init__(page)
        self._model = model
        action.setShortcut(sequence("print"))
        page.addAction(action)  # so that the key works while the menu is closed
        action.triggered.connect(self.wanted)
        self.stop_wanted.connect(model.cancel)
        model.setup_wanted.connect(self._on_setup)
        model.progressed.connect(self.show_progress)
        model.done.connect(self.show_done)
        model.failed.connect(self.show_failure)
        model.ended.connect(self.end)

    @Slot(object, str)
    def _on_setup(self, job: PrintJob, title: str) -> None:
        if not self.window().isVisible():  # the window was locked meanwhile, and the title names a person
            self._model.give_up()
            return
        dialog = QPrintDialog(job.device, self.window())
        dialog.setWindowTitle(title)
        dialog.setOption(QAbstractPrintDialog.PrintDialogOption.PrintToFile, False)  # the export writes better files
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(self._model.go_on)
        dialog.rejected.connect(self._model.give_up)
        QDialog.open(dialog)  # the one of QPrintDialog wants a receiver
