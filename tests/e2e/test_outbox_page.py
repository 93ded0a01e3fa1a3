"""The Outbox in the real window, offline, its thread watched."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"
LONGEST_MS = 50.0

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


def test_a_day_offline_at_the_outbox_never_stalls_the_window(desk_session, tmp_path):
    done = desk_session(("--size", "1280x840"), HERE / "outbox_on_rig.py", tmp_path, SPEECH, timeout_s=280)
    log = (tmp_path / "desk.log").read_text() if (tmp_path / "desk.log").exists() else ""
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    found = json.loads((tmp_path / "watch.json").read_text())
    assert [stall for stall in found["stalls"] if stall["desk_ms"] > LONGEST_MS] == []
