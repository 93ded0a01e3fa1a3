"""Margins in the direction of reading; Qt mirrors layouts, but not their margins."""

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QGuiApplication


def margins(start: int, top: int, end: int, bottom: int) -> QMargins:
    """Margins in pixels; `start` is at the right where lines run from right to left."""
    if QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        start, end = end, start
    return QMargins(start, top, end, bottom)
