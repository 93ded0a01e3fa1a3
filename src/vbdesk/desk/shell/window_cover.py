"""Shows one page instead of all the window has, and nothing of it anywhere else: dialogs, menus, second windows."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QShortcut
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QToolTip, QWidget
from shiboken6 import isValid

STAYS = "staysWhenLocked"
"""Property of a window that shows nothing about a person and whose work goes on."""
_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly
_CONTROL = {QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride, QEvent.Type.MouseButtonPress, QEvent.Type.Wheel}


class WindowCover(QObject):
    """Takes the content out of a window while another page is shown.

    The content is no child of the window in the meantime: hidden widgets would keep their texts in the accessible tree.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._content: QWidget | None = None
        self._focus: QWidget | None = None
        self._others: list[QWidget] = []
        self._silenced: list[QAction | QShortcut] = []
        self._beside: list[QWidget] = []

    @property
    def is_on(self) -> bool:
        """Whether the content is out of the window."""
        return self._content is not None

    def put_on(self, page: QWidget) -> None:
        """Show only `page`; dialogs are cancelled, menus are closed, other windows are hidden."""
        if not self.is_on:
            self._focus = self._window.focusWidget()
            self._close_others()
            self._content = self._window.takeCentralWidget()
            self._silence()
        self._window.setCentralWidget(page)
        page.show()  # the layout would show it only later
        for child in self._window.findChildren(QWidget, options=_DIRECT):
            if child is not page and not child.isWindow() and child.isVisible():  # layers above the content
                child.hide()
                self._beside.append(child)

    def take_off(self) -> None:
        """Show the content again, with the keyboard focus where it was."""
        if self._content is None:
            return
        content, self._content = self._content, None
        self._window.setCentralWidget(content)  # deletes the page
        content.show()
        for part in self._silenced:
            if isValid(part):
                part.setEnabled(True)
        for widget in (*self._beside, *self._others):
            if isValid(widget):
                widget.removeEventFilter(self)
                widget.show()
        self._silenced, self._beside, self._others = [], [], []
        if self._focus is not None and isValid(self._focus):
            self._focus.setFocus()
        self._focus = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take no input in a window that stays."""
        return event.type() in _CONTROL

    def _close_others(self) -> None:
        QToolTip.hideText()
        while (popup := QApplication.activePopupWidget()) is not None and popup.close():
            pass
        for top in QApplication.topLevelWidgets():
            if top is self._window or not top.isVisible():
                continue
            if isinstance(top, QDialog):
                top.reject()
            elif top.property(STAYS):
                top.installEventFilter(self)
                self._others.append(top)
            else:
                top.hide()
                self._others.append(top)

    def _silence(self) -> None:
        """Turn off keys and actions of the window, so that nothing behind the page can be operated."""
        parts = (*self._window.findChildren(QShortcut), *self._window.findChildren(QAction))
        for part in parts:
            if isinstance(part, QShortcut | QAction) and part.isEnabled():
                part.setEnabled(False)
                self._silenced.append(part)
