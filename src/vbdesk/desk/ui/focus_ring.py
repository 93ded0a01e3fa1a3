"""The focus ring: 2 px of accent colour around the widget with the keyboard focus."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QLineEdit, QPlainTextEdit, QWidget
from shiboken6 import isValid

from vbdesk.desk.ui.painting import antialiased
from vbdesk.desk.ui.theme import app_theme

_OUTSIDE = 4
_KEYBOARD = {
    Qt.Key.Key_Tab,
    Qt.Key.Key_Backtab,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Space,
    Qt.Key.Key_Return,
    Qt.Key.Key_Enter,
}
_MOVES = {QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.ParentChange}


class FocusRing(QWidget):
    """An overlay of one window that follows the focus while the keyboard is used; hidden after a mouse click."""

    # defaults for events that Qt delivers after Python's garbage collector has emptied this object
    _by_mouse = False
    _followed: tuple[QWidget, ...] | list[QWidget] = ()

    def __init__(self, window: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(window)
        self._followed: list[QWidget] = []
        self._by_mouse = False
        window.installEventFilter(self)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() in _MOVES:
            self._place()
        elif event.type() is QEvent.Type.MouseButtonPress:
            self._by_mouse = True
            self.hide()
        elif isinstance(event, QKeyEvent) and self._by_mouse and _moves_by_keyboard(event):
            self._by_mouse = False
            if not isinstance(watched, QLineEdit | QPlainTextEdit):  # a text field shows its cursor
                self._place()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        painter.setPen(QPen(self._theme.colour("accent"), 2.0))
        radius = 8.0
        if self._followed and isValid(self._followed[0]):
            radius = float(self._followed[0].property("ringRadius") or 8)
        area = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        radius = min(radius + 2, area.height() / 2)
        painter.drawRoundedRect(area, radius, radius)
        painter.end()

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        for followed in self._followed:
            if isValid(followed):
                followed.removeEventFilter(self)
        self._followed = []
        if QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            self._by_mouse = True
        if new is None or new.property("noRing") or new is self.window() or new.window() is not self.window():
            self.hide()
            return
        ringed = new.property("ringAround")
        widget: QWidget | None = ringed if isinstance(ringed, QWidget) else new
        while widget is not None and widget is not self.window():
            widget.installEventFilter(self)
            self._followed.append(widget)
            widget = widget.parentWidget()
        self._place()

    def _place(self) -> None:
        if not self._followed:
            return
        target = self._followed[0]
        if self._by_mouse or not isValid(target) or not target.isVisible():
            self.hide()
            return
        ring = self._in_window(target)
        self.setGeometry(ring)
        seen = ring
        for widget in self._followed[1:]:
            area = widget.parentWidget()
            if isinstance(area, QAbstractScrollArea) and area.viewport() is widget:
                seen = seen.intersected(self._in_window(widget))  # a widget that is scrolled out of view has no ring
        self.setMask(seen.translated(-ring.topLeft()))
        self.raise_()
        self.show()

    def _in_window(self, widget: QWidget) -> QRect:
        """Rectangle of a widget in the window, with the ring around it."""
        corner = widget.mapTo(self.window(), QPoint(0, 0))
        return QRect(corner, widget.size()).adjusted(-_OUTSIDE, -_OUTSIDE, _OUTSIDE, _OUTSIDE)


def _moves_by_keyboard(event: QKeyEvent) -> bool:
    """Whether a key moves the focus, uses a control or is a shortcut, instead of writing text."""
    return event.key() in _KEYBOARD or bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
