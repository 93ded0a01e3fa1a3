"""The bar below a list with selectable rows: how many are selected, and the actions for them."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role

_TEXT_WIDTH = 240  # at 100 % text


class ActionBar(QWidget):
    """A sentence at the left; buttons that apply at the right, or below it in narrow windows."""

    def __init__(self, actions: Sequence[tuple[str, str, str]], perform: Callable[[str], None]) -> None:
        """Make a button for each of `actions`: (key, text, icon); one that is pressed calls `perform` with its key."""
        super().__init__()
        self._text = Text("", Role.LABEL, "text2", wrap=True)
        sentence = QHBoxLayout()
        sentence.addWidget(self._text, 1)
        self._buttons: dict[str, Button] = {}
        for key, text, icon in actions:
            button = Button(text, ButtonKind.QUIET, icon=icon, size=ButtonSize.ROW)
            button.clicked.connect(partial(perform, key))
            self._buttons[key] = button
        row = PageHeader(sentence, *self._buttons.values(), texts_width=_TEXT_WIDTH)
        row.setMinimumWidth(1)  # it adapts to the available width, so it must not request one
        whole = QVBoxLayout(self)
        whole.setContentsMargins(margins(20, 8, 12, 8))
        whole.addWidget(row)

    def show_actions(self, text: str, shown: dict[str, str]) -> None:
        """Show the sentence `text` and the buttons named in `shown`, with their accessible names."""
        self._text.setText(text)
        for key, button in self._buttons.items():
            button.setVisible(key in shown)
            button.setAccessibleName(shown.get(key, ""))

    def button(self, key: str) -> Button:
        """One of the buttons."""
        return self._buttons[key]

    def text(self) -> str:
        """The sentence at the left."""
        return self._text.text()
