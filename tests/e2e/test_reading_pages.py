"""The pages on which voices are read, and Account, in the real window by the accessibility tree."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"

pytestmark = pytest.mark.e2e


def here(*day):
    """Nine o'clock UTC of a day, on the clock of this computer's zone."""
    return f"{datetime(*day, 9, tzinfo=UTC).astimezone():%H:%M}"


@pytest.mark.parametrize(("colours", "percent"), [("light", 100), ("dark", 200)])
def test_a_change_its_reason_and_its_recording_are_found_by_their_words(watched_session, tmp_path, colours, percent):
    session = ("--size", "1280x840", "--mic", "off")
    found = watched_session(session, HERE / "reading_on_rig.py", tmp_path, SPEECH, colours, percent)
    heard = (tmp_path / "heard.txt").read_text()
    changed = "Mood Disruption: Moderate. Unusual for this person: above their own baseline"
    assert f"27 Jan 2026, {here(2026, 1, 27)}. {changed}" in heard
    assert f"23 Jan 2026, {here(2026, 1, 23)}. Anxiety: Moderate." in heard
    assert f"1 Sept 2025, {here(2025, 9, 1)}. Anxiety: None. In line with this person's own recordings." in heard
    assert found["cut"] == []
