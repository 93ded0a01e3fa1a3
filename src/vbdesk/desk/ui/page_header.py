"""Page header: text at the left, controls at the right or, in narrow windows, below, there in up to two rows."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.ui.theme import app_theme

_GAP = 12


class PageHeader(QWidget):
    """Two parts, side by side or one below the other."""

    def __init__(self, words: QLayout, *controls: QWidget, words_width: int = 300) -> None:
        """Make the header; below `words_width` (at 100 % text) for the text, the controls move below."""
        self._theme = app_theme()
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._words_width = words_width
        self._words, self._parts = words, controls
        self._controls = QWidget()
        rows = QVBoxLayout(self._controls)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(_GAP)
        self._rows = (QHBoxLayout(), QHBoxLayout())
        for row in self._rows:
            row.setSpacing(_GAP)
            rows.addLayout(row)
        for control in controls:
            self._rows[0].addWidget(control)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(_GAP)
        self._box.addLayout(words, 1)
        self._box.addWidget(self._controls, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.LayoutRequest:  # a control came or went
            self._arrange()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._arrange()

    def _arrange(self) -> None:
        shown = [part for part in self._parts if not part.isHidden()]
        controls = sum(part.sizeHint().width() + _GAP for part in shown)
        narrow = max(self._theme.px(self._words_width), self._words.minimumSize().width()) + controls > self.width()
        self._break_after(len(shown) if controls - _GAP <= self.width() else (len(shown) + 1) // 2)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._box.direction() is not direction:
            self._box.setDirection(direction)
            self.updateGeometry()

    def _break_after(self, count: int) -> None:
        """Put this many of the visible controls into the first row."""
        first, second = self._rows
        shown = 0
        for part in self._parts:
            shown += not part.isHidden()
            row = second if shown > count else first
            if row.indexOf(part) < 0:
                (first if row is second else second).removeWidget(part)
                row.addWidget(part, 0, Qt.AlignmentFlag.AlignLeft)
