"""What every page shows of a recording that runs: its state, subject, consent, microphone and level."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from vbdesk.desk.record.level_meter import LevelMeterBar
from vbdesk.desk.record.view_model import RecordPhase, RunningRecording
from vbdesk.desk.ui.badges import Chip, ChipStyle
from vbdesk.desk.ui.flow_layout import FlowLayout
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import ElidedText
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, pgettext


def phase_style(phase: RecordPhase) -> ChipStyle:
    """The red chip of a phase in which a recording runs."""
    text, icon = {
        RecordPhase.COUNTING_IN: (_("Get ready"), "clock"),
        RecordPhase.PAUSED: (_("Paused"), "pause"),
        RecordPhase.ENDING: (_("Saving"), "dot"),
    }.get(phase, (pgettext("progress", "Recording"), "dot"))
    return ChipStyle(text, icon, "on_rec", "rec")


class RecordingFacts(QWidget):
    """Shows a `RunningRecording`, in as many lines as the width needs."""

    def __init__(self, more: QWidget, *buttons: QWidget) -> None:
        """Make it; `more` follows the subject, and `buttons` come last."""
        super().__init__()
        self.phase = Chip(ChipStyle("", "dot", "on_rec", "rec"))
        self.subject = ElidedText("", Role.BODY_STRONG, cut=Qt.TextElideMode.ElideMiddle)
        self.consent, self.microphone = ElidedText("", Role.LABEL, "text2"), ElidedText("", Role.LABEL, "text2")
        self.level = LevelMeterBar(compact=True)
        self.level.setAccessibleName("")  # no text before a recording runs: the language may still change
        device = QWidget()
        pair = QHBoxLayout(device)
        pair.setContentsMargins(0, 0, 0, 0)
        pair.setSpacing(8)
        pair.addWidget(IconView("mic", "text2", 16))
        pair.addWidget(self.microphone)
        line = FlowLayout(self, spacing=14)
        for part in (self.phase, self.subject, more, self.consent, device, self.level, *buttons):
            line.addWidget(part)

    def show_running(self, running: RunningRecording) -> None:
        """Show how it is now."""
        style = phase_style(running.phase)
        if style.text != self.phase.text:
            self.phase.show_style(style)
            self.level.setAccessibleName(_("Input level"))
        self.subject.setText(running.subject)
        self.consent.setText(running.consent)
        self.consent.setVisible(bool(running.consent))
        self.microphone.setText(running.microphone)
        self.level.show_input(running.levels)
