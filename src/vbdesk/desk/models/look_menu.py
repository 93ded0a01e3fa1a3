"""The menu with the looks of reports, for every page that makes a report."""

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from vbdesk.desk.models.report_look import ReportLook, look_names
from vbdesk.language import _
from vbdesk.report.drawing.style import Look


class LookMenu(QMenu):
    """Binds `ReportLook`; the current look has a mark."""

    def __init__(self, model: ReportLook, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(_("Look of reports"))
        self._model = model
        group = QActionGroup(self)
        for look, words in look_names().items():
            action = QAction(words, group)
            action.setCheckable(True)
            action.setData(look)
            self.addAction(action)
        group.triggered.connect(self._on_chosen)
        model.changed.connect(self._show)
        self._show(model.current)

    @Slot(object)
    def _show(self, look: Look) -> None:
        for action in self.actions():
            action.setChecked(action.data() == look)

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._model.choose(Look(action.data()))
