"""The main job in the real window: a voice goes in by the microphone, a level and a point on the chart come out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_male_20s.flac"
PROGRAMS = (
    "pulseaudio",
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

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        bool(MISSING), reason=f"the rig needs {', '.join(MISSING)}: packaging/bootstrap.py test installs them"
    ),
]


def test_a_recording_at_the_desk_becomes_a_level_and_a_point_on_the_chart(tmp_path):
    surroundings = {
        name: value for name, value in os.environ.items() if name not in {"PYTHON_KEYRING_BACKEND", "QT_QPA_PLATFORM"}
    }
    done = subprocess.run(
        [HERE / "rig" / "desk-session", "--size", "1280x840", "--", sys.executable, HERE / "first_light_on_rig.py",
         tmp_path, SPEECH],
        env=surroundings, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    log = (tmp_path / "desk.log").read_text()
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    for page in ("first-start", "record", "recording", "check", "outbox", "result", "subject"):
        assert (tmp_path / f"{page}.png").stat().st_size > 20_000
