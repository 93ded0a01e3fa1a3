"""The pages on which voices are read, and Account, in the real window by the accessibility tree; its thread watched."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"
LONGEST_MS = 50.0
FIRST_MS = {"subject": 80.0, "compare": 90.0, "three clicks": 120.0, "cohort": 80.0}
"""Where building a page, or painting all its charts, in one go still takes longer than it may: never longer again."""

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.mark.parametrize(("colours", "percent"), [("light", 100), ("dark", 200)])
def test_a_change_its_reason_and_its_recording_are_found_by_their_words(desk_session, tmp_path, colours, percent):
    session = ("--size", "1280x840", "--mic", "off")
    done = desk_session(session, HERE / "reading_on_rig.py", tmp_path, SPEECH, colours, percent, timeout_s=200)
    log = (tmp_path / "desk.log").read_text() if (tmp_path / "desk.log").exists() else ""
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    heard = (tmp_path / "heard.txt").read_text()
    assert "27 Jan 2026, 09:00. Mood Disruption: moderate. Unusual for this person: above the own baseline" in heard
    assert "23 Jan 2026, 09:00. Anxiety: moderate." in heard
    assert "1 Sep 2025, 09:00. Anxiety: none. In line with this person's own recordings." in heard
    found = json.loads((tmp_path / "watch.json").read_text())
    assert found["cut"] == []
    assert _too_long(found["stalls"], json.loads((tmp_path / "pages.json").read_text())) == []


def _too_long(stalls, pages):
    """Stalls over the page's bound, with the page on which they were."""
    by_page = [
        (next((name for name, since in reversed(pages) if since <= stall["at_s"]), ""), stall) for stall in stalls
    ]
    return [(page, stall) for page, stall in by_page if stall["desk_ms"] > FIRST_MS.get(page, LONGEST_MS)]
