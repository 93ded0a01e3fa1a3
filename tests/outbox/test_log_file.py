import ast
import logging
import subprocess
import sys
from pathlib import Path

import vbdesk
from vbdesk.outbox.diagnostics.log_file import CRASH_NAME, LOG_NAME, PlainFormatter, last_lines

SOURCE = Path(vbdesk.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
ON_THE_LAPTOP = ("capture", "client", "contract", "desk", "outbox", "report", "voice")

PROGRAM = """
import logging, os, resource, signal, sys
from pathlib import Path
from vbdesk.outbox.diagnostics.log_file import start_log

start_log(Path(sys.argv[1]))
assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
logging.getLogger("vbdesk.outbox").info("too small a matter")
try:
    open("/nowhere/marker-name.wav")
except OSError:
    logging.getLogger("vbdesk.outbox").exception("%s could not be read", "marker-name")
marker_key = "marker-key"
os.kill(os.getpid(), signal.SIGABRT)
"""


def test_a_line_tells_the_place_and_never_the_values():
    def record(name, message, *values):
        return logging.LogRecord(name, logging.WARNING, "/home/anna/x.py", 7, message, values, None)

    formatter = PlainFormatter()
    ours = formatter.format(record("vbdesk.outbox.sync.sync_worker", "Not sent: %s", "anna"))
    assert ours.endswith("WARNING vbdesk.outbox.sync.sync_worker Not sent: %s")
    foreign = formatter.format(record("httpcore", "anna asked for /v2/groups/anna"))
    assert foreign.endswith("WARNING httpcore x.py:7")
    assert "anna" not in ours + foreign


def test_a_crash_leaves_the_places_and_no_values(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode < 0, done.stderr
    crash = (tmp_path / CRASH_NAME).read_text()
    assert "Aborted" in crash
    assert 'File "<string>", line 14' in crash
    log = (tmp_path / LOG_NAME).read_text()
    assert "%s could not be read [FileNotFoundError <string>:10]" in log
    assert log.count("\n") == 1
    assert "marker" not in log + crash + done.stdout + done.stderr
    assert last_lines(tmp_path, 5) == log.splitlines()


def test_a_log_that_cannot_be_written_keeps_nobody_from_working(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    program = PROGRAM.replace("os.kill(os.getpid(), signal.SIGABRT)", "")
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "file"], capture_output=True, check=False)
    assert done.returncode == 0


def test_there_may_be_no_log(tmp_path):
    assert last_lines(tmp_path, 5) == []


def test_sentences_for_the_log_stand_in_the_source_as_they_are():
    for path in (path for room in ON_THE_LAPTOP for path in (SOURCE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in LEVELS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in ("log", "logger", "logging")
            ):
                assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}"


FULL_DISK = """
import logging, resource, signal, sys
from pathlib import Path
from vbdesk.outbox.diagnostics.log_file import LOG_NAME, start_log

folder = Path(sys.argv[1])
start_log(folder, on_terminal=False)
logging.getLogger("vbdesk.outbox").error("before")
size = (folder / LOG_NAME).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
for _ in range(3):
    logging.getLogger("vbdesk.outbox").error("while the disk is full")
"""


def test_a_log_on_a_full_disk_puts_nothing_on_the_terminal(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [line.rpartition(" ")[2] for line in last_lines(tmp_path, 9)] == ["before"]
