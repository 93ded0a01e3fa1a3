"""The tip next to the cursor."""

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.charts.cursor_text import CursorText
from vbdesk.desk.ui.badges import LevelBadge
from vbdesk.desk.ui.buttons import ButtonSize, KeyCap
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, pgettext

_WIDTH, _AWAY = 252, 14


class CursorTip(QFrame):
    """A card that ignores the pointer and never covers its own moment."""

    def __init__(self, view: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(view)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._when = Text(role=Role.LABEL_STRONG)
        self._sign = Text(role=Role.LABEL_MEDIUM)
        self._badge = LevelBadge()
        self._sentence = Text(role=Role.CAPTION, ink="text2", wrap=True)
        self._note = Text(role=Role.CAPTION, ink="text", wrap=True)
        self._open = QWidget()
        level = QHBoxLayout()
        level.setSpacing(8)
        level.addWidget(self._sign)
        level.addWidget(self._badge)
        level.addStretch(1)
        keys = QHBoxLayout(self._open)
        keys.setContentsMargins(0, 2, 0, 0)
        keys.setSpacing(8)
        keys.addWidget(KeyCap(pgettext("key", "Enter"), size=ButtonSize.ROW))
        keys.addWidget(Text(_("Open recording"), Role.CAPTION, "accent"))
        keys.addStretch(1)
        self._column = QVBoxLayout(self)
        self._fit(tight=False)
        self._column.addWidget(self._when)
        self._column.addLayout(level)
        for part in (self._sentence, self._note, self._open):
            self._column.addWidget(part)
        self.hide()

    def text(self) -> str:
        """All text that it shows."""
        return " ".join(part.text() for part in (self._when, self._sign, self._sentence, self._note) if part.text())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the surface with its border."""
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 10, self._theme.colour("surface"), self._theme.colour("control"))
        painter.end()

    def _fit(self, *, tight: bool) -> None:
        """Choose the space around the texts; `tight` for large text in a low window."""
        self._column.setContentsMargins(16, 2 if tight else 14, 16, 2 if tight else 14)
        self._column.setSpacing(0 if tight else 6)

    def show_next_to(self, text: CursorText, point: QPoint, area: QWidget) -> None:
        """Show `text` at the side of `point` with more space, within `area`."""
        self._when.setText(text.when)
        self._sign.setText(text.sign)
        self._badge.setVisible(text.level is not None)
        if text.level is not None:
            self._badge.show_level(text.level)
        self._sentence.setText(text.sentence)
        self._note.setText(text.note)
        self._note.setVisible(bool(text.note))
        self._open.setVisible(text.opens)
        self._fit(tight=False)
        width = max(self._theme.px(_WIDTH), self._when.sizeHint().width() + 32)
        width = min(max(width, self._sign.sizeHint().width() + self._badge.sizeHint().width() + 44), area.width() - 8)
        if self._column.heightForWidth(width) > area.height():  # large text in a low window: make it wider
            self._open.hide()
            width = max(width, max(point.x(), area.width() - point.x()) - _AWAY)
        if self._column.heightForWidth(width) > area.height():
            self._fit(tight=True)
            width = area.width() - 8
        self.resize(width, self._column.heightForWidth(width))
        right = point.x() + _AWAY
        left = right if right + width < area.width() else max(point.x() - _AWAY - width, 0)
        self.move(left, min(max(0, point.y()), max(0, area.height() - self.height())))
        self.show()
        self.raise_()
