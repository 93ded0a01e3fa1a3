"""What a person chooses for the desk itself: colours, text size, language, pedal. Each holds at once and lasts."""

from typing import Any

from PySide6.QtCore import QKeyCombination, QObject, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QKeySequence

from vbdesk.capture.protocols import protocol_languages
from vbdesk.desk.models.preferences import Preferences, PreferenceStore
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.tasks import Failure, Lane, TaskContext
from vbdesk.desk.ui.theme import Scheme, app_theme

TEXT_SIZES = (90, 100, 110, 125, 150, 175, 200)
_TAKEN = {
    Qt.Key.Key_Space: "Space records, stops and plays.",
    Qt.Key.Key_Escape: "Esc leaves what is under way.",
    Qt.Key.Key_Tab: "Tab moves to the next control.",
    Qt.Key.Key_Backtab: "Tab moves to the control before.",
    Qt.Key.Key_Return: "Enter sends a recording.",
    Qt.Key.Key_Enter: "Enter sends a recording.",
}


class DeskChoices(QObject):
    """Reads and keeps the choices.

    Signals:
        shown: (Preferences) what is chosen.
        failed: (str) why a choice is not kept.
    """

    shown = Signal(object)
    failed = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._workspace = workspace
        self._store = PreferenceStore(workspace.outside.config_dir)
        self._lane = Lane(workspace.tasks, self)

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages that can be chosen."""
        return protocol_languages()

    @property
    def folder(self) -> str:
        """Where recordings, profiles' libraries and the service on this computer are."""
        return str(self._workspace.outside.data_dir)

    def open_folder(self) -> None:
        """Show the folder in the file manager."""
        self._workspace.outside.open_page(QUrl.fromLocalFile(self.folder).toString())

    def read(self) -> None:
        """Say what is chosen."""
        self._lane.run(lambda context: self._store.load(), self._on_read, self._on_failed, name="preferences")

    def choose_scheme(self, scheme: Scheme) -> None:
        """Light, dark, or as the system has it."""
        self._theme.set_scheme(scheme)
        self._keep(scheme=scheme)

    def choose_text_size(self, percent: int | None) -> None:
        """A text size in percent, or None for the system's."""
        self._theme.set_text_size(None if percent is None else percent / 100)
        self._keep(text_size=percent)

    def choose_language(self, tag: str) -> None:
        """A language for prompts; empty for the system's."""
        self._keep(language=tag)

    def choose_pedal(self, key: QKeySequence) -> str | None:
        """A key for the foot pedal; why it cannot be that one, or None."""
        if key.isEmpty():
            return "Press the pedal, or a key."
        first: QKeyCombination = key[0]  # type: ignore[index]  # the stubs do not know it
        if first.keyboardModifiers() == Qt.KeyboardModifier.NoModifier and first.key() in _TAKEN:
            return f"{_TAKEN[first.key()]} Choose another key."
        self._keep(pedal_key=key.toString(QKeySequence.SequenceFormat.PortableText))
        return None

    def _keep(self, **choices: Any) -> None:
        def work(context: TaskContext) -> Preferences:
            return self._store.change(**choices)

        self._lane.run(work, self._on_read, self._on_failed, name="preferences")

    @Slot(object)
    def _on_read(self, preferences: Preferences) -> None:
        self.shown.emit(preferences)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
