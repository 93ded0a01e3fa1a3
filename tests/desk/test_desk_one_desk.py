"""A second start of vbdesk in a data folder: the first window opens the file, and the second says so and ends."""

import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtNetwork import QLocalSocket
from typer.testing import CliRunner

import vbdesk.cli.desk
from vbdesk.cli.main import app
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell import one_desk
from vbdesk.desk.shell.one_desk import AlreadyOpen, claimed
from vbdesk.outbox.profiles.profiles import Profile

FIRST = """
import sys
from pathlib import Path
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.app import run
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.profiles.vault import MemoryVault

folder = Path(sys.argv[1])
ports = DeskPorts(data_dir=folder, config_dir=folder, keyring=MemoryVault())

def begin(desk):
    come_forward = desk.come_forward
    desk.open_file = lambda path: print("opened", path, flush=True)
    print("ready", flush=True)

sys.exit(run(ports, Scheme.LIGHT, begin=begin))
"""


@pytest.fixture
def folder():
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="vbd-") as name:
        yield Path(name)


@pytest.fixture
def first(qapp, folder):
    """The claim of a desk that is open, and what it was asked."""
    with claimed(folder) as later_starts:
        later_starts.requests = []
        later_starts.asked.connect(later_starts.requests.append)
        yield later_starts


@pytest.fixture
def first_process(folder):
    """A desk in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", FIRST, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def second_start(folder, *file, language="en"):
    """Start `vbdesk desk` from a terminal; its exit status and what it says."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "vbdesk", "--language", language, "desk", "--data-dir", str(folder), *file]
    try:
        utf_8 = {"LC_ALL": "C.UTF-8"} if os.environ.get("LC_ALL") == "C" else {}  # or Qt speaks first
        process = subprocess.Popen(command, stderr=its, env=os.environ | utf_8)
        os.close(its)
        said = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the process has ended
                break
            said += piece
        return process.wait(), " ".join(said.decode().split())
    finally:
        os.close(ours)


def caller(qtbot, folder):
    """A connection to the open desk."""
    connection = QLocalSocket()
    connection.connectToServer(str(folder / "desk.socket"))
    qtbot.waitUntil(lambda: connection.state() is QLocalSocket.LocalSocketState.ConnectedState)
    return connection


def is_dropped(connection):
    return connection.state() is QLocalSocket.LocalSocketState.UnconnectedState


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_second_start_says_so_and_a_file_reaches_the_open_desk(first_process, folder):
    assert second_start(folder) == (1, f"vbdesk is already open with the recordings in {folder}.")
    assert second_start(folder, language="de") == (1, f"vbdesk ist bereits mit den Aufnahmen in {folder} geöffnet.")
    bundle = folder / "monday morning.vbundle"
    status, said = second_start(folder, str(bundle))
    assert (status, said) == (0, f"{bundle} is opened in the window of vbdesk that was open already.")
    assert first_process.stdout.readline() == f"opened {bundle}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of POSIX")
def test_a_crashed_desk_blocks_nothing(qtbot, first_process, folder):
    with pytest.raises(AlreadyOpen), claimed(folder):
        pass
    first_process.send_signal(signal.SIGKILL)
    first_process.wait()
    assert (folder / "desk.socket").exists()
    with claimed(folder):
        caller(qtbot, folder).abort()


def test_a_desk_that_does_not_answer_gets_no_file(qtbot, first, folder, monkeypatch):
    monkeypatch.setattr(one_desk, "_CALL_MS", 1)
    monkeypatch.setattr(one_desk, "_END_OF_OTHER_S", 0.0)
    with pytest.raises(AlreadyOpen) as refused, claimed(folder, folder / "monday.vbundle"):
        pytest.fail("two desks")  # the event loop of the first one does not run
    assert not refused.value.handed_over
    assert str(refused.value) == f"vbdesk is already open with the recordings in {folder}."


def test_a_desk_that_closes_is_waited_for(qtbot, folder, monkeypatch):
    with ExitStack() as closing:
        closing.enter_context(claimed(folder)).stop_listening()
        monkeypatch.setattr(one_desk, "_call", lambda address, file: closing.close())
        with claimed(folder, folder / "monday.vbundle"):
            caller(qtbot, folder).abort()


def test_a_folder_without_locks_and_sockets_opens_all_the_same(qapp, tmp_path):
    (tmp_path / "file").touch()
    with claimed(tmp_path / "file" / "below"):
        pass
    with claimed(tmp_path / ("long" * 40)):
        assert not (tmp_path / ("long" * 40) / "desk.socket").exists()


def test_only_the_owner_may_call(first, folder):
    assert (folder / "desk.socket").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "request_of_a_stranger",
    [
        b"not/absolute.vbundle\0",
        b"\xff\xfe\0",
        b"/a\nb\0",
        b"/a\x1b[2J\0",
        b"/" + b"a" * 9000,
        b"/" + b"a" * 9000 + b"\0",
    ],
)
def test_what_is_no_path_is_refused(qtbot, first, folder, request_of_a_stranger):
    connection = caller(qtbot, folder)
    connection.write(request_of_a_stranger)
    qtbot.waitUntil(lambda: is_dropped(connection))
    assert first.requests == []


def test_callers_who_say_nothing_are_dropped_and_keep_nobody_out(qtbot, first, folder, monkeypatch):
    monkeypatch.setattr(one_desk, "_CALL_MS", 50)
    silent = [caller(qtbot, folder) for _ in range(40)]
    qtbot.waitUntil(lambda: all(map(is_dropped, silent)))
    connection = caller(qtbot, folder)
    connection.write(b"/stick/mon")
    connection.flush()
    qtbot.settle()
    connection.write(b"day.vbundle\0/more\0")
    qtbot.waitUntil(lambda: first.requests == ["/stick/monday.vbundle"])
    qtbot.waitUntil(lambda: connection.bytesAvailable() > 0)
    assert connection.readAll().data() == b"1"
    connection.write(b"/another\0")
    connection.abort()
    qtbot.settle()
    assert first.requests == ["/stick/monday.vbundle"]


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="sockets of POSIX")
def test_a_caller_who_ends_at_once_harms_nothing(qtbot, first, folder):
    for _ in range(20):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(folder / "desk.socket"))
        connection.sendall(b"/stick/monday.vbundle\0")
        connection.close()
        qtbot.settle()
    qtbot.waitUntil(lambda: first.findChildren(QLocalSocket) == [])
    assert set(first.requests) <= {"/stick/monday.vbundle"}


def test_the_window_comes_forward_with_the_file(qtbot, open_desk, ports, tmp_path):
    profile = Profile("p1", "Clinic", "service", "http://127.0.0.1:1", "acc-1", "session")
    ports.session_vault.set(profile.api_key_name, "key")
    desk = open_desk(ports)
    desk._on_profile_made(profile)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), RecordPage))
    desk.window.showMinimized()
    desk.come_forward(str(tmp_path / "monday.vbundle"))
    assert not desk.window.windowState() & Qt.WindowState.WindowMinimized
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), OutboxPage))
    assert desk.window.page().take_in.file.text() == str(tmp_path / "monday.vbundle")
    desk.come_forward("")
    assert isinstance(desk.window.page(), OutboxPage)
    desk.come_forward(str(tmp_path / "voice.wav"))
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), RecordPage))


def test_a_start_from_a_menu_shows_the_sentence_in_a_window(monkeypatch, tmp_path):
    boxes = []
    monkeypatch.setattr(vbdesk.cli.desk, "show_box", boxes.append)
    monkeypatch.setattr("vbdesk.outbox.diagnostics.log_file.start_log", lambda folder: None)
    refusals = [AlreadyOpen("It is open."), AlreadyOpen("The file is there.", handed_over=True)]

    def run(*args, **options):
        raise refusals.pop(0)

    monkeypatch.setattr("vbdesk.desk.shell.app.run", run)
    monkeypatch.setattr(sys, "__stderr__", open(os.devnull, "w"))  # noqa: SIM115, PTH123
    first_start = CliRunner().invoke(app, ["desk", "--data-dir", str(tmp_path)])
    with_file = CliRunner().invoke(app, ["desk", "--data-dir", str(tmp_path), "monday.vbundle"])
    sys.__stderr__.close()
    assert (first_start.exit_code, first_start.stderr, boxes) == (1, "It is open.\n", ["It is open."])
    assert (with_file.exit_code, with_file.stderr) == (0, "The file is there.\n")
