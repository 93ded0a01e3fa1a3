"""A thousand recordings of six signs are followed within 10 ms of processor time, one more within 1 ms."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from figures import Verdict
from longitudinal_figures import RECORDINGS, SIGNS, appended, best_cpu_s, random_history

from vbdesk.longitudinal import job_standings
from vbdesk.longitudinal.case_report import trajectory_numbers

NOW = datetime(2026, 10, 1, tzinfo=UTC)
BAR_S = 0.010

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def history():
    return random_history(RECORDINGS, NOW, own_intervals=False)


def test_job_fields_speed(benchmark, history):
    benchmark(job_standings, history, "job-0999")
    assert best_cpu_s(lambda: job_standings(history, "job-0999")) <= BAR_S


def test_trajectory_speed(benchmark, history):
    benchmark(trajectory_numbers, history, NOW, SIGNS, {})
    assert best_cpu_s(lambda: trajectory_numbers(history, NOW, SIGNS, {})) <= BAR_S


def test_one_more_recording_costs_the_same_after_a_long_history(history):
    rows = list(appended(history))
    assert [row.verdict for row in rows] == [Verdict.MET] * 2, rows
