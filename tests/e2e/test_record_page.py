"""Sessions at the Record page in the real window: by keyboard, by mouse, by the accessibility tree, through faults.

Each runs with the window's thread watched (`watched_desk`).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"
PROGRAMS = ("pulseaudio", "paplay", "Xvfb", "openbox", "dbus-daemon", "gnome-keyring-daemon", "xdotool", "scrot")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
LONGEST_MS = 50.0
SOUND_SYSTEM = ("ALSA lib ", "Expression ", "ftruncate() failed")  # libraries that lose a device, or room, say so

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        bool(MISSING), reason=f"the rig needs {', '.join(MISSING)}: packaging/bootstrap.py test installs them"
    ),
]


def run(way: str, folder: Path) -> dict[str, list]:
    """Run one way; returns what the watch found."""
    left_out = {"PYTHON_KEYRING_BACKEND", "QT_QPA_PLATFORM"}
    surroundings = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [HERE / "rig" / "desk-session", "--size", "1280x840", "--", sys.executable, HERE / "record_on_rig.py",
         way, folder, SPEECH],
        env=surroundings, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    lines = (folder / "desk.log").read_text().splitlines(keepends=True)
    log = "".join(line for line in lines if line.strip() and not line.startswith(SOUND_SYSTEM))
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    report = folder / "watch.json"
    return json.loads(report.read_text()) if report.exists() else {"stalls": [], "reactions_ms": []}


def stalls(found: dict[str, list]) -> list[dict[str, object]]:
    """Those that a person could notice."""
    return [stall for stall in found["stalls"] if stall["desk_ms"] > LONGEST_MS]


def test_a_session_by_keyboard_is_announced_and_never_stalls(tmp_path):
    found = run("by_keyboard", tmp_path)
    assert stalls(found) == []
    assert found["reactions_ms"]
    assert max(found["reactions_ms"]) <= LONGEST_MS
    heard = (tmp_path / "heard.txt").read_text().splitlines()
    for sentence in ("Recording.", "Marker 1.", "Paused.", "Recording goes on.", "Enough speech."):
        assert sentence in heard
    assert any(sentence.startswith("Good to send.") for sentence in heard)


def test_a_session_by_mouse_never_stalls(tmp_path):
    assert stalls(run("by_mouse", tmp_path)) == []


def test_a_session_by_the_accessibility_tree_at_large_text(tmp_path):
    run("by_tree", tmp_path)


def test_each_fault_ends_in_a_sentence_and_a_kept_recording_and_never_stalls(tmp_path):
    assert stalls(run("through_faults", tmp_path)) == []


def test_a_kill_leaves_a_recording_that_the_next_start_offers(tmp_path):
    run("through_a_kill", tmp_path)
