"""A row of the list of profiles in which one gets another name."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.account.profiles import ProfileLine
from vbdesk.desk.ui.buttons import ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.fields import LineField
from vbdesk.language import _
from vbdesk.outbox.profiles.profiles import shown_name


class NameRow(QWidget):
    """A field with the present name; Enter saves, Escape cancels.

    Signals:
        saved: (str, str) profile id and its new name.
        cancelled: the name stays.
    """

    saved = Signal(str, str)
    cancelled = Signal()

    def __init__(self, entry: ProfileLine) -> None:
        super().__init__()
        self._profile_id = entry.profile_id
        self.name = LineField()
        self.name.setText(shown_name(entry.suggested_name) if entry.suggested_name else entry.name)
        self.name.selectAll()
        self.name.setAccessibleName(_("Name of the profile"))
        self.save = secondary_button(_("Save name"), size=ButtonSize.ROW)
        cancel = quiet_button(_("Cancel"), size=ButtonSize.ROW)
        self.save.clicked.connect(self._save)
        self.name.returnPressed.connect(self._save)
        cancel.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self.name, 1)
        row.addWidget(cancel)
        row.addWidget(self.save)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _save(self) -> None:
        self.saved.emit(self._profile_id, self.name.text())
