"""Notices that somebody uses the desk: keys and the pointer, in any of its windows."""

from PySide6.QtCore import QEvent, QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication, QWindow

_INPUT = {
    QEvent.Type.KeyPress,
    QEvent.Type.MouseMove,
    QEvent.Type.MouseButtonPress,
    QEvent.Type.Wheel,
    QEvent.Type.TouchBegin,
    QEvent.Type.TouchUpdate,
    QEvent.Type.TabletMove,
    QEvent.Type.TabletPress,
    QEvent.Type.NativeGesture,
    QEvent.Type.DragMove,
}


class InputWatch(QObject):
    """Follows the windows that had the keyboard focus; a filter of the whole application would see every event.

    Signals:
        used: a key was pressed, or the pointer moved.
    """

    used = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.focusWindowChanged.connect(self.follow)

    @Slot(QWindow)
    def follow(self, window: QWindow | None) -> None:
        """Notice input in `window`."""
        if window is not None:
            window.installEventFilter(self)  # a second call moves the filter, and adds none

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() in _INPUT:
            self.used.emit()
        return False
