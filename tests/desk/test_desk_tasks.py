"""Background work: results arrive on the GUI thread, and closing never hangs."""

import threading
import time

import pytest
from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication

from patience import HANGS_S, until
from vbdesk.client.errors import ConnectionFailed, Unauthorized
from vbdesk.desk.flow.tasks import Failure, LongLived, Remedy, SerialTasks, TaskCancelled, TaskOwner
from vbdesk.outbox.diagnostics.log_file import PlainFormatter


class Receiver(QObject):
    """Records received values and their thread."""

    def __init__(self):
        super().__init__()
        self.results, self.failures, self.steps, self.threads = [], [], [], []

    @Slot(object)
    def done(self, result):
        self.results.append(result)
        self.threads.append(threading.current_thread())

    @Slot(object)
    def failed(self, failure):
        self.failures.append(failure)

    @Slot(object)
    def progressed(self, progress):
        self.steps.append(progress)


@pytest.fixture
def receiver(qapp):
    return Receiver()


def test_a_result_arrives_on_the_windows_thread(qtbot, tasks, receiver):
    tasks.start(lambda context: threading.current_thread().name, receiver.done, name="elsewhere")
    qtbot.waitUntil(lambda: bool(receiver.results))
    assert receiver.results == ["elsewhere"]
    assert receiver.threads == [threading.main_thread()]


def test_an_error_of_ours_speaks_for_itself(qtbot, tasks, receiver):
    def fail(context):
        raise Unauthorized

    tasks.start(fail, receiver.done, receiver.failed)
    qtbot.waitUntil(lambda: bool(receiver.failures))
    assert receiver.failures[0].remedy is Remedy.NEEDS_ATTENTION
    assert receiver.failures[0].sentence == str(Unauthorized())
    assert not receiver.results


def test_errors_say_whether_trying_again_helps():
    assert Failure.of(ConnectionFailed(maybe_delivered=False)).remedy is Remedy.RETRYABLE
    assert Failure.of(OSError(28, "No space left on device")).remedy is Remedy.RETRYABLE
    assert Failure.of(OSError(28, "No space left on device")).sentence == "The disk is full. Make room, then try again."
    assert Failure.of(KeyError("x")).remedy is Remedy.TERMINAL
    assert "KeyError" in Failure.of(KeyError("secret")).sentence
    assert "secret" not in Failure.of(KeyError("secret")).sentence


def test_only_what_nobody_expected_is_logged_with_its_place_and_without_its_words(caplog):
    for error in (OSError(28, "No space left on device"), ConnectionFailed(maybe_delivered=False)):
        Failure.of(error)
    assert caplog.records == []
    try:
        {}["secret"]
    except KeyError as error:
        Failure.of(error)
    line = PlainFormatter().format(caplog.records[0])
    assert "A task failed unexpectedly [KeyError test_desk_tasks.py:" in line
    assert "secret" not in line


def test_progress_arrives_at_most_ten_times_a_second_and_the_last_always(qtbot, tasks, receiver):
    def work(context):
        for step in range(1, 101):
            context.progress(step, 100)
            time.sleep(0.003)

    begun = time.monotonic()
    tasks.start(work, receiver.done, progressed=receiver.progressed)
    qtbot.waitUntil(lambda: bool(receiver.results))
    assert receiver.steps[-1].done == 100
    assert len(receiver.steps) <= 10 * (time.monotonic() - begun) + 2  # the first and the last are reported immediately


class Watcher(QObject):
    """Lets the window react while a result is shown."""

    def __init__(self):
        super().__init__()
        self.seen = []

    @Slot(object)
    def done(self, result):
        self.sender().join()
        QApplication.processEvents()
        self.seen.append(result)

    @Slot()
    def finished(self):
        self.seen.append("finished")


def test_nothing_happens_between_a_result_and_the_end_of_its_task(qtbot, tasks):
    watcher = Watcher()
    tasks.start(lambda context: "result", watcher.done, watcher.done, finished=watcher.finished)
    qtbot.waitUntil(lambda: len(watcher.seen) == 2)
    assert watcher.seen == ["result", "finished"]


def test_a_cancelled_task_says_nothing(qtbot, tasks, receiver):
    seen = threading.Event()

    def work(context):
        while not context.cancelled:
            seen.wait(0.005)
        context.check()

    task = tasks.start(work, receiver.done, receiver.failed)
    with qtbot.waitSignal(task.finished):
        task.cancel()
    assert not receiver.results
    assert not receiver.failures


def test_a_cancelled_task_leaves_at_its_next_look():
    with pytest.raises(TaskCancelled):
        raise TaskCancelled


def test_a_plain_function_is_refused_as_receiver(tasks):
    with pytest.raises(TypeError, match="slots of QObjects"):
        tasks.start(lambda context: None, print)


def test_closing_waits_for_what_runs(qtbot, receiver):
    owner = TaskOwner()
    ended = []

    def work(context):
        until(lambda: context.cancelled)
        ended.append(True)

    owner.start(work)
    with qtbot.waitSignal(owner.all_ended):
        owner.close()
    assert ended


def test_closing_does_not_wait_for_ever(qtbot, receiver):
    owner = TaskOwner()
    answered = threading.Event()
    owner.start(lambda context: answered.wait(HANGS_S), receiver.done)
    with qtbot.waitSignal(owner.all_ended):
        owner.close(timeout_s=0.2)
    assert owner.busy
    answered.set()
    qtbot.waitUntil(lambda: not owner.busy)
    assert not receiver.results


def test_a_long_lived_thread_is_woken_to_stop(qtbot):
    wake = threading.Event()

    def run(stop):
        while not stop.is_set():
            wake.wait(HANGS_S)

    thread = LongLived(run, wake.set, "courier")
    thread.start()
    assert thread.alive()
    thread.ask_to_stop()
    qtbot.waitUntil(lambda: not thread.alive())


def test_a_lane_runs_one_thing_after_the_other(qtbot, tasks, receiver):
    serial = SerialTasks(tasks)
    order = []

    def step(name, seconds):
        def work(context):
            order.append(f"{name} begins")
            time.sleep(seconds)
            order.append(f"{name} ends")
            return name

        return work

    serial.run(step("slow", 0.05), receiver.done)
    serial.run(step("quick", 0.0), receiver.done)
    qtbot.waitUntil(lambda: len(receiver.results) == 2 and not serial.busy)
    assert order == ["slow begins", "slow ends", "quick begins", "quick ends"]
