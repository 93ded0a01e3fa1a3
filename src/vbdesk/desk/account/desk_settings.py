"""Preferences of the desk: colours, text size, language, pedal; applied and saved immediately."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QKeyCombination, QObject, Qt, QUrl, Signal, Slot

from vbdesk.capture.protocols import protocol_languages
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.preferences import Preferences, PreferenceStore
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.language import N_, _

TEXT_SIZES = (90, 100, 110, 125, 150, 175, 200)
_TAKEN = {
    Qt.Key.Key_Space: N_("Space records, stops and plays."),
    Qt.Key.Key_Escape: N_("Esc leaves what is under way."),
    Qt.Key.Key_Tab: N_("Tab moves to the next control."),
    Qt.Key.Key_Backtab: N_("Tab moves to the control before."),
    Qt.Key.Key_Return: N_("Enter sends a recording."),
    Qt.Key.Key_Enter: N_("Enter sends a recording."),
}


class Appearance(Protocol):
    """Colours and text size of the application."""

    def set_scheme(self, scheme: Scheme) -> None:
        """Choose light, dark or the system's colours."""

    def set_text_size(self, scale: float | None) -> None:
        """A factor, or None for the system's."""


class ReadingChoice(Protocol):
    """The language that the window is read in."""

    tag: str
    managed: bool

    def choices(self) -> list[tuple[str, str]]:
        """Tags and names of the languages."""

    def choose(self, tag: str) -> str:
        """Change it; empty for the system's. Returns why it stays as it is, or nothing."""


class DeskChoices(QObject):
    """Reads and saves the preferences.

    Signals:
        shown: (Preferences).
        failed: (str) why a choice was not saved.
    """

    shown = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        store: PreferenceStore,
        appearance: Appearance,
        data_dir: Path,
        open_page: Callable[[str], None],
        tasks: TaskOwner,
        reading: ReadingChoice | None = None,
    ) -> None:
        """Make it; `reading` is None where the language of the window cannot change."""
        super().__init__()
        self.reading = reading
        self._store, self._appearance = store, appearance
        self._data_dir, self._open_page = data_dir, open_page
        self._lane = Lane(tasks, self)

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the available languages."""
        return protocol_languages()

    @property
    def folder(self) -> str:
        """The data folder: recordings, libraries and the local service."""
        return str(self._data_dir)

    def open_folder(self) -> None:
        """Show the folder in the file manager."""
        self._open_page(QUrl.fromLocalFile(self.folder).toString())

    def read(self) -> None:
        """Read the preferences."""
        self._lane.run(lambda context: self._store.load(), self._on_read, self._on_failed, name="preferences")

    def choose_scheme(self, scheme: Scheme) -> None:
        """Choose light, dark or the system's colours."""
        self._appearance.set_scheme(scheme)
        self._keep(scheme=scheme)

    def choose_text_size(self, percent: int | None) -> None:
        """Choose a text size in percent, or None for the system's."""
        self._appearance.set_text_size(None if percent is None else percent / 100)
        self._keep(text_size=percent)

    def choose_language(self, tag: str) -> None:
        """Choose the language of prompts; empty for the system's."""
        self._keep(language=tag)

    def choose_pedal(self, key: QKeyCombination | None, name: str) -> str | None:
        """Choose the key of the foot pedal; return why it cannot be used."""
        if key is None:
            return _("Press the pedal, or a key.")
        if key.keyboardModifiers() == Qt.KeyboardModifier.NoModifier and key.key() in _TAKEN:
            return " ".join((_(_TAKEN[key.key()]), _("Choose another key.")))
        self._keep(pedal_key=name)
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
