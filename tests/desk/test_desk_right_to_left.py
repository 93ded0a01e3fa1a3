"""Controls in windows that run from right to left, and in languages with long words."""

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QStyle, QStyleOptionComboBox, QStyleOptionFrame

from vbdesk.desk.cohort.view_model import heading_of
from vbdesk.desk.record.findings_card import CheckResultCard
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.fields import ChoiceField, LineField, SecretField
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.desk.ui.tokens import Scheme


@pytest.fixture
def from_right(qapp):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    Theme(Scheme.LIGHT, 1.0).install()
    yield
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@pytest.fixture
def both_ways(qapp):
    """Change the direction of a window that stays."""

    def change(direction):
        qapp.setLayoutDirection(direction)
        app_theme().follow_direction()

    yield change
    change(Qt.LayoutDirection.LeftToRight)


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


def test_what_stays_in_the_window_is_mirrored_without_another_style_sheet(qtbot, qapp, both_ways):
    field, sheet = ChoiceField("layout"), qapp.styleSheet()
    qtbot.addWidget(field)
    field.resize(300, 38)
    field.show()

    def room():
        option = QStyleOptionComboBox()
        field.initStyleOption(option)
        edit = QStyle.SubControl.SC_ComboBoxEditField
        return field.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, edit, field)

    before = room()
    both_ways(Qt.LayoutDirection.RightToLeft)
    assert room() == QStyle.visualRect(Qt.LayoutDirection.RightToLeft, field.rect(), before) != before
    both_ways(Qt.LayoutDirection.LeftToRight)
    assert room() == before
    assert qapp.styleSheet() == sheet


def test_a_text_that_stays_begins_at_the_side_of_its_direction(qtbot, both_ways):
    text, centred = Text("ward-4"), Text("ward-4")
    centred.setAlignment(Qt.AlignmentFlag.AlignCenter)
    for label in (text, centred):
        qtbot.addWidget(label)
    before = text.alignment()
    both_ways(Qt.LayoutDirection.RightToLeft)
    assert text.alignment() & Qt.AlignmentFlag.AlignRight
    assert text.alignment() & Qt.AlignmentFlag.AlignAbsolute
    made_there = Text("ward-4")
    qtbot.addWidget(made_there)
    both_ways(Qt.LayoutDirection.LeftToRight)
    assert text.alignment() == made_there.alignment() == before
    assert centred.alignment() == Qt.AlignmentFlag.AlignCenter


def test_a_secret_ends_before_its_eye(qtbot, from_right):
    field = SecretField()
    qtbot.addWidget(field)
    field.resize(300, 38)
    field.show()
    assert room_for_text(field).left() > field._eye.geometry().right()


def test_a_table_gives_each_heading_its_place_from_right_to_left(qtbot, from_right):
    table = CellTable(("التسجيل", "المدة"))
    view = CellView("الملفات", table, (200, 90), stretch=0, choosable=True)
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    picture = view.horizontalHeader().grab().toImage()
    paper = picture.pixelColor(picture.width() // 2, 2)
    inked = [
        x for x in range(picture.width()) for y in range(4, picture.height() - 4) if picture.pixelColor(x, y) != paper
    ]
    assert max(inked) <= picture.width() - view.first_edge()


def test_a_heading_of_several_lines_has_their_height(qtbot, from_right):
    view = CellView("الفوج", CellTable(("الشخص", "ارتفاع\nضغط\nالدم")), (120, 70), stretch=0)
    qtbot.addWidget(view)
    metrics = QFontMetricsF(app_theme().font(Role.CAPTION))
    needed = metrics.boundingRect(QRectF(0, 0, 1000, 1000), 0, "ارتفاع\nضغط\nالدم").height()
    assert view.horizontalHeader().height() >= needed


def test_headings_break_between_words_only():
    assert heading_of("Elevated Blood Pressure") == "Elevated\nBlood\nPressure"
    assert heading_of("Ängstlichkeit") == "Ängstlichkeit"
    assert heading_of("Flüssigkeitsmangel") == "Flüssigkeitsm…"


def test_a_heading_that_is_cut_is_told_in_full():
    table = CellTable(("",))
    table.replace(("Flüssigkeitsm…",), [], ("Flüssigkeitsmangel",))
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        assert table.headerData(0, Qt.Orientation.Horizontal, role) == "Flüssigkeitsmangel"


def test_rows_of_a_check_line_up_beside_a_long_name(qtbot):
    card = CheckResultCard()
    qtbot.addWidget(card)
    card.rows[3].name.setText("Übersteuerung des Mikrofons")
    card._line_up()
    assert len({row.name.minimumWidth() for row in card.rows}) == 1
    assert card.rows[0].name.minimumWidth() >= card.rows[3].name.sizeHint().width()
