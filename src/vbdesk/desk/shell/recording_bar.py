"""The bar at the foot of every other page while a recording runs."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.desk.record.recording_facts import RecordingFacts
from vbdesk.desk.record.view_model import RecordPhase, RunningRecording
from vbdesk.desk.ui.buttons import Button, ButtonKind, quiet_button
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, pgettext


class RecordingBar(QWidget):
    """A recording that runs, and the buttons that end it and show its page; hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("recordingBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.time = Text(clock_text(MAX_DURATION_S), Role.BODY_STRONG)
        self.time.setMinimumWidth(self.time.sizeHint().width())  # it does not follow the digits
        self.show_page = quiet_button("", icon="record")
        self.stop = Button("", ButtonKind.STOP, icon="stop")
        self.facts = RecordingFacts(self.time, self.show_page, self.stop)
        self.facts.setMinimumWidth(1)  # it adapts to the available width, so it must not request one
        whole = QVBoxLayout(self)
        whole.setContentsMargins(22, 8, 22, 8)
        whole.addWidget(self.facts)
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: D102
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show the way to the page by its icon alone where one line is too short for its words."""
        self.show_page.show_text(True)
        self.show_page.show_text(self.facts.sizeHint().width() <= self.facts.width())

    def show_running(self, running: RunningRecording | None) -> None:
        """Show how it is now; None for none, or if the page shows it already."""
        if running is not None:
            self.setAccessibleName(pgettext("activity", "Recording"))
            self.show_page.setText(_("Show the recording"))
            self.stop.setText(_("Cancel") if running.phase is RecordPhase.COUNTING_IN else _("Stop"))
            self.stop.setEnabled(running.phase is not RecordPhase.ENDING)
            self.time.setText(clock_text(running.seconds))
            self.facts.show_running(running)
        self.setVisible(running is not None)
