"""The cost of one change, counted in rows, statements and paints, for any length of list."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from counted_calls import calls_of
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication

from vbdesk.desk.outbox.reads import OutboxRead
from vbdesk.outbox.library.states import OutboxState


@pytest.fixture
def settled(workspace, qtbot):
    """Wait until nothing runs and everything is painted."""

    def wait():
        qtbot.waitUntil(lambda: not workspace.tasks.busy and not workspace._gather.isActive())
        qtbot.settle()
        assert not workspace.tasks.busy

    return wait


class Paints(QObject):
    """Records the area of each paint of a widget and its children."""

    def __init__(self, widget):
        super().__init__()
        self.heights = []
        self._widget = widget
        QApplication.instance().installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() is QEvent.Type.Paint and (watched is self._widget or self._widget.isAncestorOf(watched)):
            self.heights.append(event.region().boundingRect().height())
        return False

    def stop(self):
        QApplication.instance().removeEventFilter(self)
        return self.heights


def test_reading_one_change_costs_a_long_list_what_it_costs_a_short_one(shelf, open_outbox, workspace, settled):
    changing = shelf.put("ward4-0000", OutboxState.DONE)
    page = open_outbox(1)
    context = workspace.flow.context
    before = None

    def cost():
        nonlocal before
        settled()
        with ThreadPoolExecutor(1) as worker:
            before = worker.submit(OutboxRead().here, context, before, None).result()
            with workspace.library.store.changing():
                workspace.library.store.update(changing, {"job_id": "job"})
            found = worker.submit(calls_of, lambda: OutboxRead().here(context, before, None)).result()
        settled()
        return found

    cost()
    short = cost()
    for number in range(60):
        shelf.put(f"ward4-{number:04d}", OutboxState.DONE)
    assert cost() <= 2 * short
    assert page.view_model.table.rowCount() == 61


def test_a_change_is_one_row_and_few_statements(shelf, open_outbox, workspace, settled, gui_guard):
    guard, _ = gui_guard
    takes = [shelf.put(f"ward4-{number:04d}", OutboxState.DONE) for number in range(40)]
    page = open_outbox(40)
    settled()
    told = []
    table = page.view_model.table
    table.dataChanged.connect(lambda first, last, roles: told.append(last.row() - first.row() + 1))
    table.modelReset.connect(lambda: told.append("all"))
    before = guard.statements
    with workspace.library.store.changing():
        workspace.library.store.update(takes[20], {"group_id": "ward4-9999"})
    settled()
    assert table.row(table.index_of(takes[20])).item.group_id == "ward4-9999"
    assert set(told) == {1}
    assert guard.statements - before <= 40


def test_a_page_at_rest_paints_nothing(shelf, open_outbox, settled, qtbot):
    for number in range(5):
        shelf.put(f"ward4-{number:04d}", OutboxState.DONE)
    page = open_outbox(5)
    settled()

    def rests():
        paints = Paints(page)
        qtbot.wait(500)
        return not paints.stop()

    qtbot.waitUntil(rests)  # what fades or moves has come to its end, and then nothing is painted


def test_progress_of_an_upload_paints_its_row_and_no_other(shelf, open_outbox, workspace, settled, qtbot):
    moving = shelf.put("ward4-0000", OutboxState.UPLOADING, sent=(100_000, 3_200_000))
    for number in range(20):
        shelf.put(f"ward4-1{number:03d}", OutboxState.DONE)
    page = open_outbox(21)
    settled()
    view = page.list
    sent = iter(range(200_000, 3_200_000, 1000))

    def paints_one_row():
        paints = Paints(view.viewport())
        workspace.library.store.report_progress(moving, next(sent), 3_200_000)
        settled()
        heights = paints.stop()
        return heights and max(heights) <= 2 * view.rowHeight(0)

    qtbot.waitUntil(paints_one_row)  # at midnight every row is painted once, since "Today" becomes "Yesterday"
    workspace.library.store.report_progress(moving, 900_000, 3_200_000)
    settled()
    assert page.view_model.table.index(0, 2).data(Qt.ItemDataRole.DisplayRole).startswith("0.9 of")
