"""Rounded corners of popup windows, which the system gives square ones."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainterPath, QRegion
from PySide6.QtWidgets import QFrame, QWidget

_X11 = "xcb"


def prepare_corners(popup: QWidget) -> None:
    """Remove the square frame of a popup before it is shown; its content paints the rounded one."""
    if isinstance(popup, QFrame):
        popup.setFrameShape(QFrame.Shape.NoFrame)
    popup.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    popup.setWindowFlag(Qt.WindowType.NoDropShadowWindowHint)
    popup.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)


def cut_corners(popup: QWidget, radius: float) -> None:
    """Cut the corners of a shown popup on X11, where they stay opaque without a compositor."""
    if QGuiApplication.platformName() != _X11:
        return
    outline = QPainterPath()
    outline.addRoundedRect(QRectF(popup.rect()), radius, radius)
    popup.setMask(QRegion(outline.toFillPolygon().toPolygon()))
