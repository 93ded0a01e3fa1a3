"""Subjects and Cohort in the real window, with a service, at large text."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.e2e


def test_going_through_subjects_and_cohort_at_large_text_never_blocks_the_window(watched_session, tmp_path):
    watched_session(("--size", "1280x840", "--mic", "off"), HERE / "cohort_on_rig.py", tmp_path, 2)
