"""Joins the card for corrections with the actions behind it, for every page that offers them."""

from PySide6.QtCore import Signal, Slot

from vbdesk.desk.results.course_actions import CourseActions, CourseChange, CourseQuestion
from vbdesk.desk.ui.correction_card import CorrectionCard


class CourseCard(CorrectionCard):
    """Asks what to do about a recording that does not belong into a course.

    Signals:
        opened: there is a question, so the page shows the card.
    """

    opened = Signal()

    def __init__(self, actions: CourseActions) -> None:
        super().__init__(
            [change.value for change in CourseChange], CourseChange.MOVE.value, CourseChange.PUT_BACK.value
        )
        self._actions = actions
        self.wanted.connect(self._do)
        actions.asked.connect(self._ask)
        actions.answered.connect(self.left)
        actions.refused.connect(self.refuse)

    @Slot(object)
    def _ask(self, question: CourseQuestion) -> None:
        offered = {change.value: words for change, words in question.offered.items()}
        sentences = {change.value: words for change, words in question.sentences.items()}
        self.begin(question.title, offered, sentences, question.reasons, question.subjects)
        self.opened.emit()

    @Slot(str, str, str)
    def _do(self, change: str, reason: str, group_id: str) -> None:
        self._actions.do(CourseChange(change), reason, group_id)
