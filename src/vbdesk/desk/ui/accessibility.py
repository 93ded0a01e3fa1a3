"""What screen readers are told beyond what Qt tells by itself, and mends of that."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_SCROLL_AREAS = ("QScrollArea", "QAbstractScrollArea")


def install_scroll_area_workaround() -> None:
    """Describe scroll areas by Qt's interface of plain widgets; call once, after the application is made.

    WORKAROUND for Qt 6 (6.11.3 too; no report in its tracker is known to us): `QAccessibleAbstractScrollArea::child` in
    qtbase/src/widgets/accessible/complexwidgets.cpp does not check its index. It counts a scroll bar only while that
    shows, so a reader that counted two children, and asks for the second after the page went out of sight, made Qt read
    past the end of a list and crash. `QAccessibleWidget` counts hidden children too, and checks.
    """
    QAccessible.installFactory(_scroll_area_interface)


def announce(where: QWidget, sentence: str, *, urgent: bool = False) -> None:
    """Have a screen reader say `sentence` about what happens in `where`; an urgent one interrupts what it reads."""
    event = QAccessibleAnnouncementEvent(where, sentence)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if urgent else politeness.Polite)
    QAccessible.updateAccessibility(event)


def _scroll_area_interface(class_name: str, about: QObject | None) -> QAccessibleInterface | None:
    """Qt asks for each class of an object in turn, the most derived first; None leaves it to Qt."""
    if class_name in _SCROLL_AREAS and isinstance(about, QWidget):
        return QAccessibleWidget(about, QAccessible.Role.Client)
    return None
