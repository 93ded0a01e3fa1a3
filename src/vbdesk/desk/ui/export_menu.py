"""The menu of an export: which format, then which folder."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from vbdesk.desk.ui.buttons import Button
from vbdesk.language import _


class ExportMenu(QMenu):
    """Formats of several subjects.

    Attributes:
        print_action: prints the report.

    Signals:
        wanted: (str, str) the format, csv, bids or pdf, and the folder to write into.
    """

    wanted = Signal(str, str)

    def __init__(self, button: Button, page: QWidget) -> None:
        """Open below `button`, a part of `page`."""
        super().__init__(page)
        self._kind, self._button = "", button
        button.clicked.connect(self._drop)
        for kind, words in (
            ("csv", _("All data as tables (CSV)")),
            ("bids", _("Folder for research (BIDS)")),
            ("pdf", _("One report over time (PDF)")),
        ):
            action = QAction(words, self)
            action.setData(kind)
            action.triggered.connect(self._on_action)
            self.addAction(action)
        self.addSeparator()
        self.print_action = self.addAction(_("Print one report over time"))

    @Slot()
    def _drop(self) -> None:
        self.popup(self._button.mapToGlobal(self._button.rect().bottomLeft()))

    @Slot()
    def _on_action(self) -> None:
        action = self.sender()
        if not isinstance(action, QAction):
            return
        self._kind = action.data()
        dialog = QFileDialog(self.parentWidget(), _("Export into a folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_folder)
        dialog.open()

    @Slot(str)
    def _on_folder(self, folder: str) -> None:
        self.wanted.emit(self._kind, folder)
