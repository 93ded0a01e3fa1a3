"""The calls from a click to the first statement that writes: so short that a reader can follow them."""

import sys
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel

import vbdesk
from vbdesk.desk.flow.tasks import Task
from vbdesk.outbox.library.encrypted_sqlite import Connection
from vbdesk.outbox.library.states import OutboxState

BEGINNING = {
    "desk/flow/commands.py:Commands._start_next",
    "desk/flow/commands.py:CommandRun.start",
    "desk/flow/tasks.py:TaskOwner.start",
    "desk/flow/tasks.py:Task._run",
}
PRODUCT = str(Path(vbdesk.__file__).parent)


def calls(monkeypatch, statement):
    """Record the product's calls on the stack at the start of each task, and where `statement` is run."""
    found = {"click": [], "worker": []}

    def stack():
        frame, names = sys._getframe(2), []
        while frame is not None:
            if frame.f_code.co_filename.startswith(PRODUCT):
                file = Path(frame.f_code.co_filename).relative_to(PRODUCT).as_posix()
                names.append(f"{file}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        return names[::-1]

    start, execute = Task.start, Connection.execute

    def started(task):
        found["click"] = stack()
        return start(task)

    def executed(connection, text, values=()):
        if text.startswith(statement) and not found["worker"]:
            found["worker"] = stack()
        return execute(connection, text, values)

    monkeypatch.setattr(Task, "start", started)
    monkeypatch.setattr(Connection, "execute", executed)
    return found


def own(found):
    """The calls without those that begin any command."""
    return [name for name in (*found["click"], *found["worker"]) if name not in BEGINNING]


def tick(page, take_id):
    flags = QItemSelectionModel.SelectionFlag
    index = page.view_model.table.index(page.view_model.table.index_of(take_id), 0)
    page.list.selectionModel().select(index, flags.Select | flags.Rows)


def test_send(shelf, open_outbox, workspace, qtbot, monkeypatch):
    take_id = shelf.put("a", OutboxState.CHECKED)
    page = open_outbox(1)
    tick(page, take_id)
    found = calls(monkeypatch, "INSERT INTO main.pending")
    page.bar.button("send").click()
    qtbot.waitUntil(lambda: workspace.library.get(take_id).state is OutboxState.WAITING)
    assert own(found) == [
        "desk/outbox/page.py:OutboxPage._perform",
        "desk/outbox/actions.py:OutboxActions.do",
        "desk/flow/commands.py:Commands.do",
        "desk/flow/commands.py:CommandRun._work",
        "desk/outbox/commands.py:ChangeEach.do",
        "outbox/library/library.py:Library.queue",
        "outbox/library/store.py:Store.add_event",
    ]


def test_correct(course, workspace, open_outbox, qtbot, monkeypatch):
    page, take_id = open_outbox(8), course[0]
    page.list.choose_keys([take_id])
    qtbot.waitUntil(page.bar.button("correct").isVisible)
    page.bar.button("correct").click()
    card = page.correction_card
    qtbot.waitUntil(card.isVisible)
    card.choice.choose("exclude")
    card.reason.setCurrentIndex(0)
    found = calls(monkeypatch, "UPDATE main.recordings")
    card.go.click()
    qtbot.waitUntil(lambda: workspace.library.get(take_id).excluded)
    assert own(found) == [
        "desk/ui/correction_card.py:CorrectionCard._go",
        "desk/results/correction_actions.py:CorrectionActions.do",
        "desk/flow/screen.py:Screen.do",
        "desk/flow/commands.py:Commands.do",
        "desk/flow/commands.py:CommandRun._work",
        "desk/results/correction_actions.py:Exclude.do",
        "outbox/library/corrections.py:Corrections.exclude",
        "outbox/library/store.py:Store.store_details",
        "outbox/library/store.py:Store.update",
        "outbox/library/store.py:Store._write",
    ]
