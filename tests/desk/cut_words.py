"""Texts in a window that are cut off."""

from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from vbdesk.desk.ui.buttons import Button
from vbdesk.desk.ui.text import ElidedText, Text


def cut_words(window: QWidget) -> list[str]:
    """A line for every visible text that is cut off, with its available width."""
    return [
        f"{part.text()!r} has {part.width()} of {part.sizeHint().width()} px"
        for part in window.findChildren(QWidget)
        if isinstance(part, Text | Button) and part.text() and part.isVisible() and _is_cut(part, window)
    ]


def _is_cut(part: Text | Button, window: QWidget) -> bool:
    words = isinstance(part, ElidedText) or (isinstance(part, Text) and part.wordWrap())
    narrow = not words and part.width() < part.sizeHint().width()
    right = part.mapTo(window, part.rect().bottomRight()).x()
    low = isinstance(part, Text) and part.wordWrap() and part.height() < part.heightForWidth(part.width())
    return narrow or low or right > window.width() or _sticks_out_below(part, window)


def _sticks_out_below(part: QWidget, window: QWidget) -> bool:
    """Whether its last line is below the end of its container, which does not scroll."""
    around = part.parentWidget()
    while around is not None and not isinstance(around.parentWidget(), QAbstractScrollArea):
        if part.mapTo(around, part.rect().bottomRight()).y() >= around.height():
            return True
        if around is window:
            break
        around = around.parentWidget()
    return False
