"""The focus ring: 2 px of accent colour around the widget with the keyboard focus."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget
from shiboken6 import isValid

from vbdesk.desk.ui.painting import antialiased
from vbdesk.desk.ui.theme import app_theme

_OUTSIDE = 4
_MOVES = {QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.ParentChange}


class FocusRing(QWidget):
    """An overlay of one window that follows the focus; hidden after a mouse click."""

    def __init__(self, window: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(window)
        self._followed: list[QWidget] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() in _MOVES:
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
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if (
            new is None
            or new.property("noRing")
            or new is self.window()
            or new.window() is not self.window()
            or by_mouse
        ):
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
        if not isValid(target) or not target.isVisible():
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
