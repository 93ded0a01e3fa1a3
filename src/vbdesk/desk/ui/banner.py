"""Banners: what happened, what was kept, what to do. Used instead of dialogs."""

from enum import StrEnum

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import Button, ButtonKind
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme


class Tone(StrEnum):
    """Severity of a banner."""

    INFO = "info"
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


_LOOKS = {
    Tone.INFO: ("info", "accent", "accenttint"),
    Tone.OK: ("check", "ok", "oktint"),
    Tone.WARN: ("warning", "warn", "warntint"),
    Tone.FAIL: ("error", "fail", "failtint"),
}


class Banner(QWidget):
    """A tinted strip at the top of a page; hidden while it has no text.

    Signals:
        acted: the button was pressed.
        other_acted: the second button was pressed.
    """

    acted = Signal()
    other_acted = Signal()

    def __init__(self, parent: QWidget | None = None, *, above: int = 0) -> None:
        """Make the strip, with a margin of `above` pixels over it while it is shown."""
        self._theme = app_theme()
        super().__init__(parent)
        self._above = above
        self._tone = Tone.INFO
        self._icon = IconView("info", "accent", 18)
        self._title = Text("", Role.BODY_STRONG)
        self._sentence = Text("", Role.BODY, "text", wrap=True)
        self._button = Button("", ButtonKind.QUIET)
        self._button.clicked.connect(self._act)
        self._other = Button("", ButtonKind.QUIET)
        self._other.clicked.connect(self.other_acted)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._sentence)
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 12 + above, 12, 12)
        row.setSpacing(14)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, 1)
        row.addWidget(self._other, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setMinimumHeight(48 + above)
        self.hide()

    @property
    def button(self) -> Button:
        """The quiet button; the last one if there are two."""
        return self._button

    @property
    def other_button(self) -> Button:
        """The second button, before the other."""
        return self._other

    @property
    def tone(self) -> Tone:
        """The severity shown."""
        return self._tone

    def say(self, tone: Tone, sentence: str, *, title: str = "", action: str = "", other: str = "") -> None:
        """Show the banner."""
        self._tone = tone
        icon, ink, _ = _LOOKS[tone]
        self._icon.show_icon(icon, ink)
        self._title.setText(title)
        self._title.setVisible(bool(title))
        self._sentence.setText(sentence)
        self._sentence.set_ink("text2" if title else "text")
        self._button.setText(action)
        self._button.set_kind(ButtonKind.LINK if tone is Tone.INFO else ButtonKind.QUIET)
        self._button.setVisible(bool(action))
        self._other.setText(other)
        self._other.setVisible(bool(other))
        self.setVisible(True)
        self.update()

    def clear(self) -> None:
        """Hide the banner."""
        self._title.setText("")
        self._sentence.setText("")
        self.hide()

    def words(self) -> str:
        """All text that it shows."""
        return " ".join(part for part in (self._title.text(), self._sentence.text()) if part)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        rounded(
            painter, QRectF(self.rect()).adjusted(0, self._above, 0, 0), 10, self._theme.colour(_LOOKS[self._tone][2])
        )
        painter.end()

    @Slot()
    def _act(self) -> None:
        self.acted.emit()
