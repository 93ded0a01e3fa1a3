"""`vbdesk demo`, run as a person runs it."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from patience import HANGS_S, until
from vbdesk.cli.main import app

DEMO = [sys.executable, "-m", "vbdesk", "demo"]


def surroundings(folder: Path) -> dict[str, str]:
    """No display, and a temporary folder of the test's own."""
    hidden = {"DISPLAY", "WAYLAND_DISPLAY"}
    return {**{name: value for name, value in os.environ.items() if name not in hidden}, "TMPDIR": str(folder)}


def processes_in(folder: Path) -> list[str]:
    """Command lines of running processes that use `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found


def test_the_demo_shows_a_result_for_every_sample_and_draws_the_chart(tmp_path):
    scratch, here = tmp_path / "scratch", tmp_path / "here"
    scratch.mkdir()
    here.mkdir()
    narrow = surroundings(scratch) | {"COLUMNS": "80"}
    done = subprocess.run(DEMO, cwd=here, env=narrow, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    assert len(re.findall(r" \d\.\d\d to \d\.\d\d  \d\.\d\d ", done.stdout)) == 6
    tables = done.stdout[done.stdout.index("Each recording") : done.stdout.index("Chart written")]
    assert max(map(len, tables.splitlines())) <= 80
    assert len(re.findall(r"^\d+ [A-Z][a-z]{2,3} .* \d+% ", done.stdout, re.MULTILINE)) == 5
    assert "demonstration dates" in done.stdout
    assert "Mood Disruption" in done.stdout
    assert "There is no display here" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    chart = here / "vbdesk-demo-trajectory.png"
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert chart.stat().st_size > 50_000
    assert list(scratch.glob("vbdesk-demo-*")) == []


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads the process list from /proc")
def test_ctrl_c_leaves_nothing_running(tmp_path):
    demo = subprocess.Popen(
        DEMO, cwd=tmp_path, env=surroundings(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(
            lambda: demo.poll() is not None or any(" serve " in command for command in processes_in(tmp_path)),
            "the service to be started",
        )
        assert demo.poll() is None
        time.sleep(1.0)
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=HANGS_S)
    finally:
        demo.kill()
        demo.wait()
    assert demo.returncode == 130
    assert errors.strip().splitlines()[-1] == "Stopped; nothing is left running."
    assert "Traceback" not in errors
    until(lambda: processes_in(tmp_path) == [], "all processes to end")
    assert list(tmp_path.glob("vbdesk-demo-*")) == []


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "The disk is full"), (errno.EACCES, "may not read or write there"), (errno.EIO, "disk")],
)
def test_a_disk_that_takes_nothing_is_said_in_one_sentence(monkeypatch, number, says):
    def refused(folder, window):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("vbdesk.cli.demo._run", refused)
    done = CliRunner().invoke(app, ["demo", "--no-window"])
    assert done.exit_code == 1
    assert says in done.stderr
    assert "OSError" not in done.stderr
