"""Text in a type role and a colour token."""

import re
from html import escape
from unicodedata import bidirectional

from PySide6.QtCore import QEvent, QLocale, QPointF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QWidget

from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.tokens import ARABIC_FAMILY, TYPE_SCALE

_LEAST_PX = 48
_ARABIC_LINE = 1.2  # Arabic letters go higher and lower
_AT_START = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")  # letters of Hebrew, Arabic and their kin
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

    def least_width(self) -> int:
        """Width of the longest word, in pixels; with less, a wrapped text is cut."""
        return max(map(self.fontMetrics().horizontalAdvance, self.text().split()), default=0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        plain = self.textFormat() is Qt.TextFormat.PlainText
        if plain and self.wordWrap() and _FROM_RIGHT.search(self.text()):
            self._paint_lines()
        else:
            super().paintEvent(event)

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

    def _paint_lines(self) -> None:
        """Paint wrapped lines; QLabel moves lines from right to left by the blank at which they are broken."""
        lines = QTextLayout(self.text().replace("\n", "\N{LINE SEPARATOR}"), self.font())
        way = Qt.LayoutDirection.RightToLeft if _begins_from_right(self.text()) else Qt.LayoutDirection.LeftToRight
        option = QTextOption(QStyle.visualAlignment(way, self.alignment()))
        option.setTextDirection(way)
        lines.setTextOption(option)
        area, height = self.contentsRect(), 0.0
        lines.beginLayout()
        while (line := lines.createLine()).isValid():
            line.setLineWidth(area.width())
            line.setPosition(QPointF(0, height))
            height += line.height() + self.fontMetrics().leading()
        lines.endLayout()
        room = area.height() - height + self.fontMetrics().leading()
        if self.alignment() & Qt.AlignmentFlag.AlignTop:
            room = 0
        elif self.alignment() & Qt.AlignmentFlag.AlignVCenter:
            room /= 2
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        lines.draw(painter, QPointF(area.left(), area.top() + room))
        painter.end()

    def _fit(self) -> None:
        font = self._theme.font(self._role)
        if font != self.font():
            self.setFont(font)
        self.setMinimumHeight(self._theme.line_height(self._role))


def _begins_from_right(text: str) -> bool:
    """Whether the first letter that has a direction and is not isolated runs from right to left."""
    depth = 0
    for letter in text:
        kind = bidirectional(letter)
        if kind in ("LRI", "RLI", "FSI"):
            depth += 1
        elif kind == "PDI":
            depth -= 1
        elif depth == 0 and kind in ("L", "R", "AL"):
            return kind != "L"
    return False


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
