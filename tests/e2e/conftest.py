"""The rig of the tests marked `e2e`: a screen, a microphone and a keyring of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
    """Run a Python program in a session of the rig: `desk_session(options, program, *arguments, timeout_s=...)`."""

    def run(options, program, *arguments, timeout_s):
        command = [DESK_SESSION, *options, "--", sys.executable, program, *arguments]
        return subprocess.run(
            [str(part) for part in command],
            env={name: value for name, value in os.environ.items() if name not in LEFT_TO_THE_SESSION},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run
