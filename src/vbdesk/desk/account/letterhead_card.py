"""The card of Account for the letterhead of reports: name, address, logo."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import card_with_header
from vbdesk.desk.ui.fields import Field, LineField
from vbdesk.desk.ui.flow_layout import StackingRow
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, message
from vbdesk.report.letterhead import MAX_LINE, MAX_LINES, MAX_LOGO_BYTES, Letterhead

_FIELD_WIDTH = 180  # at 100 % text


@dataclass(frozen=True)
class LetterheadRead(Read[Letterhead]):
    """The letterhead of the profile; None without one."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> Letterhead | None:  # noqa: D102
        return context.library.letterhead.read()


@dataclass(frozen=True)
class SetLetterheadText(Command):
    """Set name and address, whose lines commas separate, Arabic ones too; without both, there is no letterhead."""

    name: str
    address: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        known, name = context.library.letterhead.read(), self.name.strip()
        lines = tuple(line.strip() for line in re.split("[,،]", self.address) if line.strip())
        logo = b"" if known is None else known.logo
        context.library.letterhead.store(Letterhead(name, lines, logo) if name or lines else None)
        return Done()


@dataclass(frozen=True)
class SetLogo(Command):
    """Read, check and store the logo in `file`; None removes it."""

    file: Path | None

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        known, logo = context.library.letterhead.read(), b""
        if known is None:
            raise ValueError(message("Enter a name first. A letterhead needs one."))
        if self.file is not None:
            with self.file.open("rb") as source:
                logo = source.read(MAX_LOGO_BYTES + 1)
        context.library.letterhead.store(replace(known, logo=logo))
        return Done()


class LetterheadCard(QWidget):
    """Fields for the letterhead, which is stored when one was left."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._flow, self._screen = flow, flow.screen(self)
        self.choose = secondary_button(_("Choose logo"))
        self.remove = quiet_button(_("Remove logo"))
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.remove)
        row.addWidget(self.choose)
        card = card_with_header(_("Letterhead of reports"), buttons)
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        card.body.addWidget(self.sentence)
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
        self.name.editingFinished.connect(self._on_text_edited)
        self.address.editingFinished.connect(self._on_text_edited)
        self.choose.clicked.connect(self._choose_logo)
        self.remove.clicked.connect(self._remove_logo)
        self._screen.changed.connect(self.show_letterhead)
        self._screen.show(LetterheadRead())

    @property
    def _known(self) -> Letterhead | None:
        return self._screen.of(LetterheadRead).value

    @Slot()
    def show_letterhead(self) -> None:
        """Show what is stored."""
        known, unreadable = self._known, self._screen.of(LetterheadRead).unreadable
        self.fault.setText("" if unreadable is None else unreadable.sentence)
        self.fault.setVisible(unreadable is not None)
        if not self.name.hasFocus():
            self.name.setText(known.name if known else "")
        if not self.address.hasFocus():
            self.address.setText(", ".join(known.address) if known else "")
        has_logo = bool(known and known.logo)
        self.choose.setEnabled(known is not None)
        self.remove.setVisible(has_logo)
        self.sentence.setText(
            _("Printed at the top of every report, with the logo.")
            if has_logo
            else _("Printed at the top of every report. The logo can be SVG or PNG.")
        )

    @Slot()
    def _on_text_edited(self) -> None:
        shown = (self._known.name, ", ".join(self._known.address)) if self._known else ("", "")
        if (self.name.text(), self.address.text()) != shown:
            self._do(SetLetterheadText(self.name.text(), self.address.text()))

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
        self._do(SetLogo(Path(file)))

    @Slot()
    def _remove_logo(self) -> None:
        self._do(SetLogo(None))

    def _do(self, command: Command) -> None:
        self._flow.commands.do(command).ended.connect(self._on_ended)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is None:
            self._screen.show(LetterheadRead())
        else:
            self.fault.setText(outcome.sentence)
            self.fault.show()
