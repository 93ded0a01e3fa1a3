"""The card of Account for the letterhead of reports: name, address, logo."""

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from vbdesk.desk.account.letterhead_model import LetterheadViewModel
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import card_with_header
from vbdesk.desk.ui.fields import Field, LineField
from vbdesk.desk.ui.flow_layout import StackingRow
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _
from vbdesk.report.letterhead import MAX_LINE, MAX_LINES, Letterhead

_FIELD_WIDTH = 180  # at 100 % text


class LetterheadCard(QWidget):
    """Binds the fields to `LetterheadViewModel`."""

    def __init__(self, model: LetterheadViewModel) -> None:
        super().__init__()
        self._model = model
        self._known: Letterhead | None = None
        self.choose = secondary_button(_("Choose logo"))
        self.remove = quiet_button(_("Remove logo"))
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.remove)
        row.addWidget(self.choose)
        card = card_with_header(_("Letterhead of reports"), buttons)
        self.words = Text("", Role.BODY, "text2", wrap=True)
        card.body.addWidget(self.words)
        self.name, self.address = LineField(), LineField()
        self.name.setMaxLength(MAX_LINE)
        self.address.setMaxLength(MAX_LINES * MAX_LINE)
        name = Field(_("Name of the practice"), self.name, optional=True)
        address = Field(_("Address, lines with commas between"), self.address, optional=True)
        card.body.addWidget(StackingRow((name, address), least=_FIELD_WIDTH, shares=(1, 2)))
        self.fault = Text("", Role.BODY, "fail", wrap=True)
        card.body.addWidget(self.fault)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(card)
        self.name.editingFinished.connect(self._on_words)
        self.address.editingFinished.connect(self._on_words)
        self.choose.clicked.connect(self._choose_logo)
        self.remove.clicked.connect(self._remove_logo)
        model.changed.connect(self.show_letterhead)
        model.failed.connect(self._on_failed)
        self.show_letterhead(None)
        model.tell()

    @Slot(object)
    def show_letterhead(self, known: Letterhead | None) -> None:
        """Show what is stored."""
        self._known = known
        self.fault.hide()
        if not self.name.hasFocus():
            self.name.setText(known.name if known else "")
        if not self.address.hasFocus():
            self.address.setText(", ".join(known.address) if known else "")
        has_logo = bool(known and known.logo)
        self.choose.setEnabled(known is not None)
        self.remove.setVisible(has_logo)
        self.words.setText(
            _("Printed at the top of every report, with the logo.")
            if has_logo
            else _("Printed at the top of every report. The logo can be SVG or PNG.")
        )

    @Slot()
    def _on_words(self) -> None:
        shown = (self._known.name, ", ".join(self._known.address)) if self._known else ("", "")
        if (self.name.text(), self.address.text()) != shown:
            self._model.set_words(self.name.text(), self.address.text())

    @Slot()
    def _choose_logo(self) -> None:
        dialog = QFileDialog(self, _("Logo"), "", _("Pictures (*.svg *.png)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.logo_chosen)
        dialog.open()

    @Slot(str)
    def logo_chosen(self, file: str) -> None:
        """Store the logo in `file`."""
        self._model.set_logo(Path(file))

    @Slot()
    def _remove_logo(self) -> None:
        self._model.set_logo(None)

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self.fault.setText(sentence)
        self.fault.show()
