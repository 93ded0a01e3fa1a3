"""Sessions at the Record page in the real window: by keyboard, by mouse, by the accessibility tree, through faults."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"
SOUND_SYSTEM = ("ALSA lib ", "Expression ", "ftruncate() failed")  # libraries that lose a device, or room, say so

pytestmark = pytest.mark.e2e


@pytest.fixture
def drive(watched_session, tmp_path):
    """Drive the window one way, `drive("by_mouse")`, without ever blocking it."""

    def driven(way):
        program = HERE / "record_on_rig.py"
        watched_session(("--size", "1280x840"), program, way, tmp_path, SPEECH, expected=SOUND_SYSTEM)

    return driven


def test_a_session_by_keyboard_is_announced(drive, tmp_path):
    drive("by_keyboard")
    heard = (tmp_path / "heard.txt").read_text().splitlines()
    for sentence in ("Recording.", "Marker 1.", "Paused.", "Recording goes on.", "Enough speech."):
        assert sentence in heard
    assert any(sentence.startswith("Good to send.") for sentence in heard)


def test_a_session_by_mouse(drive):
    drive("by_mouse")


def test_a_session_by_the_accessibility_tree_at_large_text(drive):
    drive("by_tree")


def test_each_fault_ends_in_a_sentence_and_a_kept_recording(drive):
    drive("through_faults")


def test_a_kill_leaves_a_recording_that_the_next_start_offers(drive):
    drive("through_a_kill")
