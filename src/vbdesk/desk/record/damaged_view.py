"""The Record page while damaged recordings wait for a decision."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.crash_recovery import DamagedTake
from vbdesk.desk.record.commands import FileDecision
from vbdesk.desk.record.damaged_takes import DamagedTakesViewModel
from vbdesk.desk.ui.buttons import ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, ngettext, translated

SHOWN = 20  # the others follow after a decision


class DamagedView(QWidget):
    """Binds `DamagedTakesViewModel`."""

    def __init__(self, model: DamagedTakesViewModel) -> None:
        super().__init__()
        self._model = model
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.close_button = quiet_button(_("Close"), size=ButtonSize.LARGE)
        self.cards: list[DamagedCard] = []
        self._list = QWidget()
        self._column = QVBoxLayout(self._list)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(12)
        self._column.setAlignment(Qt.AlignmentFlag.AlignTop)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        column.addWidget(Text(_("Damaged recordings"), Role.PAGE_TITLE))
        column.addWidget(self.sentence)
        column.addWidget(scroll_area(self._list), 1)
        column.addLayout(foot)
        model.changed.connect(self._show)
        model.failed.connect(self._show)

    @Slot()
    def _show(self) -> None:
        for card in self.cards:
            self._column.removeWidget(card)
            card.deleteLater()
        takes = self._model.takes
        self.cards = [DamagedCard(take, self._model) for take in takes[:SHOWN]]
        for card in self.cards:
            self._column.addWidget(card)
        more = len(takes) - SHOWN
        sentence = _("Their files have changed since they were written. They stay until you decide.")
        if more > 0:
            follow = ngettext("{count} more recording follows these.", "{count} more recordings follow these.", more)
            sentence = f"{sentence} {follow}"
        self.sentence.setText(sentence)


class DamagedCard(Card):
    """One damaged recording."""

    def __init__(self, take: DamagedTake, model: DamagedTakesViewModel) -> None:
        super().__init__(model.title(take), padding=16)
        self._take, self._model = take, model
        self.sentence = Text(translated(take.sentence), Role.BODY, "text2", wrap=True)
        recover = (
            _("Recover {length}", length=clock_text(take.readable_s))
            if take.readable_s >= 1
            else _("Recover what can be read")
        )
        self.recover = secondary_button(recover)
        self.recover.setVisible(take.readable_s > 0)
        self.keep, self.delete = quiet_button(_("Keep the file")), quiet_button(_("Delete"))
        self._asked = False
        self.body.addWidget(self.sentence)
        row = QHBoxLayout()
        row.setSpacing(12)
        for button in (self.recover, self.keep, self.delete):
            row.addWidget(button)
        row.addStretch(1)
        self.body.addLayout(row)
        self.recover.clicked.connect(self._on_recover)
        self.keep.clicked.connect(self._on_keep)
        self.delete.clicked.connect(self._on_delete)

    @Slot()
    def _on_recover(self) -> None:
        self._decide(FileDecision.RECOVER)

    @Slot()
    def _on_keep(self) -> None:
        self._decide(FileDecision.KEEP)

    @Slot()
    def _on_delete(self) -> None:
        """Ask on the first press: deletion cannot be undone."""
        if not self._asked:
            self._asked = True
            self.delete.setText(_("Delete for good"))
            return
        self._decide(FileDecision.DELETE)

    def _decide(self, decision: FileDecision) -> None:
        for button in (self.recover, self.keep, self.delete):
            button.setEnabled(False)
        self._model.decide(self._take, decision)
