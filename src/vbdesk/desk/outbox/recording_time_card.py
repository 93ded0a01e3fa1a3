"""The card of the Outbox to correct the time of a recording made with a wrong clock."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from vbdesk.desk.flow.commands import Command
from vbdesk.desk.outbox.actions import OutboxActions, TimeQuestion
from vbdesk.desk.outbox.commands import ChangeEach, SetTime, Step
from vbdesk.desk.ui.buttons import primary_button, quiet_button
from vbdesk.desk.ui.card import Card, foot_row, scroll_area
from vbdesk.desk.ui.fields import Field, LineField
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import N_, _, translated
from vbdesk.outbox.library.recording_time import read_entered

_SUGGESTED, _ORIGINAL, _KEPT, _ENTERED = "suggested", "original", "kept", "entered"
_CLOCK_TEXT = N_("Clock's time")


class TimeCard(QWidget):
    """A choice between the known times of a recording, or another time.

    Signals:
        left: the card was closed.
    """

    left = Signal()

    def __init__(self, actions: OutboxActions) -> None:
        super().__init__()
        self._actions = actions
        self._question: TimeQuestion | None = None
        self.title = Text("", Role.CARD_TITLE)
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.choice = SegmentedChoice(
            _("Which time is right"),
            [
                (_SUGGESTED, _("Service's time"), ""),
                (_ORIGINAL, _(_CLOCK_TEXT), ""),
                (_KEPT, _(_CLOCK_TEXT), ""),
                (_ENTERED, _("Another time"), ""),
            ],
        )
        self.time = LineField(icon="clock")
        self.time_field = Field(
            _("Date and time"), self.time, help_text=_("Such as 2026-03-01 09:30, as the clocks here show it.")
        )
        self.close_button = quiet_button(_("Cancel"))
        self.go = primary_button(_("Send with this time"), icon="arrow-up")
        card = Card(padding=20)
        for part in (self.title, self.sentence, self.choice, self.time_field):
            card.body.addWidget(part)
        card.body.addStretch(1)
        card.body.addLayout(foot_row(self.close_button, self.go))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scroll_area(card))
        self.choice.chosen.connect(self._show_time)
        self.close_button.clicked.connect(self.left)
        self.go.clicked.connect(self._go)

    def begin(self, question: TimeQuestion) -> None:
        """Ask about a recording."""
        self._question = question
        self.title.setText(
            _("When was the recording of {subject} made?", subject=question.subject or question.group_id)
        )
        self.sentence.setText(question.sentence)
        self.choice.set_offered(_SUGGESTED, question.correctable and question.suggested is not None)
        corrected = bool(question.original_text)
        self.choice.set_offered(_ORIGINAL, question.correctable and corrected)
        self.choice.option(_KEPT).setText(_("Corrected time") if corrected else _(_CLOCK_TEXT))
        self.choice.set_offered(_ENTERED, question.correctable)
        first = _SUGGESTED if question.suggested is not None else _ORIGINAL if corrected else _ENTERED
        self.choice.choose(first if question.correctable else _KEPT)
        self._show_time(self.choice.choice())
        self.choice.setFocus()

    @Slot(str)
    def _show_time(self, key: str) -> None:
        question = self._question
        if question is not None:
            texts = {
                _SUGGESTED: question.suggested_text,
                _ORIGINAL: question.original_text,
                _KEPT: question.present_text,
            }
            self.time.setText(texts.get(key, self.time.text()))
            self.time.setReadOnly(key != _ENTERED)
            self.time_field.set_fault(None)

    @Slot()
    def _go(self) -> None:
        question = self._question
        if question is None:
            return
        command: Command = ChangeEach.alike(Step.KEEP_TIME, [question.take_id])
        match self.choice.choice():
            case "original":
                command = ChangeEach.alike(Step.RESTORE_TIME, [question.take_id])
            case "suggested" if question.suggested is not None:
                command = SetTime(question.take_id, question.suggested)
            case "entered":
                try:
                    command = SetTime(question.take_id, read_entered(self.time.text()))
                except ValueError as error:
                    self.time_field.set_fault(translated(error))
                    return
        self._actions.do(command)
        self.left.emit()
