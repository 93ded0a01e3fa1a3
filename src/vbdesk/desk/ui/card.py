"""Cards: a surface with a border, a title at the left and one control or caption at the right."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role

_TITLE_WIDTH = 150


class Card(QFrame):
    """A surface for one subject; lay out content in `body`. Do not nest cards."""

    def __init__(
        self, title: str = "", *, quiet: bool = False, padding: int = 20, right: QWidget | None = None
    ) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setProperty("quiet", quiet)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(padding, padding, padding, padding)
        self.body.setSpacing(12)
        if title or right is not None:
            head = QHBoxLayout()
            head.addWidget(Text(title, Role.CARD_TITLE))
            head.addStretch(1)
            if right is not None:
                head.addWidget(right)
            self.body.addLayout(head)


def card_with_header(title: str | Text, *controls: QWidget) -> Card:
    """A card whose controls move below its title where the width is too small."""
    texts = QHBoxLayout()
    texts.addWidget(Text(title, Role.CARD_TITLE) if isinstance(title, str) else title)
    texts.addStretch(1)
    head = PageHeader(texts, *controls, texts_width=_TITLE_WIDTH)
    head.setMinimumWidth(1)  # it adapts to the available width, so it must not request one
    card = Card(padding=20)
    card.body.addWidget(head)
    return card


def foot_row(*buttons: QWidget) -> QHBoxLayout:
    """Buttons at the right of a card's foot, the main one last."""
    row = QHBoxLayout()
    row.setSpacing(12)
    row.addStretch(1)
    for button in buttons:
        row.addWidget(button)
    return row


def horizontal_line() -> QFrame:
    """A 1 px line between rows."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedHeight(1)
    return frame


def vertical_line() -> QFrame:
    """A 1 px line between columns."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedWidth(1)
    return frame


def scroll_whole(page: QWidget, content: QWidget) -> None:
    """Show `content` as the whole of a page, which scrolls only where the window is too low for it."""
    whole = QVBoxLayout(page)
    whole.setContentsMargins(0, 0, 0, 0)
    whole.addWidget(scroll_area(content))


class _ScrollArea(QScrollArea):
    """Takes its content when Qt styles it, before it is shown.

    Qt styles and lays out what an area takes, and styles it again for each further parent.
    """

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        content.setParent(self.viewport())

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Polish:
            hidden = self._content.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
            hidden &= self._content.isHidden()
            self.setWidget(self._content)  # shows it
            self._content.setHidden(hidden)
        return super().event(event)


def scroll_area(content: QWidget) -> QScrollArea:
    """Put `content` into an area that scrolls vertically only."""
    content.setObjectName(content.objectName() or "scrolled")
    area = _ScrollArea(content)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.viewport().setAutoFillBackground(False)
    return area
