"""The table of cells: rows change without losing selection and scroll position."""

from dataclasses import dataclass

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.cells import LabelCell


@dataclass(frozen=True)
class Line:
    key: str
    words: str = ""

    @property
    def cells(self):
        return (LabelCell(self.key), LabelCell(self.words))


@pytest.fixture
def table(qapp):
    made = CellTable(("Name", "Words"))
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
    yield made
    tester.deleteLater()
    made.deleteLater()


def keys(table):
    return [row.key for row in table.rows()]


def test_rows_come_go_and_move(table):
    table.show([Line("a"), Line("b"), Line("c")])
    table.show([Line("c"), Line("d"), Line("a", "changed")])
    assert keys(table) == ["c", "d", "a"]
    assert table.data(table.index(2, 1)) == "changed"


def test_the_selected_row_stays_selected_when_it_moves(table, qtbot):
    view = CellView("Lines", table, (100, 100), stretch=1)
    qtbot.addWidget(view)
    table.show([Line("a"), Line("b"), Line("c")])
    view.select_key("b")
    table.show([Line("c"), Line("new"), Line("a"), Line("b", "further down")])
    assert view.current_key() == "b"


def test_a_change_of_one_row_is_told_for_that_row_alone(table, qtbot):
    table.show([Line("a"), Line("b"), Line("c")])
    with qtbot.waitSignal(table.dataChanged) as told:
        table.show([Line("a"), Line("b", "other"), Line("c")])
    first, last = told.args[:2]
    assert (first.row(), last.row()) == (1, 1)


def test_a_screen_reader_hears_the_column_and_the_words(table):
    table.show([Line("a", "done")])
    assert table.data(table.index(0, 1), Qt.ItemDataRole.AccessibleTextRole) == "Words: done"


class CountingTable(CellTable):
    """Counts the reads of the view."""

    asked = 0

    def data(self, index, role=Qt.ItemDataRole.DisplayRole):
        self.asked += 1
        return super().data(index, role)


def test_of_ten_thousand_rows_only_those_on_the_screen_are_asked_for(qtbot):
    table = CountingTable(("Name", "Words"))
    view = CellView("Lines", table, (100, 100), stretch=1)
    qtbot.addWidget(view)
    view.resize(800, 600)
    rows = [Line(f"ward4-{number:05d}") for number in range(10_000)]
    table.show(rows)
    view.show()
    view.grab()
    table.asked = 0
    table.show([*rows[:-1], Line(rows[-1].key, "changed")])
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    view.grab()
    assert 0 < table.asked < 1000


def test_content_is_exchanged_in_its_place_and_told_in_runs(table):
    table.show([Line(key) for key in "abcdef"])
    told = []
    table.dataChanged.connect(lambda first, last: told.append((first.row(), last.row())))
    table.exchange([Line("e", "new"), Line("b", "new"), Line("c", "new"), Line("gone")])
    assert [row.words for row in table.rows()] == ["", "new", "new", "", "new", ""]
    assert told == [(1, 2), (4, 4)]


@pytest.fixture
def choosing(table, qtbot):
    """A view with checked rows."""
    view = CellView("Lines", table, (140, 100), stretch=1, choosable=True)
    qtbot.addWidget(view)
    view.resize(500, 400)
    view.show()
    table.show([Line(key) for key in "abcdef"])
    return view


def on_tick(view, place):
    return view.tick_rect(view.visualRect(view.model().index(place, 0)).toRectF()).center().toPoint()


def test_ticking_boxes_chooses_rows_and_opens_none(choosing, qtbot):
    opened = []
    choosing.opened.connect(opened.append)
    for place in (3, 1, 4, 3):
        qtbot.mouseClick(choosing.viewport(), Qt.MouseButton.LeftButton, pos=on_tick(choosing, place))
    assert choosing.chosen_keys() == ["b", "e"]
    assert opened == []


def test_rows_are_chosen_by_keyboard_alone(choosing, qtbot):
    choosing.setFocus()
    choosing.select_key("b")
    qtbot.keyClick(choosing, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert choosing.chosen_keys() == ["b", "c"]
    qtbot.keyClick(choosing, Qt.Key.Key_Shift)  # a keyboard sends it as a key of its own
    qtbot.keyClick(choosing, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert choosing.chosen_keys() == ["b", "c", "d"]
    qtbot.keyClick(choosing, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(choosing, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(choosing, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert choosing.chosen_keys() == ["a", "b"]
    qtbot.keyClick(choosing, Qt.Key.Key_End)
    qtbot.keyClick(choosing, Qt.Key.Key_Home)
    qtbot.keyClick(choosing, Qt.Key.Key_End, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(choosing, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert choosing.chosen_keys() == list("abcdef")
    with qtbot.waitSignal(choosing.delete_wanted):
        qtbot.keyClick(choosing, Qt.Key.Key_Delete)
    qtbot.keyClick(choosing, Qt.Key.Key_Escape)
    assert choosing.chosen_keys() == []


def test_opening_a_row_or_moving_to_it_chooses_nothing(choosing, qtbot):
    opened = []
    choosing.opened.connect(opened.append)
    middle = choosing.visualRect(choosing.model().index(2, 1)).center()
    qtbot.mouseClick(choosing.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    qtbot.keyClick(choosing, Qt.Key.Key_Down)
    qtbot.keyClick(choosing, Qt.Key.Key_Return)
    choosing.select_key("f")
    assert opened == ["c", "d"]
    assert choosing.chosen_keys() == []
    qtbot.mouseClick(choosing.viewport(), Qt.MouseButton.LeftButton, pos=on_tick(choosing, 0))
    qtbot.mouseClick(choosing.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert choosing.chosen_keys() == ["a"]  # what was ticked stays so


def test_the_row_of_the_keyboard_is_framed(choosing, qtbot):
    choosing.setFocus()
    choosing.select_key("b")
    before = choosing.viewport().grab().toImage()
    choosing.select_key("c")
    after = choosing.viewport().grab().toImage()
    changed = {y for y in range(before.height()) if before.pixel(60, y) != after.pixel(60, y)}
    b, c = (choosing.visualRect(choosing.model().index(place, 0)) for place in (1, 2))
    assert changed & set(range(b.top(), b.bottom() + 1)) and changed & set(range(c.top(), c.bottom() + 1))
    assert changed <= set(range(b.top(), c.bottom() + 1))


def test_delete_without_a_ticked_row_means_the_row_of_the_keyboard(choosing, qtbot):
    choosing.setFocus()
    choosing.select_key("c")
    with qtbot.waitSignal(choosing.delete_wanted):
        qtbot.keyClick(choosing, Qt.Key.Key_Delete)
    assert choosing.chosen_keys() == ["c"]


def test_chosen_rows_stay_chosen_while_the_list_changes(choosing, table, qtbot):
    choosing.selectAll()
    qtbot.mouseClick(choosing.viewport(), Qt.MouseButton.LeftButton, pos=on_tick(choosing, 0))
    table.show([Line("f"), Line("new"), Line("b", "other"), Line("a")])
    assert sorted(choosing.chosen_keys()) == ["b", "f"]


def test_rows_that_go_in_very_many_places_go_at_once(table):
    table.show([Line(str(number)) for number in range(1000)])
    removed, resets = [], []
    table.rowsRemoved.connect(lambda *where: removed.append(where))
    table.modelReset.connect(lambda: resets.append(1))
    table.show([Line(str(number)) for number in range(0, 1000, 2)])
    assert (len(removed), len(resets), table.rowCount()) == (0, 1, 500)
