"""The look of reports and charts, remembered in the preferences."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.tasks import Lane, TaskContext, TaskOwner
from vbdesk.desk.models.preferences import Preferences, PreferenceStore
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

    def __init__(self, store: PreferenceStore, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._changes = Lane(tasks, self)
        self._chosen = False
        self.current = Look.LIGHT

    def read(self) -> None:
        """Read what was chosen before."""
        self._changes.run(lambda context: self._store.load(), self._on_read, name="look")

    def choose(self, look: Look) -> None:
        """Take this look from now on."""
        self._chosen = True
        self._show(look)

        def work(context: TaskContext) -> Preferences:
            return self._store.change(report_look=look)

        self._changes.run(work, name="look")  # if the disk takes it not, it counts until the program ends

    @Slot(object)
    def _on_read(self, preferences: Preferences) -> None:
        if not self._chosen:  # while it was read
            self._show(preferences.report_look)

    def _show(self, look: Look) -> None:
        if look is not self.current:
            self.current = look
            self.changed.emit(look)
