"""Screen reader announcements, and a workaround for a crash in Qt's accessibility code."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_SCROLL_AREAS = ("QScrollArea", "QAbstractScrollArea")


def install_scroll_area_workaround() -> None:
    """Describe scroll areas by Qt's interface of plain widgets; call once, after the application is made.

    WORKAROUND for Qt 6 (also 6.11.3; we know of no report in its tracker): `QAccessibleAbstractScrollArea::child` in
    qtbase/src/widgets/accessible/complexwidgets.cpp does not check its index and counts only visible scroll bars. A
    screen reader that counted two children, and asks for the second after the page was hidden, makes Qt read past the
    end of a list and crash. `QAccessibleWidget` counts hidden children too, and checks the index.
    """
    QAccessible.installFactory(_scroll_area_interface)


def announce(where: QWidget, sentence: str, *, urgent: bool = False) -> None:
    """Have a screen reader read `sentence` about `where`; an urgent one interrupts it."""
    event = QAccessibleAnnouncementEvent(where, sentence)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if urgent else politeness.Polite)
    QAccessible.updateAccessibility(event)


def _scroll_area_interface(class_name: str, about: QObject | None) -> QAccessibleInterface | None:
    """Return our interface for scroll areas; Qt calls this for each class of an object, most derived first."""
    if class_name in _SCROLL_AREAS and isinstance(about, QWidget):
        return QAccessibleWidget(about, QAccessible.Role.Client)
    return None
