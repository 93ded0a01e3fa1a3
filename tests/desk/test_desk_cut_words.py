"""The finder of cut texts finds one of every kind that is planted, and nothing where all is seen."""

import pytest
from cut_words import cut_popups, cut_words, painted_words
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from vbdesk.desk.ui.badges import Chip, ChipStyle
from vbdesk.desk.ui.buttons import Button
from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.fields import ChoiceField, LineField, TickBox
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import ElidedText, PromptLabel, Text

LONG = "Everything that was said"


class Painted(QWidget):
    """Paints its text into a box, as charts do."""

    def __init__(self, *boxes: QRectF, flags: int = 0) -> None:
        super().__init__()
        self._boxes, self._flags = boxes, flags

    def paintEvent(self, event):
        painter = QPainter(self)
        for box in self._boxes:
            painter.drawText(box, self._flags | Qt.AlignmentFlag.AlignVCenter, LONG)
        painter.end()


def table(width):
    made = QTableWidget(1, 2)
    made.setHorizontalHeaderLabels(["A", "B"])
    made.setItem(0, 0, QTableWidgetItem(LONG))
    made.setColumnWidth(0, width)
    return made


def headings(width):
    made = QTableWidget(1, 2)
    made.setHorizontalHeaderLabels([LONG, "B"])
    made.setColumnWidth(0, width)
    made.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    return made


def choice(width):
    made = QComboBox()
    made.addItem(LONG)
    made.setFixedWidth(width)
    return made


def tabs(width):
    made = QTabWidget()
    made.setUsesScrollButtons(False)
    made.setElideMode(Qt.TextElideMode.ElideRight)
    made.addTab(QWidget(), LONG)
    made.addTab(QWidget(), LONG)
    made.setFixedWidth(width)
    return made


def fixed(widget, width):
    widget.setFixedWidth(width)
    return widget


def wrapped(height):
    made = Text(LONG, wrap=True)
    made.setFixedSize(90, height)
    return made


def prompt(height):
    made = PromptLabel()
    made.show_text(LONG, language="en")
    made.setFixedSize(300, height)
    return made


def inside(width):
    """A label that sticks out of a container that does not scroll."""
    around = QWidget()
    around.setFixedWidth(width)
    label = QLabel(LONG, around)
    label.adjustSize()
    around.setFixedHeight(label.height())
    return around


def options(width):
    made = SegmentedChoice("Which", [("a", LONG, ""), ("b", LONG, "")])
    made.setFixedWidth(width)
    return made


KINDS = {
    "label": lambda tight: fixed(QLabel(LONG), 40 if tight else 400),
    "wrapped text": lambda tight: wrapped(20 if tight else 200),
    "prompt": lambda tight: prompt(24 if tight else 400),
    "button": lambda tight: fixed(QPushButton(LONG), 60 if tight else 400),
    "button of the desk": lambda tight: fixed(Button(LONG), 60 if tight else 400),
    "tick box": lambda tight: fixed(TickBox(LONG, LONG), 60 if tight else 400),
    "chip": lambda tight: fixed(Chip(ChipStyle(LONG, "check", "ok", "oktint")), 40 if tight else 400),
    "options": lambda tight: options(120 if tight else 600),
    "hint of a field": lambda tight: fixed(placeholder(LONG), 60 if tight else 400),
    "choice": lambda tight: choice(60 if tight else 400),
    "cell": lambda tight: table(50 if tight else 400),
    "heading": lambda tight: headings(50 if tight else 400),
    "tab": lambda tight: tabs(120 if tight else 600),
    "painted text": lambda tight: sized(Painted(QRectF(0, 0, 40 if tight else 380, 30))),
    "painted beside the widget": lambda tight: sized(
        Painted(QRectF(350 if tight else 10, 0, 380, 30), flags=Qt.TextFlag.TextDontClip)
    ),
    "painted on another text": lambda tight: sized(
        Painted(QRectF(0, 0, 380, 30), QRectF(0, 6 if tight else 60, 380, 30))
    ),
    "in a narrow container": lambda tight: inside(40 if tight else 400),
}


def sized(widget):
    widget.setFixedSize(400, 100)
    return widget


def placeholder(words):
    made = QLineEdit()
    made.setPlaceholderText(words)
    return made


@pytest.fixture
def shown(qtbot):
    kept = []

    def show(part, top=QWidget):
        window = top()
        kept.append(window)
        column = QVBoxLayout(window)
        column.addWidget(part)
        window.resize(640, 480)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        return window

    yield show
    kept.clear()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_text_of_every_kind_is_found(shown, kind):
    assert cut_words(shown(KINDS[kind](True)))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_where_there_is_room(shown, kind):
    assert cut_words(shown(KINDS[kind](False))) == []


@pytest.mark.parametrize("kind", ["painted text", "label", "button of the desk"])
def test_a_dialog_is_looked_at_too(shown, kind):
    assert cut_words(shown(KINDS[kind](True), QDialog))


def test_a_message_box_is_looked_at_too(qtbot):
    box = QMessageBox()
    qtbot.addWidget(box)
    box.setText(LONG)
    box.show()
    assert cut_words(box) == []
    label = next(part for part in box.findChildren(QLabel) if part.text() == LONG)
    label.setFixedWidth(30)
    box.layout().activate()
    assert cut_words(box)


def test_a_shortened_text_may_be_told_by_its_tool_tip(shown):
    told = ElidedText(LONG)
    told.setFixedWidth(60)
    window = shown(told)
    assert cut_words(window) == []
    assert told.toolTip() == LONG


def test_what_a_list_can_be_scrolled_to_is_not_cut(shown):
    lines = QPlainTextEdit("\n".join([LONG] * 60))
    assert cut_words(shown(lines)) == []


def test_what_a_page_can_be_scrolled_to_is_not_cut_but_what_is_too_wide_for_it_is(shown):
    content = QWidget()
    column = QVBoxLayout(content)
    for _ in range(60):
        column.addWidget(QLabel(LONG))
    area = scroll_area(content)
    assert cut_words(shown(area)) == []
    area.setFixedWidth(60)
    content.setMinimumWidth(1)
    assert cut_words(area.window())


def test_a_cut_menu_and_a_cut_list_of_a_choice_are_found(shown):
    field = QComboBox()
    field.addItems(["A", LONG])
    field.setFixedWidth(70)
    field.view().setTextElideMode(Qt.TextElideMode.ElideRight)
    window = shown(field)
    menu = QMenu(window)
    menu.addAction(LONG)
    found = cut_popups(window)
    assert len(found) == 1
    assert "shortened" in found[0]
    menu.addAction(LONG * 8)
    assert any("wider than the window" in fault for fault in cut_popups(window))


def test_a_choice_of_the_desk_opens_a_list_that_has_room(shown):
    field = ChoiceField("file")
    field.addItems(["A", LONG * 2])
    field.setFixedWidth(100)
    assert cut_popups(shown(field)) == []


def test_a_hint_that_does_not_fit_its_field_is_told_by_the_tool_tip(shown):
    field = LineField(icon="search", placeholder=LONG)
    needed = field.fontMetrics().horizontalAdvance(LONG)
    window = shown(field)
    for width in range(needed - 20, needed + 120, 3):
        field.setFixedWidth(width)
        assert cut_words(window) == [], width


def test_every_cell_and_heading_that_is_shortened_is_told(shown):
    cells = CellTable((LONG,))
    view = CellView("List", cells, (60,), stretch=-1)
    shown(view)
    assert cells.headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) == LONG


def test_a_tool_tip_is_never_wider_than_the_screen(qtbot):
    around = QWidget()
    qtbot.addWidget(around)
    around.show()
    QToolTip.showText(around.mapToGlobal(around.rect().center()), LONG * 40, around)
    tip = next(part for part in around.window().findChildren(QLabel) if part.inherits("QTipLabel"))
    assert tip.width() <= around.screen().geometry().width() + 2
    assert cut_words(tip) == []
    QToolTip.hideText()


def test_words_from_right_to_left_begin_all_lines_at_the_same_place(shown):
    label = Text("هذه جملة طويلة بالعربية تتسع لعدة أسطر في نافذة ضيقة من غير أن يزاح أي سطر منها عن مكانه", wrap=True)
    label.setFixedSize(QSize(200, 400))
    shown(label)
    lines = {}
    for piece in painted_words(label):
        lines[piece.line] = max(lines.get(piece.line, 0), piece.ink.right())
    assert len(lines) > 2
    assert max(lines.values()) - min(lines.values()) < label.fontMetrics().horizontalAdvance(" ") / 2


def test_hidden_columns_leave_no_gap(shown):
    view = CellView("List", CellTable(tuple("ABCD")), (0, 144, 96, 116), stretch=0, droppable=(2, 1))
    window = shown(view)
    header = view.horizontalHeader()
    for width in (640, 250, 640, 400, 250):
        window.resize(width, 300)
        QTest.qWait(0)
        assert header.length() == sum(view.columnWidth(column) for column in range(header.count())), width
    assert view.isColumnHidden(2)
