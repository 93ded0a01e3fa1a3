"""The Outbox in the real window, offline."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"

pytestmark = pytest.mark.e2e


def test_a_day_offline_at_the_outbox_never_blocks_the_window(watched_session, tmp_path):
    watched_session(("--size", "1280x840"), HERE / "outbox_on_rig.py", tmp_path, SPEECH)
