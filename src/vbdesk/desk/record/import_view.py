"""The Record page while files are imported: a preview row by row, then one batch."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.record.import_model import IntakeViewModel
from vbdesk.desk.ui.buttons import ButtonSize, primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import counted

_WIDTHS = (200, 300, 130, 140, 70, 100)
_FATE, _ANALYSIS = 1, 5
_LEAST_HEIGHT = 96  # for large text in a low window


class ImportView(QWidget):
    """Binds `IntakeViewModel`."""

    def __init__(self, model: IntakeViewModel) -> None:
        super().__init__()
        self._model = model
        self.words = Text("", Role.BODY, "text2", wrap=True)
        self.table = CellView("Files to import", model.table, _WIDTHS, stretch=_FATE, droppable=_ANALYSIS)
        self.table.setMinimumHeight(_LEAST_HEIGHT)
        self.progress = ProgressBar("Files done")
        self._how_far = Text("", Role.CAPTION, "text2")
        self.cancel = quiet_button("Cancel", size=ButtonSize.LARGE)
        self.keep = secondary_button("Import, do not send", size=ButtonSize.LARGE)
        self.send = primary_button("Import and send", icon="import", size=ButtonSize.LARGE)
        self._lay_out()
        self.cancel.clicked.connect(model.cancel)
        self.keep.clicked.connect(self._on_keep)
        self.send.clicked.connect(self._on_send)
        model.begun.connect(self._show_looking)
        model.progressed.connect(self._show_progress)
        model.previewed.connect(self._show_preview)
        model.imported.connect(self._show_done)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text("Import", Role.PAGE_TITLE))
        words.addWidget(self.words)
        card = Card(padding=1)
        card.body.addWidget(self.table)
        told = QVBoxLayout()
        told.setSpacing(6)
        told.addStretch(1)
        told.addWidget(self._how_far)
        told.addWidget(self.progress)
        told.addStretch(1)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, 8, 0, 8)
        foot.setSpacing(12)
        foot.addLayout(told, 1)
        foot.addSpacing(24)
        for button in (self.cancel, self.keep, self.send):
            foot.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        column.addLayout(words)
        column.addWidget(card, 1)
        column.addLayout(foot)

    @Slot()
    def _on_keep(self) -> None:
        self._begin(queue=False)

    @Slot()
    def _on_send(self) -> None:
        self._begin(queue=True)

    def _begin(self, *, queue: bool) -> None:
        self._show_busy(busy=True)
        self._model.take_in(queue=queue)

    @Slot()
    def _show_looking(self) -> None:
        self.words.setText(self._model.words())
        self.cancel.setText("Cancel")
        for button in (self.keep, self.send):
            button.show()
        self._show_busy(busy=True)

    @Slot(int, int)
    def _show_progress(self, done: int, total: int) -> None:
        self.progress.show_share(done / max(1, total))
        self._how_far.setText(f"{done} of {counted(total, 'file')}")

    @Slot()
    def _show_preview(self) -> None:
        self._show_busy(busy=False)
        ready = 0 if self._model.preview is None else len(self._model.preview.ready)
        self.words.setText(self._model.words())
        self.send.setText(f"Import {ready} and send" if ready else "Import and send")
        for button in (self.keep, self.send):
            button.setEnabled(ready > 0)

    @Slot(int, int)
    def _show_done(self, well: int, badly: int) -> None:
        self._show_busy(busy=False)
        self.cancel.setText("Close")
        for button in (self.keep, self.send):
            button.hide()

    def _show_busy(self, *, busy: bool) -> None:
        self.progress.setVisible(busy)
        self._how_far.setVisible(busy)
        self._how_far.setText("")
        self.progress.show_share(0.0)
        for button in (self.keep, self.send):
            button.setEnabled(not busy)
