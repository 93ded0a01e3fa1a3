"""What a recording that has taken its decoder over can reach from within the real child: nothing."""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sandbox_tasks as tasks
from worker_tasks import double, nothing_to_prepare

from patience import HANGS_S
from vbdesk.service.engine import sandbox
from vbdesk.service.engine.sandbox import Offered, offered
from vbdesk.service.engine.slot import ChildCrashed, Slot, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.health.host_checks import check_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox for an ordinary process")

needs_landlock = pytest.mark.skipif(not offered().landlock, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not offered().seccomp, reason="this kernel filters no system calls")

SECRET = "VBDESK_TEST_SECRET"
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like that of the service's data."""
    (tmp_path / "other.wav").write_bytes(b"somebody else's voice")
    return tmp_path


@pytest.fixture
def slot() -> Iterator[Slot]:
    slot = Slot(nothing_to_prepare)
    slot.wait_ready()
    yield slot
    slot.close()


def kind_of_failure(slot: Slot, task: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TaskFailed) as failure:
        slot.run(task, *args, timeout_s=HANGS_S)
    return failure.value.kind


@needs_landlock
@pytest.mark.parametrize("task", [tasks.read_file, tasks.append_to_file, tasks.delete_file, tasks.rename_file])
def test_a_child_reaches_no_file_of_the_service(slot: Slot, folder: Path, task: Callable[[Path], Any]) -> None:
    assert kind_of_failure(slot, task, folder / "other.wav") == "PermissionError"
    assert (folder / "other.wav").read_bytes() == b"somebody else's voice"


@needs_landlock
@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/etc/hostname"])
def test_a_child_reads_nothing_of_the_computer(slot: Slot, path: str) -> None:
    assert kind_of_failure(slot, tasks.read_file, Path(path)) == "PermissionError"


@needs_landlock
def test_a_child_lists_no_folder_and_makes_nothing_there(slot: Slot, folder: Path) -> None:
    for task in (tasks.list_folder, tasks.make_folder):
        assert kind_of_failure(slot, task, folder) == "PermissionError"
    assert kind_of_failure(slot, tasks.write_file, folder / "new.wav") == "PermissionError"
    assert [path.name for path in folder.iterdir()] == ["other.wav"]


@needs_landlock
def test_a_thread_of_a_child_is_in_the_sandbox_too(slot: Slot, folder: Path) -> None:
    assert slot.run(tasks.run_a_thread, timeout_s=HANGS_S) == 42
    assert slot.run(tasks.read_file_in_a_thread, folder / "other.wav", timeout_s=HANGS_S) == -1


@needs_landlock
def test_a_child_does_not_read_the_current_directory_though_python_searches_it(folder: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(SUPPORT)!r}); sys.path.insert(0, {str(folder)!r})\n"
        "import sandbox_tasks, worker_tasks\n"
        "from pathlib import Path\n"
        "from vbdesk.service.engine.slot import Slot, TaskFailed\n"
        "slot = Slot(worker_tasks.nothing_to_prepare)\n"
        "try:\n"
        "    slot.run(sandbox_tasks.read_file, Path('other.wav'), timeout_s=60)\n"
        "except TaskFailed as failure:\n"
        "    print(failure.kind)\n"
        "slot.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "PermissionError\n", done.stderr


@needs_seccomp
def test_a_child_changes_no_mode(slot: Slot, folder: Path) -> None:
    """Landlock alone would let it."""
    before = (folder / "other.wav").stat().st_mode
    assert kind_of_failure(slot, tasks.change_mode, folder / "other.wav") == "PermissionError"
    assert (folder / "other.wav").stat().st_mode == before


@needs_seccomp
def test_a_child_reaches_no_network(slot: Slot, tmp_path_factory: pytest.TempPathFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        tcp.setblocking(False)
        assert kind_of_failure(slot, tasks.connect_over_tcp, tcp.getsockname()[1]) == "PermissionError"
        assert kind_of_failure(slot, tasks.send_over_udp, udp.getsockname()[1]) == "PermissionError"
        with pytest.raises(BlockingIOError):
            tcp.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(10)
    name = "\0vbdesk-test"  # an abstract name, which lies in no folder
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(name)
        local.listen()
        assert kind_of_failure(slot, tasks.connect_to_a_unix_socket, name) == "PermissionError"
    assert kind_of_failure(slot, tasks.listen_for_others) == "PermissionError"


@needs_seccomp
@pytest.mark.parametrize("task", [tasks.run_a_program, tasks.become_a_program, tasks.fork])
def test_a_child_starts_no_program(slot: Slot, task: Callable[[], Any]) -> None:
    assert kind_of_failure(slot, task) == "PermissionError"


@needs_seccomp
@pytest.mark.parametrize("task", [tasks.signal_a_process, tasks.signal_a_thread_of])
def test_a_child_signals_nobody(slot: Slot, task: Callable[[int], None]) -> None:
    assert kind_of_failure(slot, task, os.getpid()) == "PermissionError"


@needs_seccomp
def test_a_child_gets_no_ring_by_which_the_filter_could_be_passed(slot: Slot) -> None:
    assert kind_of_failure(slot, tasks.make_an_io_ring) == "OSError"


def test_a_child_has_no_variables_and_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n"
        "import sandbox_tasks, worker_tasks\n"
        "from pathlib import Path\n"
        "from vbdesk.service.engine.slot import Slot\n"
        "slot = Slot(worker_tasks.nothing_to_prepare)\n"
        "print(slot.run(sandbox_tasks.environment_variables, timeout_s=60))\n"
        f"print(slot.run(sandbox_tasks.environment_variable_of_libc, {SECRET!r}, timeout_s=60))\n"
        "pid = slot.run(worker_tasks.own_pid, timeout_s=60)\n"
        "print(Path(f'/proc/{pid}/environ').read_bytes().strip(b'\\0'))\n"
        "slot.close()\n"
    )
    monkeypatch.setenv(SECRET, "hush")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[]", "False", "b''"], done.stderr


def test_a_child_can_gain_no_rights(slot: Slot) -> None:
    pid = slot.run(tasks.environment_variables, timeout_s=HANGS_S) or slot._child.process.pid  # type: ignore[union-attr]
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    assert "NoNewPrivs:\t1" in lines
    assert ("Seccomp:\t2" in lines) is offered().seccomp


def test_a_child_inherits_nothing_but_its_pipe(slot: Slot) -> None:
    assert slot.run(tasks.open_descriptors, timeout_s=HANGS_S) == ["socket"]


def test_a_recording_comes_as_an_open_descriptor_and_is_gone_afterwards(slot: Slot, folder: Path) -> None:
    for _ in range(3):
        answer = slot.run(tasks.read_recording, 1, timeout_s=HANGS_S, recording=folder / "other.wav")
        assert answer == (21, True)
    assert slot.run(tasks.open_descriptors, timeout_s=HANGS_S) == ["socket"]


def test_a_recording_that_is_not_there_fails_the_task(slot: Slot, folder: Path) -> None:
    with pytest.raises(TaskFailed, match="FileNotFoundError"):
        slot.run(tasks.read_recording, 1, timeout_s=HANGS_S, recording=folder / "gone.wav")


@needs_landlock
def test_what_a_task_needs_it_may_read_and_no_more(folder: Path) -> None:
    (folder / "signs").mkdir()
    (folder / "signs" / "own.toml").write_text("name")
    slot = Slot(nothing_to_prepare, readable=[folder / "signs", folder / "absent"])
    try:
        assert slot.run(tasks.read_file, folder / "signs" / "own.toml", timeout_s=HANGS_S) == 4
        assert slot.run(tasks.list_folder, folder / "signs", timeout_s=HANGS_S) == ["own.toml"]
        assert kind_of_failure(slot, tasks.read_file, folder / "signs" / ".." / "other.wav") == "PermissionError"
        assert kind_of_failure(slot, tasks.write_file, folder / "signs" / "own.toml") == "PermissionError"
    finally:
        slot.close()


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return open, (str(self._path), "w")


def test_a_pickle_that_a_child_sends_is_not_opened(slot: Slot, tmp_path: Path) -> None:
    pickled = pickle.dumps((True, Bomb(tmp_path / "ran")))
    with pytest.raises(ChildCrashed):
        slot.run(tasks.say_pickle, pickled, timeout_s=HANGS_S)
    assert not (tmp_path / "ran").exists()
    assert slot.run(double, 2, timeout_s=HANGS_S) == 4


@pytest.mark.parametrize(
    "task",
    [
        tasks.say_half_an_answer,
        tasks.say_more_than_fits,
        tasks.say_text_for_a_number,
        tasks.say_nonsense,
        tasks.say_a_failure_of_two_lines,
    ],
)
def test_a_child_that_answers_what_it_may_not_is_replaced(slot: Slot, task: Callable[[], Any]) -> None:
    with pytest.raises((ChildCrashed, TaskTimedOut)):
        slot.run(task, timeout_s=HANGS_S)
    assert slot.run(double, 2, timeout_s=HANGS_S) == 4


IN_PART = """
import os, socket, sys
from pathlib import Path
from vbdesk.service.engine import sandbox
sandbox.offered = lambda: sandbox.Offered({landlock}, seccomp={seccomp})
sandbox.enter([])
def possible(attempt):
    try:
        attempt()
    except PermissionError:
        return False
    return True
path = Path(sys.argv[1])
print([possible(path.read_bytes), possible(lambda: path.write_bytes(b"new")), possible(socket.socket)])
"""


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize(
    ("landlock", "seccomp", "reads_writes_connects"),
    [
        (0, True, [True, False, False]),
        (1, False, [False, False, True]),
        (offered().landlock, True, [False, False, False]),
        (0, False, [True, True, True]),
    ],
)
def test_each_part_holds_without_the_other(
    folder: Path, landlock: int, seccomp: bool, reads_writes_connects: list[bool]
) -> None:
    script = IN_PART.format(landlock=landlock, seccomp=seccomp)
    command = [sys.executable, "-c", script, str(folder / "other.wav")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(reads_writes_connects), done.stderr


@pytest.mark.parametrize(
    ("has", "words"),
    [
        (Offered(7, seccomp=True), "kept from files, the network and other programs"),
        (Offered(0, seccomp=True), "they can read files"),
        (Offered(7, seccomp=False), "not from the network"),
        (Offered(0, seccomp=False), "offers no sandbox"),
    ],
)
def test_doctor_and_log_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, has: Offered, words: str
) -> None:
    monkeypatch.setattr(sandbox, "offered", lambda: has)
    monkeypatch.setattr("vbdesk.service.health.host_checks.offered", lambda: has)
    sandbox.warn_once.cache_clear()
    for _ in range(2):
        SlotPool(0, nothing_to_prepare)
    assert words in check_sandbox().sentence
    assert [words in record.message for record in caplog.records] == ([] if has.complete else [True])
    sandbox.warn_once.cache_clear()
