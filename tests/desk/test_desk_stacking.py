"""Rows that stack, stacks that fill, margins that mirror."""

import pytest
from PySide6.QtCore import QMargins, QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QListWidget, QPushButton, QVBoxLayout, QWidget

from vbdesk.desk.record.name_pattern_card import NamePatternCard
from vbdesk.desk.ui.action_bar import ActionBar
from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.fields import Field, LineField
from vbdesk.desk.ui.flow_layout import FillingStack, StackingRow
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Scheme, Theme

SENTENCE = "Tick recordings to send, hand over or delete several at once, or take in recordings of another computer."


@pytest.fixture
def shown(qtbot):
    kept = []

    def show(*parts, width=800, height=400):
        window = QWidget()
        kept.append(window)
        column = QVBoxLayout(window)
        for part in parts:
            column.addWidget(part)
        window.resize(width, height)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        return window

    yield show
    kept.clear()


def part(width):
    made = QWidget()
    made.setMinimumWidth(width)
    return made


def test_margins_are_mirrored_from_right_to_left(qapp):
    assert margins(20, 6, 12, 8) == QMargins(20, 6, 12, 8)
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        assert margins(20, 6, 12, 8) == QMargins(12, 6, 20, 8)
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@pytest.mark.parametrize(
    ("widths", "shares", "one_line"),
    [((100, 100), (), 216), ((100, 200), (), 416), ((100, 100), (1, 3), 416), ((50, 300), (1, 2), 466)],
)
def test_a_row_needs_the_width_in_which_every_share_is_wide_enough(widths, shares, one_line):
    row = StackingRow([part(width) for width in widths], least=0, shares=shares)
    assert row.sizeHint().width() == one_line


def test_a_row_within_a_row_counts_with_its_whole_line(shown, qtbot):
    inner = StackingRow([part(200), part(200)], least=0, spacing=0)
    outer = StackingRow([inner, part(100)], least=0, spacing=0, shares=(1, 0), whole=True)
    window = shown(outer, width=640)
    qtbot.waitUntil(lambda: not outer.is_stacked())
    window.resize(450, 400)
    qtbot.waitUntil(outer.is_stacked)
    qtbot.waitUntil(lambda: not inner.is_stacked())


def test_a_row_stacks_when_a_part_gets_longer_words(shown, qtbot):
    words = QLabel("short")
    row = StackingRow([words, QPushButton("Go")], least=0, shares=(1, 0), whole=True)
    shown(row, width=400)
    assert not row.is_stacked()
    words.setText("much " * 30)
    qtbot.waitUntil(row.is_stacked)


def test_a_stack_leaves_the_bar_below_a_list_the_lines_of_its_sentence(shown, qtbot):
    Theme(Scheme.LIGHT, 2.0).install()
    bar = ActionBar([("a", "Hand over recordings", "send"), ("b", "Take in recordings", "import")], print)
    bar.show_actions(SENTENCE, {"a": "Hand over", "b": "Take in"})
    rows = QListWidget()
    rows.setMinimumHeight(200)
    page = QWidget()
    column = QVBoxLayout(page)
    column.addWidget(rows, 1)
    column.addWidget(bar)
    stack = FillingStack()
    stack.addWidget(page)
    content = QWidget()
    whole = QVBoxLayout(content)
    whole.addWidget(Text(SENTENCE, wrap=True))
    whole.addWidget(stack, 1)
    area = scroll_area(content)
    shown(area, width=500, height=300)
    qtbot.waitUntil(lambda: bar.height() >= bar.heightForWidth(bar.width()))
    for key in ("a", "b"):
        button = bar.button(key)
        assert button.mapTo(content, button.rect().bottomLeft()).y() < content.height()
    assert area.verticalScrollBar().maximum() > 0


class Names(QObject):
    """What the card of names needs of its model."""

    listed, changed, pattern_found = Signal(), Signal(), Signal(object, str)
    zones, can_undo = ("",), True

    def preview_pattern(self, pattern):
        pass

    def undo(self):
        pass


def test_the_card_of_names_has_room_for_what_it_found_at_every_width(shown, qtbot):
    card = NamePatternCard(Names())
    window = shown(card, QListWidget(), width=1000)
    card.found.setText(SENTENCE)
    for width in (1000, 500, 1000, 640, 900):
        window.resize(width, 400)
        qtbot.waitUntil(lambda: card.found.geometry().bottom() < card.height())
        qtbot.waitUntil(lambda: all(label.isVisible() is not card._parts.is_stacked() for label in card._labels))


def test_a_field_asks_for_the_longest_word_of_its_label():
    field = Field("Mikrofonübersteuerungswahrscheinlichkeit", LineField(), optional=True)
    assert field.minimumSizeHint().width() > field._label.fontMetrics().horizontalAdvance(field._label.text())
