"""The shortcuts that work on every page."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QLineEdit

from vbdesk.desk.shell.main_window import MainWindow
from vbdesk.desk.ui.shortcuts import PAGE_KEYS, sequence

_SEARCHES = "subjects"  # where Ctrl+F goes from a page without a search field


class WindowKeys(QObject):
    """Binds the keys of the window; they are children of it, so that a locked window has none of them."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        for name, page in zip(PAGE_KEYS, window.sidebar_pages, strict=False):
            self._bind(name, partial(window.open_page, page))
        self._bind("account", lambda: window.open_page("account"))
        self._bind("find", self.find)
        self._bind("quit", window.quit)
        self._bind("help", window.help_wanted.emit)

    @Slot()
    def find(self) -> None:
        """Go to the search field of the page, or to that of the subjects."""
        search = getattr(self._window.page(), "search", None)
        if not isinstance(search, QLineEdit) or not search.isVisible():
            self._window.open_page(_SEARCHES)
            search = getattr(self._window.page(), "search", None)
        if isinstance(search, QLineEdit):
            search.setFocus(Qt.FocusReason.ShortcutFocusReason)
            search.selectAll()

    def _bind(self, name: str, action: Callable[[], object]) -> None:
        QShortcut(sequence(name), self._window).activated.connect(action)
