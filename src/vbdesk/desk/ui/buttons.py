"""Buttons: primary, secondary, quiet, and red to stop a recording; each can show its key."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, hover_fill, mirrored, rounded
from vbdesk.desk.ui.theme import Role, app_theme


class ButtonSize(StrEnum):
    """Heights in pixels: row 30, normal 36, large 48 (the main action of a screen)."""

    ROW = "row"
    NORMAL = "normal"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class _Measures:
    height: int
    padding: int
    radius: int
    role: Role
    strong: bool = False


_MEASURES = {
    ButtonSize.ROW: _Measures(30, 11, 8, Role.LABEL_MEDIUM),
    ButtonSize.NORMAL: _Measures(36, 14, 8, Role.BODY_MEDIUM),
    ButtonSize.LARGE: _Measures(48, 20, 10, Role.CARD_TITLE),
}
_GAP = 8
_KEY_PAD = 6


class ButtonKind(StrEnum):
    """How prominent a button is."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    QUIET = "quiet"
    LINK = "link"
    STOP = "stop"


class Button(QAbstractButton):
    """A button with an optional icon before its text and a key hint after it."""

    def __init__(
        self,
        text: str,
        kind: ButtonKind = ButtonKind.SECONDARY,
        *,
        icon: str = "",
        key: str = "",
        size: ButtonSize = ButtonSize.NORMAL,
        trailing: str = "",
        parent: QWidget | None = None,
    ) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._kind, self._icon, self._key, self._size, self._trailing = kind, icon, key, size, trailing
        self._key_shown = self._text_shown = True
        self.setText(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setProperty("ringRadius", _MEASURES[size].radius)

    def set_kind(self, kind: ButtonKind) -> None:
        """Change how prominent the button is."""
        self._kind = kind
        self.update()

    def set_icon(self, name: str) -> None:
        """Show another icon; empty for none."""
        self._icon = name
        self.updateGeometry()
        self.update()

    def show_key(self, shown: bool) -> None:
        """Show or hide the key hint; callers hide it first where space is short."""
        self._key_shown = shown
        self.updateGeometry()
        self.update()

    def show_text(self, shown: bool) -> None:
        """Show the text next to the icon, or the icon alone with the text as its tool tip, where space is short."""
        if self._text_shown is not shown:
            self._text_shown = shown
            self.setToolTip("" if shown else self.text())
            self.updateGeometry()
            self.update()

    def set_key(self, key: str) -> None:
        """Change the key hint; empty for none."""
        self._key = key
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        measures, px = _MEASURES[self._size], self._theme.px
        width = 2 * px(measures.padding) + self._content_width()
        return QSize(round(width), px(measures.height))

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        return self.sizeHint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        fill, edge, ink = self._colours()
        rounded(painter, QRectF(self.rect()), _MEASURES[self._size].radius, fill, edge)
        self._paint_content(painter, ink)
        painter.end()

    def _paint_content(self, painter: QPainter, ink: QColor) -> None:
        px, whole = self._theme.px, QRectF(self.rect())
        x = (self.width() - self._content_width()) / 2
        middle = self.height() / 2
        side = px(16)
        if self._icon:
            icon = QRectF(round(x), round(middle - side / 2), side, side)
            paint_icon(painter, self._icon, mirrored(painter, icon, whole), ink)
            x += side + px(_GAP)
        painter.setFont(self._font())
        painter.setPen(ink)
        width = self._text_width()
        text = mirrored(painter, QRectF(x, 0, width + 1, self.height()), whole)
        if self._text_shown:
            painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, self.text())
        x += width
        if self._trailing:
            icon = QRectF(round(x + px(_GAP)), round(middle - side / 2), side, side)
            paint_icon(painter, self._trailing, mirrored(painter, icon, whole), ink)
        elif self._key and self._key_shown:
            self._paint_key(painter, x + px(_GAP + 4), ink)

    def _paint_key(self, painter: QPainter, x: float, ink: QColor) -> None:
        font = self._theme.font(Role.CAPTION)
        width, height = self._key_width(), self._theme.px(20)
        box = QRectF(round(x), round((self.height() - height) / 2), width, height)
        box = mirrored(painter, box, QRectF(self.rect()))
        rounded(painter, box, 4, None, ink)
        painter.setFont(font)
        painter.setPen(ink)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._key)

    def _colours(self) -> tuple[QColor | None, QColor | None, QColor]:
        c = self._theme.colours
        state = {"hovered": self.underMouse() and self.isEnabled(), "pressed": self.isDown()}
        if not self.isEnabled():
            quiet = self._kind in (ButtonKind.QUIET, ButtonKind.LINK)
            return (None if quiet else QColor(c.sunken)), None, QColor(c.text3)
        if self._kind is ButtonKind.PRIMARY:
            return hover_fill(self._theme, c.accentfill, **state), None, QColor(c.on_accent)
        if self._kind is ButtonKind.STOP:
            return hover_fill(self._theme, c.rec, **state), None, QColor(c.on_rec)
        if self._kind is ButtonKind.SECONDARY:
            return hover_fill(self._theme, c.surface, **state), QColor(c.control), QColor(c.text)
        tint = self._theme.colour("text")
        tint.setAlphaF(0.12 if self.isDown() else 0.06 if state["hovered"] else 0.0)
        return tint, None, QColor(c.accent if self._kind is ButtonKind.LINK else c.text2)

    def _font(self) -> QFont:
        return self._theme.font(_MEASURES[self._size].role)

    def _text_width(self) -> float:
        if not self._text_shown:
            return 0.0
        return QFontMetricsF(self._font()).horizontalAdvance(self.text())

    def _key_width(self) -> float:
        px = self._theme.px
        text = QFontMetricsF(self._theme.font(Role.CAPTION)).horizontalAdvance(self._key)
        return max(px(20), text + 2 * px(_KEY_PAD))

    def _content_width(self) -> float:
        px = self._theme.px
        width = self._text_width()
        if self._icon:
            width += px(16) + (px(_GAP) if width else 0)
        if self._trailing:
            width += px(_GAP) + px(16)
        elif self._key and self._key_shown:
            width += px(_GAP + 4) + self._key_width()
        return width


class RoundButton(QAbstractButton):
    """A round button with an icon: play and pause in the accent colour, record with a ring."""

    def __init__(self, text: str, icon: str, *, diameter: int = 48, record: bool = False) -> None:
        self._theme = app_theme()
        super().__init__()
        self._icon, self._diameter, self._record = icon, diameter, record
        self.setText(text)
        self.setToolTip(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setProperty("ringRadius", diameter)

    def set_diameter(self, diameter: int) -> None:
        """Set the diameter at 100 % text."""
        self._diameter = diameter
        self.updateGeometry()

    def show_action(self, text: str, icon: str) -> None:
        """Show another action: accessible name and icon."""
        self._icon = icon
        self.setText(text)
        self.setToolTip(text)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        side = self._theme.px(self._diameter)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        c = self._theme.colours
        painter = antialiased(QPainter(self))
        disc = QRectF(self.rect())
        state = {"hovered": self.underMouse(), "pressed": self.isDown()}
        fill, ink = (c.rec, c.on_rec) if self._record else (c.accentfill, c.on_accent)
        if not self.isEnabled():
            fill, ink = c.sunken, c.text3
        if self._record:
            pen = painter.pen()
            pen.setColor(QColor(fill if self.isEnabled() else c.control))
            pen.setWidthF(2.0)
            painter.setPen(pen)
            painter.drawEllipse(disc.adjusted(1, 1, -1, -1))
            inset = disc.width() / 11
            disc = disc.adjusted(inset, inset, -inset, -inset)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(hover_fill(self._theme, fill, **state) if self.isEnabled() else QColor(fill))
        painter.drawEllipse(disc)
        side = round(self.width() * (0.34 if self._record else 0.42))
        corner = round((self.width() - side) / 2)
        paint_icon(painter, self._icon, QRectF(corner, corner, side, side), QColor(ink))
        painter.end()


class KeyCap(QWidget):
    """A key of the keyboard, drawn as a box."""

    def __init__(self, key: str, *, size: ButtonSize = ButtonSize.NORMAL) -> None:
        self._theme = app_theme()
        super().__init__()
        self._key, self._size = key, size
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: D102
        px = self._theme.px
        width = QFontMetricsF(self._theme.font(self._role())).horizontalAdvance(self._key)
        return QSize(round(max(px(26), width + 2 * px(12))), px(20 if self._size is ButtonSize.ROW else 28))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 6, None, self._theme.colour("control"))
        painter.setFont(self._theme.font(self._role()))
        painter.setPen(self._theme.colour("text2"))
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # else "Ctrl+," would end with its first letter
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._key)
        painter.end()

    def _role(self) -> Role:
        return Role.CAPTION if self._size is ButtonSize.ROW else Role.LABEL


def primary_button(text: str, *, icon: str = "", key: str = "", size: ButtonSize = ButtonSize.NORMAL) -> Button:
    """Make the button of a screen's main action."""
    return Button(text, ButtonKind.PRIMARY, icon=icon, key=key, size=size)


def secondary_button(text: str, *, icon: str = "", key: str = "", size: ButtonSize = ButtonSize.NORMAL) -> Button:
    """Make the button of another action."""
    return Button(text, ButtonKind.SECONDARY, icon=icon, key=key, size=size)


def quiet_button(text: str, *, icon: str = "", key: str = "", size: ButtonSize = ButtonSize.NORMAL) -> Button:
    """Make the button of a minor action: text only."""
    return Button(text, ButtonKind.QUIET, icon=icon, key=key, size=size)
