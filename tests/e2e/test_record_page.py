"""Sessions at the Record page in the real window: by keyboard, by mouse, by the accessibility tree, through faults.

Each runs with the window's thread watched (`watched_desk`).
"""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"
LONGEST_MS = 50.0
SOUND_SYSTEM = ("ALSA lib ", "Expression ", "ftruncate() failed")  # libraries that lose a device, or room, say so

pytestmark = pytest.mark.e2e


@pytest.fixture
def drive(desk_session, tmp_path):
    """Drive the window one way, `drive("by_mouse")`; returns what the watch found."""

    def driven(way):
        program = HERE / "record_on_rig.py"
        done = desk_session(("--size", "1280x840"), program, way, tmp_path, SPEECH, timeout_s=280)
        lines = (tmp_path / "desk.log").read_text().splitlines(keepends=True)
        log = "".join(line for line in lines if line.strip() and not line.startswith(SOUND_SYSTEM))
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
        assert log == ""
        report = tmp_path / "watch.json"
        return json.loads(report.read_text()) if report.exists() else {"stalls": [], "reactions_ms": []}

    return driven


def stalls(found: dict[str, list]) -> list[dict[str, object]]:
    """Those that a person could notice."""
    return [stall for stall in found["stalls"] if stall["desk_ms"] > LONGEST_MS]


@pytest.mark.alone
def test_a_session_by_keyboard_is_announced_and_never_stalls(drive, tmp_path):
    found = drive("by_keyboard")
    assert stalls(found) == []
    assert found["reactions_ms"]
    assert max(found["reactions_ms"]) <= LONGEST_MS
    heard = (tmp_path / "heard.txt").read_text().splitlines()
    for sentence in ("Recording.", "Marker 1.", "Paused.", "Recording goes on.", "Enough speech."):
        assert sentence in heard
    assert any(sentence.startswith("Good to send.") for sentence in heard)


@pytest.mark.alone
def test_a_session_by_mouse_never_stalls(drive):
    assert stalls(drive("by_mouse")) == []


def test_a_session_by_the_accessibility_tree_at_large_text(drive):
    drive("by_tree")


@pytest.mark.alone
def test_each_fault_ends_in_a_sentence_and_a_kept_recording_and_never_stalls(drive):
    assert stalls(drive("through_faults")) == []


def test_a_kill_leaves_a_recording_that_the_next_start_offers(drive):
    drive("through_a_kill")
