"""The status bar: profile, connection, recordings in progress, credits; always as text."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.ui.flow_layout import FlowLayout, StackingRow
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme


class _Item(QWidget):
    """An icon and a text."""

    def __init__(self, icon: str = "") -> None:
        super().__init__()
        self.icon = IconView(icon, "text2", 14)
        self.icon.setVisible(bool(icon))
        self.text = Text("", Role.CAPTION, "text2")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        row.addWidget(self.icon)
        row.addWidget(self.text)

    def say(self, text: str) -> None:
        self.text.setText(text)
        self.setVisible(bool(text))


class StatusBar(QWidget):
    """A line at the bottom of the window, or several where it is narrow."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setObjectName("statusBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumHeight(self._theme.px(32))
        self._profile, self._connection, self._moving = _Item("server"), _Item("clock"), _Item()
        self._encrypted, self._credits = _Item("lock"), _Item()
        left, right = QWidget(), QWidget()
        for side, items in (
            (left, (self._profile, self._connection, self._moving)),
            (right, (self._encrypted, self._credits)),
        ):
            line = FlowLayout(side, spacing=22)
            for item in items:
                line.addWidget(item)
        self._sides = StackingRow((left, right), least=0, spacing=0, shares=(1, 0), whole=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(22, 0, 22, 0)
        row.addWidget(self._sides, 0, Qt.AlignmentFlag.AlignVCenter)

    def show_profile(self, text: str, icon: str) -> None:
        """Show the open profile."""
        self._profile.icon.show_icon(icon)
        self._profile.say(text)

    def show_connection(self, text: str, icon: str, ink: str) -> None:
        """Show the connection to the service."""
        self._connection.icon.show_icon(icon, ink)
        self._connection.text.set_ink(ink)
        self._connection.say(text)

    def show_moving(self, text: str) -> None:
        """Show how many recordings are in progress."""
        self._moving.say(text)

    def show_right(self, encrypted: str, credits_left: str, icon: str = "lock") -> None:
        """Show how recordings are encrypted, with an icon, and the credit balance."""
        self._encrypted.icon.show_icon(icon, "text2")
        self._encrypted.icon.setVisible(bool(encrypted))
        self._encrypted.say(encrypted)
        self._credits.say(credits_left)

    def text(self) -> str:
        """Everything it says."""
        items = (self._profile, self._connection, self._moving, self._encrypted, self._credits)
        return " | ".join(item.text.text() for item in items if item.text.text())
