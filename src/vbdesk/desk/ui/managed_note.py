"""The line that says why a control cannot be used: the organisation has set its value."""

from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.outbox.library.managed_policy import managed_text


class ManagedNote(QWidget):
    """A lock and the line."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(IconView("lock", "text3", 14))
        row.addWidget(Text(managed_text(), Role.CAPTION, "text3", wrap=True), 1)
