"""Empty states: what a card shows while it has no content."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import primary_button
from vbdesk.desk.ui.card import scroll_whole
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _


class EmptyState(QWidget):
    """Icon, title, one sentence and at most one button, centred; it scrolls where the room is too low."""

    def __init__(self, icon: str, title: str, sentence: str, action: str = "") -> None:
        super().__init__()
        self.button = primary_button(action)
        self.button.setVisible(bool(action))
        self._title = Text(title, Role.CARD_TITLE, wrap=True)
        self._sentence = Text(sentence, Role.BODY, "text2", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(8)
        for text in (self._title, self._sentence):
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            texts.addWidget(text)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setSpacing(8)
        column.addStretch(1)
        column.addWidget(IconView(icon, "text3", 40), 0, Qt.AlignmentFlag.AlignHCenter)
        inset = QHBoxLayout()
        inset.addStretch(1)
        inset.addLayout(texts, 6)
        inset.addStretch(1)
        column.addLayout(inset)
        column.addSpacing(8)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        scroll_whole(self, content)

    def say(self, title: str, sentence: str, action: str | None = None) -> None:
        """Show other text; an empty `action` hides the button, None leaves it unchanged."""
        self._title.setText(title)
        self._sentence.setText(sentence)
        if action is not None:
            self.button.setText(action)
            self.button.setVisible(bool(action))

    def say_loading(self, sentence: str) -> None:
        """Say what is being read, as a sentence."""
        self.say(_("Loading"), sentence, "")

    def say_unreadable(self, sentence: str) -> None:
        """Say why reading failed."""
        self.say(_("This list could not be read"), sentence, "")

    def text(self) -> str:
        """All text that it shows."""
        return f"{self._title.text()} {self._sentence.text()}"
