"""The table of cells: rows come, go and move without losing the place."""

from dataclasses import dataclass

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from vbdesk.desk.models.cell_table import CellTable
from vbdesk.desk.models.cells import Words
from vbdesk.desk.widgets.cell_view import CellView


@dataclass(frozen=True)
class Line:
    key: str
    words: str = ""

    @property
    def cells(self):
        return (Words(self.key), Words(self.words))


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
    """Counts what the view asks for."""

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
