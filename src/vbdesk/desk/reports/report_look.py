"""The look of reports and charts, remembered in the preferences."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.flow import Flow, ProgramFlow
from vbdesk.desk.preferences import ChangePreferences, PreferencesRead
from vbdesk.language import _
from vbdesk.report.drawing.style import Look


def look_names() -> dict[Look, str]:
    """How a person chooses a look."""
    return {
        Look.LIGHT: _("In colour"),
        Look.PRINT: _("Grey printer"),
        Look.SAFE: _("Colour-blind safe"),
    }


class ReportLook(QObject):
    """The chosen look, the same on every page.

    Attributes:
        current: the look.

    Signals:
        changed: (Look) another look is current.
    """

    changed = Signal(object)

    def __init__(self, flow: ProgramFlow) -> None:
        super().__init__(flow)
        self._chosen = False
        self.current = Look.LIGHT
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._on_read)
        self._screen.add(PreferencesRead())

    def choose(self, look: Look) -> None:
        """Take this look from now on."""
        self._chosen = True
        self._show(look)
        self._screen.do(ChangePreferences({"report_look": look}))  # if it is not stored, it counts until the end

    @Slot()
    def _on_read(self) -> None:
        preferences = self._screen.of(PreferencesRead).value
        if preferences is not None and not self._chosen:
            self._show(preferences.report_look)

    def _show(self, look: Look) -> None:
        if look is not self.current:
            self.current = look
            self.changed.emit(look)


def report_look(flow: Flow) -> ReportLook:
    """The chosen look of an open profile."""
    return flow.findChild(ReportLook) or ReportLook(flow)
