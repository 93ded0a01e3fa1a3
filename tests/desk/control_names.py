"""Finds controls without a name for screen readers."""

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

CONTROLS = (QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QPlainTextEdit)


def is_named(control):
    told = QAccessible.queryAccessibleInterface(control)
    name, description = (told.text(part).strip() for part in (QAccessible.Text.Name, QAccessible.Text.Description))
    labels = [other for other, relation in told.relations() if relation & QAccessible.RelationFlag.Label]
    if isinstance(control, QComboBox):  # its name is the chosen item; only a label or a description says what it is
        return bool(labels or description)
    return bool(name or labels)


def unnamed(page):
    """Controls that can be used now, and every choice, that have no name."""
    return [
        f"{type(control).__name__} in {type(control.parentWidget()).__name__}"
        for control in page.findChildren(QWidget)
        if _is_control(control, page) and not is_named(control)
    ]


def _is_control(control, page):
    if isinstance(control, QComboBox):
        return True
    if type(control) in (QAbstractButton, QHeaderView) or not control.isVisibleTo(page):  # the corner of a table
        return False
    inside = control.parentWidget()
    of_choice = any(isinstance(each, QComboBox) for each in (inside, inside and inside.parentWidget()))
    return isinstance(control, CONTROLS) and not of_choice
