"""Incremental filtering gives the same results as filtering the whole history."""

import json
import random
from dataclasses import astuple
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbdesk.lab.history_file import read_history_file
from vbdesk.longitudinal.incremental_filter import IncrementalFilter, estimates_by_job
from vbdesk.longitudinal.job_fields import job_estimates

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())["cases"]


def assert_same(found, expected, places=1e-9):
    assert found.keys() == expected.keys()
    for sign, estimate in expected.items():
        if estimate is None:
            assert found[sign] is None
        else:
            assert astuple(found[sign]) == pytest.approx(astuple(estimate), abs=places, rel=places)
            assert (found[sign].anomaly, found[sign].unconfirmed) == (estimate.anomaly, estimate.unconfirmed)


@pytest.mark.parametrize("case", GOLDEN, ids=[case["name"][:2] for case in GOLDEN])
def test_every_job_of_the_golden_histories_has_the_estimates_of_its_whole_history(case):
    history = read_history_file(json.dumps(case)).history
    done = [entry for entry in history if entry.status == "done"]
    filtered = list(estimates_by_job(history))
    assert {entry.job_id for entry, _ in filtered} == {entry.job_id for entry in done}
    every = max(1, len(filtered) // 40)
    for entry, estimates in filtered[::every] + filtered[-3:]:
        assert_same(estimates, job_estimates(history, entry.job_id))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_days_with_many_recordings_and_intermittent_signs(histories, data):
    n = data.draw(st.integers(1, 25))
    gap = st.sampled_from([0.0, 0.01, 0.3, 0.6, 1.0, 7.0, 40.0])
    score = st.none() | st.floats(0, 1)
    day, history = 0.0, []
    for number in range(n):
        day += data.draw(gap)
        scores = data.draw(st.dictionaries(st.sampled_from(["stress", "mood-disruption"]), score, min_size=1))
        level = data.draw(st.sampled_from(["low", "inconclusive"]))
        clarity = data.draw(st.sampled_from([None, 80.0, 5.0]))
        history.append(histories.entry(number, day, scores, level=level, audio_clarity=clarity))
    for entry, estimates in estimates_by_job(history):
        assert_same(estimates, job_estimates(history, entry.job_id))


def test_a_change_of_a_slow_sign_is_confirmed(histories):
    history = histories.series(range(0, 120, 3), [0.25] * 30 + [0.75] * 10, sign="mood-disruption")
    stands = [estimates["mood-disruption"] for _, estimates in estimates_by_job(history)]
    first = next(k for k, estimate in enumerate(stands) if estimate is not None and estimate.unconfirmed)
    assert (stands[first].anomaly, stands[first + 1].anomaly) == (False, True)


def test_the_order_of_the_list_does_not_matter(histories):
    history = histories.random(60)
    expected = [(entry.job_id, estimates) for entry, estimates in estimates_by_job(history)]
    random.Random(2).shuffle(history)
    assert [(entry.job_id, estimates) for entry, estimates in estimates_by_job(history)] == expected


def test_more_than_a_thousand_recordings_and_more_than_270_days(histories):
    many = histories.random(1003, signs=("stress",))
    filtered = list(estimates_by_job(many))
    for entry, estimates in [filtered[999], *filtered[-3:]]:
        assert_same(estimates, job_estimates(many, entry.job_id))
    long = histories.series([5.0 * k for k in range(70)], [0.3 + 0.1 * (k % 3) for k in range(70)])
    for entry, estimates in estimates_by_job(long):
        assert_same(estimates, job_estimates(long, entry.job_id))


def test_a_recording_out_of_order_is_refused(histories):
    incremental_filter = IncrementalFilter()
    incremental_filter.append(histories.entry(1, 5.0, {"stress": 0.3}))
    for late in (histories.entry(2, 4.0, {"stress": 0.3}), histories.entry(1, 5.0, {"stress": 0.3})):
        with pytest.raises(ValueError, match="filter the whole history again"):
            incremental_filter.append(late)
    assert incremental_filter.append(histories.entry(2, histories.start + timedelta(days=5), {"stress": 0.3}))["stress"]
