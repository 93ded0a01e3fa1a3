"""The scrolling body of a page; its cards align with the page header."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QVBoxLayout, QWidget

from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.margins import margins

SCROLL_BAR = 16
"""Width of a scroll bar, inside the page's margin, so that cards keep their edges."""


class ScrollBody(QWidget):
    """Lay out content in `body`; the page leaves `SCROLL_BAR` of the margin where lines end to this."""

    def __init__(self) -> None:
        super().__init__()
        content = QWidget()
        outer = QVBoxLayout(content)
        self.body = QVBoxLayout()
        self.body.setSpacing(16)
        outer.setContentsMargins(margins(0, 0, SCROLL_BAR, 0))
        outer.addLayout(self.body)
        outer.addStretch(1)
        self._outer, self._area = outer, scroll_area(content)
        self._area.viewport().installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._area)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.Resize:  # the same with and without a scroll bar
            bar = self._area.width() - self._area.viewport().width()
            self._outer.setContentsMargins(margins(0, 0, max(0, SCROLL_BAR - bar), 0))
        return False


def page_layout(page: QWidget, head: QWidget, body: ScrollBody) -> None:
    """Lay out header and scrolling body in a column."""
    head.setContentsMargins(margins(0, 0, SCROLL_BAR, 0))
    layout = QVBoxLayout(page)
    layout.setContentsMargins(margins(36, 28, 36 - SCROLL_BAR, 24))
    layout.setSpacing(16)
    layout.addWidget(head)
    layout.addWidget(body, 1)
