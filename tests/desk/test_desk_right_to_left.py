"""Controls in windows that run from right to left."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStyle, QStyleOptionFrame

from vbdesk.desk.ui.fields import LineField, SecretField
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme


@pytest.fixture
def from_right(qapp):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    Theme(Scheme.LIGHT, 1.0).install()
    yield
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def room_for_text(field):
    option = QStyleOptionFrame()
    field.initStyleOption(option)
    return field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, field)


def test_the_text_of_a_field_begins_beside_its_icon(qtbot, from_right):
    field = LineField(icon="search")
    qtbot.addWidget(field)
    field.resize(300, 38)
    field.show()
    assert room_for_text(field).right() < field._lead.geometry().left()


def test_a_secret_ends_before_its_eye(qtbot, from_right):
    field = SecretField()
    qtbot.addWidget(field)
    field.resize(300, 38)
    field.show()
    assert room_for_text(field).left() > field._eye.geometry().right()
