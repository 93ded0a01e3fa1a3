"""The guard of the GUI thread sees what may block, and nothing else."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from gui_guard import DESK
from PySide6.QtCore import QObject

from vbdesk.capture.playback import SilentPlayer
from vbdesk.outbox.library import encrypted_sqlite
from vbdesk.outbox.profiles.vault import MemoryVault

SOURCE = """
class Page(QObject):
    def do(self, work):
        return work()

    def do_and_hide_errors(self, work):
        try:
            work()
        except Exception:
            pass
"""


@pytest.fixture
def page():
    """A QObject whose code is in the desk."""
    names = {"QObject": QObject, "__name__": "example"}
    exec(compile(SOURCE, f"{DESK}pages/example.py", "exec"), names)
    return names["Page"]()


@pytest.fixture
def found(gui_guard):
    """The guard's findings so far; the guard continues."""
    guard, _ = gui_guard

    def calls():
        collected = guard.disarm()
        guard.arm()
        return [call.partition("\n")[0] for call in collected]

    return calls


def connect():
    with socket.socket() as caller:
        caller.connect_ex(("127.0.0.1", 9))


def join():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def request():
    with httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200))) as client:
        client.get("http://service")


@pytest.mark.parametrize(
    ("work", "call"),
    [
        (lambda: Path(__file__).read_bytes(), "open"),
        (lambda: Path(__file__).exists(), "os.stat"),
        (lambda: list(Path("/").iterdir()), "os.listdir"),
        (connect, "socket.connect"),
        (lambda: subprocess.run([sys.executable, "--version"], check=True), "subprocess.Popen"),
        (lambda: time.sleep(0), "sleep"),
        (lambda: threading.Event().wait(0), "wait for another thread"),
        (join, "wait for the end of a thread"),
        (request, "HTTP request"),
        (lambda: MemoryVault().get("key"), "MemoryVault.get"),
        (SilentPlayer().close, "SilentPlayer.close"),
    ],
)
def test_a_call_that_may_block_is_reported(page, found, work, call):
    work()
    assert found() == [], "the test's own calls do not count"
    page.do(work)
    assert any(each.startswith(call) for each in found())


def test_every_statement_of_a_database_is_reported(page, found):
    database = encrypted_sqlite.connect(":memory:", None)
    page.do(lambda: database.execute("SELECT 1"))
    page.do(lambda: database.rows("SELECT 2"))
    assert [call.split("SQL ")[-1] for call in found()] == ["SELECT 1", "SELECT 2"]
    database.close()


def test_a_worker_may_block(page, found, tmp_path):
    worker = threading.Thread(target=page.do, args=((tmp_path / "file").touch,))
    worker.start()
    worker.join()
    assert found() == []


def test_the_first_import_of_a_page_is_allowed(page, found, tmp_path, monkeypatch):
    (tmp_path / "page_of_a_test.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    page.do(lambda: __import__("page_of_a_test"))
    assert found() == []


def test_an_except_of_the_desk_hides_nothing(page, found, tmp_path):
    page.do_and_hide_errors((tmp_path / "missing").read_bytes)
    assert any(call.startswith("open") for call in found())


def test_a_test_in_which_the_desk_blocks_fails(page, gui_guard, tmp_path):
    guard, failing_if_blocked = gui_guard
    with pytest.raises(pytest.fail.Exception, match="may block"), failing_if_blocked():
        page.do_and_hide_errors((tmp_path / "missing").read_bytes)
    with failing_if_blocked():
        page.do(lambda: None)
    guard.arm()
