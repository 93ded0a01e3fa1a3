"""Joins the card for corrections with the actions behind it, for every page that offers them."""

from PySide6.QtCore import Signal, Slot

from vbdesk.desk.results.correction_actions import CorrectionActions, CorrectionChoice, CorrectionQuestion
from vbdesk.desk.ui.correction_card import CorrectionCard


class RecordingCorrectionCard(CorrectionCard):
    """Asks what to do about a recording that does not belong into a course.

    Signals:
        opened: there is a question, so the page shows the card.
    """

    opened = Signal()

    def __init__(self, actions: CorrectionActions) -> None:
        super().__init__(
            [change.value for change in CorrectionChoice], CorrectionChoice.MOVE.value, CorrectionChoice.PUT_BACK.value
        )
        self.wanted.connect(actions.do)
        actions.asked.connect(self._ask)
        actions.answered.connect(self.left)
        self.left.connect(actions.withdraw)
        actions.refused.connect(self.refuse)

    @Slot(object)
    def _ask(self, question: CorrectionQuestion) -> None:
        offered = {change.value: text for change, text in question.offered.items()}
        sentences = {change.value: text for change, text in question.sentences.items()}
        self.begin(question.title, offered, sentences, question.reasons, question.subjects)
        self.opened.emit()
