"""Texts in a window that are cut off."""

from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QComboBox, QLineEdit, QWidget

from vbdesk.desk.ui.badges import Chip, LevelBadge
from vbdesk.desk.ui.buttons import Button
from vbdesk.desk.ui.fields import ChoiceField, TickBox
from vbdesk.desk.ui.text import ElidedText, Text


def cut_words(window: QWidget) -> list[str]:
    """A line for every visible text that is cut off, with its available width."""
    return [
        f"{part.text()!r} has {part.width()} of {part.sizeHint().width()} px"
        for part in window.findChildren(QWidget)
        if isinstance(part, Text | Button) and part.text() and part.isVisible() and _is_cut(part, window)
    ]


def cut_controls(window: QWidget) -> list[str]:
    """A line for every other visible control whose text is cut off: options, chips, fields, elided lines.

    A name, the choice of a list or a hint may be cut if its tooltip tells all of it.
    """
    found = []
    for part in window.findChildren(QWidget):
        words = _words_of(part) if part.isVisible() else ""
        if words and part.width() < _wanted(part, words) and part.toolTip() != words:
            found.append(f"{type(part).__name__} {words!r} has {part.width()} of {_wanted(part, words)} px")
    return found


def _words_of(part: QWidget) -> str:
    if isinstance(part, Chip):
        return part.words
    if isinstance(part, LevelBadge):
        return part.word
    if isinstance(part, ChoiceField):
        return part.currentText() or part.placeholderText()
    if isinstance(part, QLineEdit) and not isinstance(part.parentWidget(), QComboBox):
        return "" if part.text() or part.accessibleDescription() == part.toolTip() != "" else part.placeholderText()
    if isinstance(part, ElidedText):
        return part.text()
    if isinstance(part, QAbstractButton) and not isinstance(part, Button | TickBox):
        return part.text()
    return ""


def _wanted(part: QWidget, words: str) -> int:
    """The width that the text needs."""
    width = part.fontMetrics().horizontalAdvance(words)
    if isinstance(part, ChoiceField):
        return width + 72  # icons at both ends
    if isinstance(part, QLineEdit):
        return width + (53 if part.property("leading") else 26)
    return width if isinstance(part, ElidedText) else part.sizeHint().width()


def _is_cut(part: Text | Button, window: QWidget) -> bool:
    words = isinstance(part, ElidedText) or (isinstance(part, Text) and part.wordWrap())
    narrow = not words and part.width() < part.sizeHint().width() - _padding(part)
    right = part.mapTo(window, part.rect().bottomRight()).x()
    low = isinstance(part, Text) and part.wordWrap() and part.height() < part.heightForWidth(part.width())
    return narrow or low or right > window.width() or _sticks_out_below(part, window)


def _padding(part: QWidget) -> int:
    """What a button can give away before its text is cut."""
    return round(part.sizeHint().width() - part._content_width()) if isinstance(part, Button) else 0


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
