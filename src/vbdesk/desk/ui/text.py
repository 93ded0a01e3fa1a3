"""Text in a type role and a colour token."""

from html import escape

from PySide6.QtCore import QEvent, QLocale, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.tokens import ARABIC_FAMILY, TYPE_SCALE

_LEAST_PX = 48
_ARABIC_LINE = 1.2  # Arabic letters go higher and lower
_AT_START = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_AT_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter


class Text(QLabel):
    """A label whose font follows the theme.

    Never give it an accessible name: that would replace its text for a screen reader.
    """

    def __init__(
        self,
        text: str = "",
        role: Role = Role.BODY,
        ink: str = "text",
        *,
        wrap: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        self._theme = app_theme()
        super().__init__(text, parent)
        self._role = role
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("ink", ink)
        self.setWordWrap(wrap)
        if wrap:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._begin_at_start()
        self._fit()

    def set_ink(self, token: str) -> None:
        """Show the text in another colour token."""
        if self.property("ink") != token:
            self.setProperty("ink", token)
            self.style().unpolish(self)
            self.style().polish(self)

    def set_role(self, role: Role) -> None:
        """Show the text in another type role."""
        self._role = role
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit()
        elif event.type() == QEvent.Type.LayoutDirectionChange:
            self._begin_at_start()

    def _begin_at_start(self) -> None:
        """Begin lines at the start of the window's direction, also an id from left to right."""
        right = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        if self.alignment() == (_AT_START if right else _AT_RIGHT):  # not one that was chosen
            self.setAlignment(_AT_RIGHT if right else _AT_START)

    def _fit(self) -> None:
        font = self._theme.font(self._role)
        if font != self.font():
            self.setFont(font)
        self.setMinimumHeight(self._theme.line_height(self._role))


class ElidedText(Text):
    """One line, elided where space is short; tooltip and screen reader get all of it."""

    def __init__(
        self,
        text: str = "",
        role: Role = Role.BODY,
        ink: str = "text",
        *,
        cut: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text, role, ink)
        self._cut = cut

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        return QSize(min(super().sizeHint().width(), self._theme.px(_LEAST_PX)), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        shown = self.fontMetrics().elidedText(self.text(), self._cut, self.width())
        self.setToolTip("" if shown == self.text() else self.text())
        painter = QPainter(self)
        painter.setLayoutDirection(self.layoutDirection())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()


class PromptLabel(QLabel):
    """Text that a person reads aloud: large, with wide line spacing, in the direction of its own language."""

    def __init__(self, role: Role = Role.PROMPT, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._role = role
        self._text = ""
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setProperty("ink", "text")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def show_text(self, text: str, role: Role | None = None, *, language: str | None = None) -> None:
        """Show `text`; blank lines separate paragraphs. `language` is its tag; None for that of the text before."""
        self._text = text
        if language is not None:
            self.setLayoutDirection(QLocale(language).textDirection())
        self._role = role or self._role
        self._fit()

    def plain_text(self) -> str:
        """The text without markup."""
        return self._text

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit()

    def _fit(self) -> None:
        entry = TYPE_SCALE[self._role]
        font = self._theme.font(self._role)
        if font != self.font():
            self.setFont(font)
        right_to_left = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        family = QFont(font)
        if right_to_left:
            family.setFamily(ARABIC_FAMILY)  # its lines are higher, and Qt takes percent of the font that is used
        line = entry.line * (_ARABIC_LINE if right_to_left else 1.0)
        percent = round(100 * line / (QFontMetrics(family).height() / self._theme.scale))
        paragraphs = [escape(part).replace("\n", "<br>") for part in self._text.split("\n\n")]
        gap = round(entry.size * self._theme.scale / 2)
        way = "rtl" if right_to_left else "ltr"
        style = f"margin:0 0 {gap}px 0; line-height:{percent}%"
        html = "".join(f'<p dir="{way}" style="{style}">{part}</p>' for part in paragraphs)
        if html != self.text():
            self.setText(html)
