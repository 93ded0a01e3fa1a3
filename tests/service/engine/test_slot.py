"""A slot ends what must end, survives what dies, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patience import HANGS_S, until
from vbdesk.service.engine.slot import IDLE_S, ChildCrashed, Slot, SlotClosed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_children import SpawnedChildren

FOLDER = str(Path(__file__).parents[1] / "support")

from worker_tasks import (  # noqa: E402
    core_file_limit,
    double,
    nothing_to_prepare,
    own_pid,
    refuse,
    segfault,
    size_of,
    sleep_natively_holding_the_interpreter,
    spin,
)


@pytest.fixture
def closing_slot() -> Iterator[Slot]:
    """A slot that the test itself closes."""
    slot = Slot(nothing_to_prepare, max_tasks=3)
    slot.wait_ready()
    yield slot


@pytest.fixture
def slot(closing_slot: Slot) -> Iterator[Slot]:
    yield closing_slot
    closing_slot.close()


def test_spawned_children_do_the_same_as_forked_ones(tmp_path: Path) -> None:
    """As on Windows and macOS."""
    recording = tmp_path / "take.wav"
    recording.write_bytes(bytes(70_000))
    slot = Slot(nothing_to_prepare, children=SpawnedChildren())
    try:
        assert slot.run(double, 21, timeout_s=HANGS_S) == 42
        first = slot.run(own_pid, timeout_s=HANGS_S)
        assert slot.run(size_of, timeout_s=HANGS_S, recording=recording) == 70_000
        with pytest.raises(TaskFailed, match="ValueError: bad audio"):
            slot.run(refuse, timeout_s=HANGS_S)
        with pytest.raises(TaskTimedOut):
            slot.run(spin, 3600, timeout_s=0.5)
        assert slot.run(own_pid, timeout_s=HANGS_S) != first
    finally:
        slot.close()
    with pytest.raises(SlotClosed):
        slot.run(double, 1, timeout_s=HANGS_S)


def test_a_task_gives_its_result(slot: Slot) -> None:
    assert slot.run(double, 21, timeout_s=HANGS_S) == 42


@pytest.mark.parametrize("task", [spin, sleep_natively_holding_the_interpreter])
def test_a_task_over_its_time_is_ended_even_in_native_code(slot: Slot, task: Callable[[int], None]) -> None:
    with pytest.raises(TaskTimedOut):
        slot.run(task, 3600, timeout_s=0.5)
    assert slot.run(double, 2, timeout_s=HANGS_S) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="the system bounds no processor time")
def test_every_task_has_processor_time_of_its_own(slot: Slot) -> None:
    for _ in range(3):
        slot.run(spin, 0.8, timeout_s=HANGS_S, processor_s=1)  # a child counts all of them together


def test_a_crash_is_told_apart_and_the_next_task_runs(slot: Slot) -> None:
    with pytest.raises(ChildCrashed) as crash:
        slot.run(segfault, timeout_s=HANGS_S)
    assert crash.value.exit_code == -signal.SIGSEGV
    assert slot.run(double, 2, timeout_s=HANGS_S) == 4


def test_an_exception_comes_back_with_its_kind(slot: Slot) -> None:
    with pytest.raises(TaskFailed, match="ValueError: bad audio"):
        slot.run(refuse, timeout_s=HANGS_S)


def test_an_old_child_is_replaced(slot: Slot) -> None:
    pids = {slot.run(own_pid, timeout_s=HANGS_S) for _ in range(4)}
    assert len(pids) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux alone")
def test_a_forked_child_that_was_idle_is_replaced() -> None:
    slot = Slot(nothing_to_prepare)
    try:
        first = slot.run(own_pid, timeout_s=HANGS_S)
        assert slot.run(own_pid, timeout_s=HANGS_S) == first
        slot._child.rests_since -= IDLE_S + 1
        assert slot.run(own_pid, timeout_s=HANGS_S) != first
    finally:
        slot.close()


def state_of(stat: Path) -> str | None:
    """State of a process; None if it is gone."""
    with suppress(OSError):
        return stat.read_text().split()[2]
    return None


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux alone")
def test_the_warm_process_may_die(slot: Slot) -> None:
    child = Path(f"/proc/{slot.run(own_pid, timeout_s=HANGS_S)}/stat")
    os.kill(int(child.read_text().split()[3]), signal.SIGKILL)
    until(lambda: state_of(child) in ("Z", None), "the child to die with it")
    with suppress(ChildCrashed):
        slot.run(double, 2, timeout_s=HANGS_S)
    assert slot.run(double, 2, timeout_s=HANGS_S) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows writes no core files")
def test_a_child_that_crashes_writes_no_core_file(slot: Slot) -> None:
    assert slot.run(core_file_limit, timeout_s=HANGS_S) == (0, 0)


def test_closing_ends_a_running_task(closing_slot: Slot) -> None:
    closer = threading.Timer(0.3, closing_slot.close)
    closer.start()
    with pytest.raises(SlotClosed):
        closing_slot.run(sleep_natively_holding_the_interpreter, 30, timeout_s=HANGS_S)
    closer.join()


def test_a_closed_slot_takes_no_task(closing_slot: Slot) -> None:
    closing_slot.close()
    with pytest.raises(SlotClosed):
        closing_slot.run(double, 1, timeout_s=1)


PARENT = """
import sys
sys.path.insert(0, {folder!r})
import worker_tasks
from vbdesk.service.engine.slot import Slot
if __name__ == "__main__":
    slot = Slot(worker_tasks.nothing_to_prepare)
    print(slot.run(worker_tasks.own_pid, timeout_s=600), flush=True)
    slot.run(worker_tasks.sleep_natively_holding_the_interpreter, 3600, timeout_s=3600)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="the kernel ties a child stuck in native code to its parent on Linux"
)
def test_a_killed_parent_leaves_no_child_behind(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(folder=FOLDER))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.kill()
    until(lambda: not _alive(child), "the child to end")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


IN_A_LONG_FOLDER = """
import worker_tasks
from vbdesk.service.engine.slot import Slot

slot = Slot(worker_tasks.nothing_to_prepare)
print(slot.run(worker_tasks.double, 21, timeout_s=60))
slot.close()
"""


def test_a_temporary_folder_of_a_long_name_does_not_keep_it_from_starting(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": FOLDER}
    done = subprocess.run(
        [sys.executable, "-c", IN_A_LONG_FOLDER], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "42\n", done.stderr
