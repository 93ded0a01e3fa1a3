"""A thousand recordings of six signs are followed within 10 ms of processor time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from vbdesk.longitudinal.case_report import trajectory_numbers
from vbdesk.longitudinal.follower import Follower
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.job_fields import job_standings

SIGNS = ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")
START = datetime(2026, 1, 1, tzinfo=UTC)
BAR_S = 0.010
APPEND_BAR_S = 0.001


@pytest.fixture(scope="module")
def history() -> list[HistoryEntry]:
    generator = np.random.default_rng(3)
    days = np.sort(generator.uniform(0, 269, 1000))
    scores = 1.0 / (1.0 + np.exp(1.0 - 0.7 * generator.normal(size=(1000, 6))))
    return [
        HistoryEntry(
            f"job-{k:04d}",
            START + timedelta(days=days[k]),
            "done",
            60.0,
            65.0,
            80.0,
            (),
            None,
            {sign: SignReading(float(score), "low", False) for sign, score in zip(SIGNS, scores[k], strict=True)},
        )
        for k in range(1000)
    ]


def test_job_fields_speed(benchmark, history):
    benchmark(job_standings, history, "job-0999")
    assert best_cpu_seconds(lambda: job_standings(history, "job-0999")) <= BAR_S


def test_trajectory_speed(benchmark, history):
    as_of = history[-1].recorded_at
    benchmark(trajectory_numbers, history, as_of, SIGNS, {})
    assert best_cpu_seconds(lambda: trajectory_numbers(history, as_of, SIGNS, {})) <= BAR_S


def test_one_more_recording_costs_the_same_after_a_long_history(history):
    first_hundred, last_hundred = [], []
    for _ in range(3):
        follower = Follower()
        times = []
        for entry in history:
            began = time.process_time()
            follower.append(entry)
            times.append(time.process_time() - began)
        first_hundred.append(np.median(times[:100]))
        last_hundred.append(np.median(times[-100:]))
    assert min(last_hundred) <= APPEND_BAR_S
    assert min(last_hundred) <= 1.5 * min(first_hundred)


def best_cpu_seconds(task: Callable[[], object], repeats: int = 20) -> float:
    """Least processor time of several runs: what the work costs when nothing else disturbs it."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return min(times)
