"""Size and place of the window, kept between two sessions."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize

_HANDLE = QSize(160, 60)  # this much of the window has to be on a screen, so that it can be moved


def place_in_view(wanted: QRect, screens: Sequence[QRect]) -> QRect:
    """The rectangle for the window: as wanted, or moved into the first screen if its own screen has gone.

    Args:
        wanted: size and place in the last session.
        screens: the available part of each screen, the main one first.
    """
    for screen in screens:
        seen = screen.intersected(wanted)
        if seen.width() >= _HANDLE.width() and seen.height() >= _HANDLE.height() and screen.top() <= wanted.top():
            return QRect(wanted.topLeft(), wanted.size().boundedTo(screen.size()))
    screen = screens[0]
    size = wanted.size().boundedTo(screen.size())
    rest = screen.size() - size
    return QRect(screen.topLeft() + QPoint(rest.width() // 2, rest.height() // 2), size)
