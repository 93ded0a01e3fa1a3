"""The rig of the tests marked `e2e`: a screen, a microphone and a keyring of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import seconds_left

DESK_SESSION = Path(__file__).parent / "rig" / "desk-session"
PROGRAMS = (
    "pulseaudio",
    "pactl",
    "paplay",
    "Xvfb",
    "openbox",
    "dbus-daemon",
    "gnome-keyring-daemon",
    "setpriv",
    "xdotool",
    "scrot",
)
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
LEFT_TO_THE_SESSION = {"PYTHON_KEYRING_BACKEND", "QT_QPA_PLATFORM"}


def pytest_runtest_setup(item):
    """Skip what needs the rig where a program of it is missing."""
    if MISSING and item.get_closest_marker("e2e"):
        pytest.skip(f"the rig needs {', '.join(MISSING)}: packaging/bootstrap.py test installs them")


@pytest.fixture
def desk_session():
    """Run a Python program in a session of the rig: `desk_session(options, program, *arguments)`."""

    def run(options, program, *arguments):
        command = [DESK_SESSION, *options, "--", sys.executable, program, *arguments]
        return subprocess.run(
            [str(part) for part in command],
            env={name: value for name, value in os.environ.items() if name not in LEFT_TO_THE_SESSION},
            capture_output=True,
            text=True,
            timeout=seconds_left(),
            check=False,
        )

    return run


BUSY_REGISTRY = "QSpiApplication::keyEventError"  # a screen reader's registry that answers a key too late
C_LOCALE = (
    'Detected locale "C"',
    "Qt depends on a UTF-8 locale",
    "If this causes problems, reconfigure your locale",
    "for more information.",
)


@pytest.fixture
def said_by_desk(tmp_path):
    """What the desk said on its standard output, but for lines that begin with what is `expected`."""

    def read(expected=()):
        log = tmp_path / "desk.log"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return "".join(
            line for line in lines if line.strip() and not line.startswith((*expected, BUSY_REGISTRY, *C_LOCALE))
        )

    return read


@pytest.fixture
def watched_session(desk_session, said_by_desk, tmp_path):
    """Run a program that drives the watched desk, `watched_session(options, program, *arguments)`.

    The program ended well, the desk said nothing on its standard output but what `expected` begins with, and nothing
    in it blocked the GUI thread. Returns what the watch found.
    """

    def run(options, program, *arguments, expected=()):
        done = desk_session(options, program, *arguments)
        log = said_by_desk(expected)
        assert done.returncode == 0, f"{(done.stdout + done.stderr)[-4000:]}\n{log[:20_000]}"
        assert log == ""
        found = json.loads((tmp_path / "watch.json").read_text())
        assert found["blocking"] == [], "\n".join(found["blocking"])
        return found

    return run
