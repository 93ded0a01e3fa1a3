"""The pages on which voices are read, and Account, in the real window by the accessibility tree."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(("colours", "percent"), [("light", 100), ("dark", 200)])
def test_a_change_its_reason_and_its_recording_are_found_by_their_words(watched_session, tmp_path, colours, percent):
    session = ("--size", "1280x840", "--mic", "off")
    found = watched_session(session, HERE / "reading_on_rig.py", tmp_path, SPEECH, colours, percent)
    heard = (tmp_path / "heard.txt").read_text()
    assert "27 Jan 2026, 09:00. Mood Disruption: Moderate. Unusual for this person: above their own baseline" in heard
    assert "23 Jan 2026, 09:00. Anxiety: Moderate." in heard
    assert "1 Sept 2025, 09:00. Anxiety: None. In line with this person's own recordings." in heard
    assert found["cut"] == []
