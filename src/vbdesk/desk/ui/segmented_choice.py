"""A segmented control: a choice of a few options, side by side, or in lines where it is narrow."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QSizePolicy, QWidget

from vbdesk.desk.ui.flow_layout import FlowLayout
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, rounded
from vbdesk.desk.ui.theme import Role, app_theme


class _Option(QAbstractButton):
    """One option; the chosen one has a surface."""

    def __init__(self, text: str, icon: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self._icon = icon
        self.setText(text)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setProperty("ringRadius", 6)

    def sizeHint(self) -> QSize:
        px = self._theme.px
        width = QFontMetricsF(self._theme.font(Role.LABEL_MEDIUM)).horizontalAdvance(self.text())
        icon = px(22) if self._icon else 0
        return QSize(round(width + 2 * px(12) + icon), px(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        px = self._theme.px
        if self.isChecked():
            rounded(painter, QRectF(self.rect()), 6, self._theme.colour("surface"), self._theme.colour("border"))
        ink = self._theme.colour("text" if self.isChecked() or self.underMouse() else "text2")
        if not self.isEnabled():
            ink = self._theme.colour("text2" if self.isChecked() else "text3")
        x = px(12)
        if self._icon:
            side = px(14)
            icon = QRectF(x, round((self.height() - side) / 2), side, side)
            paint_icon(painter, self._icon, mirrored(painter, icon, QRectF(self.rect())), ink)
            x += px(22)
        painter.setFont(self._theme.font(Role.LABEL_MEDIUM))
        painter.setPen(ink)
        text = mirrored(painter, QRectF(x, 0, self.width() - x, self.height()), QRectF(self.rect()))
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
            event.accept()


class SegmentedChoice(QWidget):
    """One of a few choices; arrow keys move between them.

    Signals:
        chosen: (str) key of the option that the user chose.
    """

    chosen = Signal(str)

    def __init__(self, name: str, options: list[tuple[str, str, str]], parent: QWidget | None = None) -> None:
        """Make the control: accessible `name`, options as (key, text, icon or empty)."""
        self._theme = app_theme()
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._keys = [key for key, _, _ in options]
        self._group = QButtonGroup(self)
        row = FlowLayout(self, margin=4, spacing=2)
        for index, (_, text, icon) in enumerate(options):
            option = _Option(text, icon)
            self._group.addButton(option, index)
            row.addWidget(option)
        self._group.button(0).setChecked(True)
        self._group.idToggled.connect(self._on_toggled)

    def choice(self) -> str:
        """Key of the chosen option; empty if none is."""
        return self._keys[self._group.checkedId()] if self._group.checkedId() >= 0 else ""

    def set_offered(self, key: str, offered: bool) -> None:
        """Show or hide an option."""
        self._group.button(self._keys.index(key)).setVisible(offered)

    def choose(self, key: str) -> None:
        """Show `key` as chosen, without a signal."""
        blocked = self._group.blockSignals(True)
        self._group.button(self._keys.index(key)).setChecked(True)
        self._group.blockSignals(blocked)

    @Slot()
    def choose_none(self) -> None:
        """Show no option as chosen, without a signal."""
        blocked = self._group.blockSignals(True)
        self._group.setExclusive(False)
        for button in self._group.buttons():
            button.setChecked(False)
        self._group.setExclusive(True)
        self._group.blockSignals(blocked)

    def option(self, key: str) -> QAbstractButton:
        """The button of one option."""
        return self._group.button(self._keys.index(key))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 8, self._theme.colour("sunken"))
        painter.end()

    @Slot(int, bool)
    def _on_toggled(self, index: int, checked: bool) -> None:
        """Handle a choice by mouse, key or screen reader."""
        if checked:
            self.chosen.emit(self._keys[index])
