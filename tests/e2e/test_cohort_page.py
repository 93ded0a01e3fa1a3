"""Subjects and Cohort in the real window, beside a service, at large text; the window's thread watched."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONGEST_MS = 50.0

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


def test_going_through_subjects_and_cohort_at_large_text_never_stalls_the_window(desk_session, tmp_path):
    done = desk_session(("--size", "1280x840", "--mic", "off"), HERE / "cohort_on_rig.py", tmp_path, 2, timeout_s=120)
    log = (tmp_path / "desk.log").read_text() if (tmp_path / "desk.log").exists() else ""
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + log[:4000]
    assert log == ""
    found = json.loads((tmp_path / "watch.json").read_text())
    assert [stall for stall in found["stalls"] if stall["desk_ms"] > LONGEST_MS] == []
