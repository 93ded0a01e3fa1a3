"""The main job in the real window: a voice goes in by the microphone, a level and a point on the chart come out."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_male_20s.flac"

pytestmark = pytest.mark.e2e


def test_a_recording_at_the_desk_becomes_a_level_and_a_point_on_the_chart(desk_session, said_by_desk, tmp_path):
    done = desk_session(("--size", "1280x840"), HERE / "first_light_on_rig.py", tmp_path, SPEECH)
    log = said_by_desk()
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    for page in ("first-start", "record", "recording", "check", "outbox", "result", "subject"):
        assert (tmp_path / f"{page}.png").stat().st_size > 20_000
