"""The sidebar: pages, and the profile at the bottom."""

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.ui.icons import mark, paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, rounded
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, formats, ngettext

WIDE, NARROW = 200, 64
_INSET = 12


class _Entry(QAbstractButton):
    """One page in the sidebar."""

    def __init__(self, title: str, icon: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._icon = icon
        self._count = 0
        self._narrow = False
        self._lit = False
        self.setText(title)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def lit(self) -> bool:
        """Whether this page, or one below it, is shown. Not a checked state: pressing always opens it."""
        return self._lit

    def light(self, lit: bool) -> None:
        """Mark the page as the shown one, or not."""
        self._lit = lit
        self._describe()

    def show_count(self, count: int) -> None:
        """Show the number of recordings in progress."""
        self._count = count
        self._describe()

    def _describe(self) -> None:
        count = self._count
        if self._lit and count:
            text = ngettext("Current page. {count} on its way.", "Current page. {count} on their way.", count)
        elif count:
            text = ngettext("{count} on its way.", "{count} on their way.", count)
        else:
            text = _("Current page.") if self._lit else ""
        self.setAccessibleDescription(text)
        self.update()

    def set_narrow(self, narrow: bool) -> None:
        """Show the icon only, the text as a tooltip."""
        self._narrow = narrow
        self.setToolTip(self.text() if narrow else "")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(100, self._theme.px(36))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        px = self._theme.px
        box = QRectF(self.rect())
        if self._lit:
            rounded(painter, box, 8, self._theme.colour("surface"))
        elif self.underMouse():
            tint = self._theme.colour("text")
            tint.setAlphaF(0.06)
            rounded(painter, box, 8, tint)
        side = px(18)
        x = (box.width() - side) / 2 if self._narrow else px(10)
        icon = QRectF(round(x), round((box.height() - side) / 2), side, side)
        icon = mirrored(painter, icon, box)
        paint_icon(painter, self._icon, icon, self._theme.colour("accent" if self._lit else "text2"))
        if not self._narrow:
            painter.setFont(self._theme.font(Role.BODY_STRONG if self._lit else Role.BODY_MEDIUM))
            painter.setPen(self._theme.colour("text" if self._lit else "text2"))
            text = mirrored(painter, box.adjusted(px(38), 0, 0, 0), box)
            painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, self.text())
        self._paint_count(painter, box)
        painter.end()

    def _paint_count(self, painter: QPainter, box: QRectF) -> None:
        if not self._count:
            return
        px, text = self._theme.px, formats.number(self._count)
        font = self._theme.font(Role.CAPTION_MEDIUM)
        width = max(px(20), QFontMetricsF(font).horizontalAdvance(text) + px(12))
        height = px(18) if self._narrow else px(20)
        top = 0.0 if self._narrow else (box.height() - height) / 2
        right = box.right() - (0 if self._narrow else px(10))
        pill = mirrored(painter, QRectF(right - width, top, width, height), box)
        rounded(painter, pill, height / 2, self._theme.colour("sunken" if self._lit else "border"))
        painter.setFont(font)
        painter.setPen(self._theme.colour("text"))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)


class _Brand(QWidget):
    """Logo and name."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self._narrow = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_narrow(self, narrow: bool) -> None:
        self._narrow = narrow
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(60, self._theme.px(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        px = self._theme.px
        side = px(24)
        x = (self.width() - side) / 2 if self._narrow else px(10)
        whole = QRectF(self.rect())
        area = mirrored(painter, QRectF(round(x), 0, side, side), whole)
        painter.drawPixmap(area.topLeft(), mark(self._theme, side, self.devicePixelRatioF()))
        if not self._narrow:
            painter.setFont(self._theme.font(Role.CARD_TITLE))
            painter.setPen(self._theme.colour("text"))
            name = mirrored(painter, QRectF(px(44), 0, self.width() - px(44), side), whole)
            painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, "vbdesk")
        painter.end()


class ProfileButton(QAbstractButton):
    """The profile in use; opens the menu of profiles."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self._icon, self._below, self._narrow = "server", "", False
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_profile(self, name: str, below: str, icon: str) -> None:
        """Show another profile."""
        self._icon, self._below = icon, below
        self.setText(name)
        self.set_narrow(self._narrow)
        self.setAccessibleName(_("Profile {name}. Choose another.", name=name))
        self.update()

    def set_narrow(self, narrow: bool) -> None:
        """Show the icon alone."""
        self._narrow = narrow
        self.setToolTip(self.text() if narrow else "")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(100, self._theme.px(44))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        px, box = self._theme.px, QRectF(self.rect())
        if self.underMouse():
            tint = self._theme.colour("text")
            tint.setAlphaF(0.06)
            rounded(painter, box, 8, tint)
        side = px(18)
        x = (box.width() - side) / 2 if self._narrow else px(10)
        middle = (box.height() - side) / 2
        icon = mirrored(painter, QRectF(round(x), round(middle), side, side), box)
        paint_icon(painter, self._icon, icon, self._theme.colour("text2"))
        if not self._narrow:
            self._paint_text(painter, box)
        painter.end()

    def _paint_text(self, painter: QPainter, box: QRectF) -> None:
        theme, px = self._theme, self._theme.px
        room = box.width() - px(38) - px(28)
        first, second = theme.line_height(Role.LABEL), theme.line_height(Role.CAPTION)
        top = (box.height() - first - second) / 2
        for text, role, ink, y, height in (
            (self.text(), Role.LABEL_MEDIUM, "text", top, first),
            (self._below, Role.CAPTION, "text3", top + first, second),
        ):
            painter.setFont(theme.font(role))
            painter.setPen(self._theme.colour(ink))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, round(room))
            line = mirrored(painter, QRectF(px(38), y, room, height), box)
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, shown)
        side = px(14)
        chevron = QRectF(round(box.right() - px(24)), round((box.height() - side) / 2), side, side)
        paint_icon(painter, "chevron-down", mirrored(painter, chevron, box), self._theme.colour("text2"))


class Sidebar(QWidget):
    """Pages by name; the current one has the marker.

    Signals:
        chosen: (str) key of the page to open.
    """

    chosen = Signal(str)

    def __init__(self, entries: list[tuple[str, str, str]]) -> None:
        """Make the sidebar of (key, title, icon)."""
        self._theme = app_theme()
        super().__init__()
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(_("Pages"))
        self.profile = ProfileButton()
        self._brand = _Brand()
        self._keys = [entry[0] for entry in entries]
        self._entries: dict[str, _Entry] = {}
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._on_clicked)
        column = QVBoxLayout(self)
        column.setContentsMargins(_INSET, 20, _INSET, 14)
        column.setSpacing(2)
        column.addWidget(self._brand)
        column.addSpacing(20)
        for index, (key, title, icon) in enumerate(entries):
            entry = _Entry(title, icon)
            self._entries[key] = entry
            self._group.addButton(entry, index)
            column.addWidget(entry)
        column.addStretch(1)
        foot = QHBoxLayout()
        foot.addWidget(self.profile)
        column.addLayout(foot)
        self.set_narrow(False)

    def entry(self, key: str) -> QAbstractButton:
        """The button of a page."""
        return self._entries[key]

    def show_titles(self, titles: Mapping[str, str]) -> None:
        """Show the names of the pages in another language, by key."""
        self.setAccessibleName(_("Pages"))
        for key, title in titles.items():
            self._entries[key].setText(title)
        self.set_narrow(self._narrow)

    def light(self, key: str) -> None:
        """Mark a page as the shown one."""
        for name, entry in self._entries.items():
            entry.light(name == key)
        self.update()

    def show_count(self, key: str, count: int) -> None:
        """Show a count next to a page."""
        if key in self._entries:
            self._entries[key].show_count(count)

    def set_narrow(self, narrow: bool) -> None:
        """Show icons only, for small windows."""
        self._narrow = narrow
        self.setFixedWidth(self._theme.px(NARROW if narrow else WIDE))
        self._brand.set_narrow(narrow)
        self.profile.set_narrow(narrow)
        for entry in self._entries.values():
            entry.set_narrow(narrow)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        super().paintEvent(event)
        lit = next((entry for entry in self._entries.values() if entry.lit), None)
        if lit is not None:
            painter = antialiased(QPainter(self))
            area = lit.geometry()
            marker = QRectF(-3, area.top() + area.height() * 0.22, 6, area.height() * 0.56)
            marker = mirrored(painter, marker, QRectF(self.rect()))
            rounded(painter, marker, 3, self._theme.colour("accent"))
            painter.end()

    @Slot(int)
    def _on_clicked(self, index: int) -> None:
        self.chosen.emit(self._keys[index])
