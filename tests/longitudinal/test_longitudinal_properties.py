"""Properties of every history: order, time, scale, extremes, outliers."""

import math
import random
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbdesk.longitudinal import job_fields, trajectory
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.job_fields import job_estimates

examples = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])

SIGNS = ("stress", "mood-disruption")


@st.composite
def drawn(draw, histories, least=1, most=14):
    """A history in order of arrival: gaps from zero to weeks, intermittent signs, any quality."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    day, entries = 0.0, []
    for number in range(draw(st.integers(least, most))):
        day += chance.choice([0.0, 0.0, 0.02, 0.4, 1.0, 6.5, 7.0, 31.0])
        scores = {sign: chance.choice([None, 0.0, 1.0, *[chance.random()] * 7]) for sign in SIGNS}
        present = chance.choice([SIGNS, SIGNS, SIGNS[:1], SIGNS[1:]])
        entry = histories.entry(
            number,
            day,
            {sign: scores[sign] for sign in present},
            level=chance.choice(["low", "moderate", "inconclusive"]),
            status=chance.choice(["done"] * 6 + ["failed", "timed-out", "queued"]),
            voice_percentage=chance.choice([None, 3.0, 65.0, 100.0]),
            audio_clarity=chance.choice([None, 5.0, 80.0]),
        )
        entries.append(entry)
    return entries


def read(history, at):
    return trajectory("g", history, at, labels={})


def last_moment(history):
    return max(entry.recorded_at for entry in history)


@examples
@given(data=st.data())
def test_the_order_of_arrival_changes_no_bit(histories, data):
    history = data.draw(drawn(histories))
    shuffled = random.Random(data.draw(st.integers())).sample(history, len(history))
    at = last_moment(history)
    assert read(shuffled, at) == read(history, at)
    for entry in history:
        assert job_fields(shuffled, entry.job_id) == job_fields(history, entry.job_id)


@examples
@given(data=st.data())
def test_only_what_was_recorded_before_a_job_is_in_its_fields(histories, data):
    history = data.draw(drawn(histories, least=2))
    job = history[data.draw(st.integers(0, len(history) - 1))]
    key = (job.recorded_at, job.job_id)
    before = [entry for entry in history if (entry.recorded_at, entry.job_id) <= key]
    assert job_fields(history, job.job_id) == job_fields(before, job.job_id)


@examples
@given(data=st.data(), days=st.integers(-400, 400))
def test_shifting_all_times_by_whole_days_changes_nothing_else(histories, data, days):
    history = data.draw(drawn(histories))
    moved = [replace(entry, recorded_at=entry.recorded_at + timedelta(days=days)) for entry in history]
    for entry in history:
        here, there = job_estimates(history, entry.job_id), job_estimates(moved, entry.job_id)
        assert here.keys() == there.keys()
        for sign, estimate in here.items():
            if estimate is not None:
                assert there[sign].latest_score == pytest.approx(estimate.latest_score, abs=1e-7)
                assert there[sign].z_score == pytest.approx(estimate.z_score, abs=1e-6)
                assert there[sign].timepoints == estimate.timepoints


@examples
@given(data=st.data())
def test_estimates_are_within_their_intervals_and_the_scale(histories, data):
    history = data.draw(drawn(histories, least=2))
    for sign in read(history, last_moment(history)).signs:
        for point in sign.series:
            assert 0.0 <= point.latest_interval[0] <= point.latest <= point.latest_interval[1] <= 1.0
            assert 0.0 <= point.normal_range[0] <= point.baseline <= point.normal_range[1] <= 1.0
            assert math.isfinite(point.z) and math.isfinite(point.z_sustained)
        if sign.series:
            assert sign.latest_score == sign.series[-1].latest
            assert sign.normal_range[0] <= sign.baseline_interval[0] <= sign.baseline_score
            assert sign.deviation_from_baseline == round(sign.latest_score - sign.baseline_score, 4)
            assert sign.anomaly == sign.series[-1].anomaly
            assert sum(episode.timepoints for episode in sign.anomalies) == sum(p.anomaly for p in sign.series)


@examples
@given(data=st.data())
def test_all_fields_are_null_or_none_is(histories, data):
    history = data.draw(drawn(histories))
    for entry in history:
        for fields in job_fields(history, entry.job_id).values():
            known = fields.model_dump(exclude={"population_z"}).values()
            assert all(value is None for value in known) or all(value is not None for value in known)
            assert fields.population_z is None


@examples
@given(
    scores=st.lists(st.floats(0.05, 0.9), min_size=2, max_size=15),
    raised=st.floats(0.0, 0.1),
    sign=st.sampled_from(SIGNS),
)
def test_a_higher_last_reading_never_lowers_the_estimates(histories, scores, raised, sign):
    days = [3.0 * k for k in range(len(scores))]
    lower = histories.series(days, scores, sign)
    higher = histories.series(days, [*scores[:-1], scores[-1] + raised], sign)
    low, high = (job_estimates(h, lower[-1].job_id)[sign] for h in (lower, higher))
    assert high.latest_score >= low.latest_score - 1e-12
    assert high.baseline_score >= low.baseline_score - 1e-12


@examples
@given(
    score=st.floats(0, 1), n=st.integers(2, 40), gap=st.sampled_from([0.3, 1.0, 7.0, 30.0]), sign=st.sampled_from(SIGNS)
)
def test_constant_readings_are_never_an_anomaly(histories, score, n, gap, sign):
    n = min(n, int(269 / gap))
    history = histories.series([gap * k for k in range(n)], [score] * n, sign)
    (found,) = read(history, last_moment(history)).signs
    assert found.anomalies == []
    assert found.trend.direction in {"stable", "insufficient_data"}


@examples
@given(
    wild=st.floats(0, 1),
    at=st.integers(3, 28),
    gap=st.sampled_from([1.0, 3.0, 7.0]),
    seed=st.integers(0, 50),
)
def test_one_outlier_is_no_anomaly_of_a_slow_sign_and_keeps_the_norm(histories, wild, at, gap, seed):
    """A usual reading is within 1.5 SD: one further out, next to the outlier and on its side, may be a change."""
    usual = (0.3 + 0.03 * np.clip(np.random.default_rng(seed).normal(size=30), -1.5, 1.5)).tolist()
    calm = histories.series([gap * k for k in range(30)], usual, "mood-disruption")
    spoilt = histories.series([gap * k for k in range(30)], [*usual[:at], wild, *usual[at + 1 :]], "mood-disruption")
    (without,), (with_it,) = read(calm, last_moment(calm)).signs, read(spoilt, last_moment(spoilt)).signs
    assert with_it.anomalies == []
    assert with_it.baseline_score == pytest.approx(without.baseline_score, abs=0.06)


def test_beyond_the_clip_a_reading_has_no_more_influence(histories):
    usual = [0.3] * 20
    ends = [histories.series(range(0, 63, 3), [*usual, last], "stress") for last in (0.9, 0.95, 1.0)]
    latest = {job_estimates(history, "job-0020")["stress"].latest_score for history in ends}
    assert max(latest) - min(latest) < 1e-12


@examples
@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=8), hours=st.floats(0, 8))
def test_all_recordings_of_a_day_are_one_timepoint(histories, scores, hours):
    """15:00 UTC plus up to eight hours: the same day."""
    history = [histories.entry(k, hours / 24 * k / len(scores), {"stress": score}) for k, score in enumerate(scores)]
    (sign,) = read(history, last_moment(history)).signs
    assert (sign.n_recordings, sign.n_timepoints, sign.series[0].n) == (len(scores), 1, len(scores))
    assert min(scores) - 1e-4 <= sign.series[0].reading <= max(scores) + 1e-4
    assert sign.anomaly is False


def test_a_hundred_uploads_of_one_day_count_as_a_little_more_than_three(histories):
    def baseline_width(copies):
        history = [histories.entry(k, 1e-5 * k, {"stress": 0.3}) for k in range(copies)]
        low, high = read(history, last_moment(history)).signs[0].baseline_interval
        return high - low

    one_more, many, very_many = baseline_width(2), baseline_width(100), baseline_width(1000)
    assert many < one_more
    assert many - very_many < 0.002


def test_the_same_instant_twice_is_ordered_by_the_job_id(histories):
    pair = [histories.entry(k, 20.0, {"stress": score}) for k, score in ((1, 0.2), (2, 0.6))]
    before = histories.series([0.0, 7.0], [0.3, 0.3])
    early, late = (job_fields([*before[:1], *pair], f"job-000{k}")["stress"] for k in (1, 2))
    assert early.latest_score < late.latest_score


@examples
@given(voiced=st.floats(0, 100), clarity=st.floats(0, 100))
def test_a_worse_recording_never_has_more_influence(histories, voiced, clarity):
    base = histories.series([0.0, 7.0, 14.0], [0.3, 0.3, 0.3])

    def moved(**quality):
        last = histories.entry(3, 21.0, {"stress": 0.5}, **quality)
        return job_estimates([*base, last], "job-0003")["stress"].latest_score

    here = moved(voice_percentage=voiced, audio_clarity=clarity)
    assert here <= moved(voice_percentage=100.0, audio_clarity=clarity) + 1e-12
    assert here <= moved(voice_percentage=voiced, audio_clarity=100.0) + 1e-12
    assert here > 0.3


@examples
@given(width=st.floats(0, 1), score=st.floats(0, 1))
def test_a_score_interval_only_reduces_the_weight(histories, width, score):
    base = histories.series([0.0, 7.0, 14.0], [0.3, 0.3, 0.3])

    def distance(interval):
        last = histories.entry(3, 21.0, {"stress": score})
        told: HistoryEntry = replace(last, signs={"stress": SignReading(score, "low", False, interval)})
        return abs(job_estimates([*base, told], "job-0003")["stress"].latest_score - before)

    before = job_estimates(base, "job-0002")["stress"].latest_score
    low, high = max(0.0, score - width / 2), min(1.0, score + width / 2)
    wider = (max(0.0, low - 0.1), min(1.0, high + 0.1))
    assert math.isfinite(distance((low, high)))
    forecast_moves = 0.02  # without any reading, a week moves the estimate towards the norm
    assert distance((low, high)) <= distance(None) + forecast_moves
    assert distance(wider) <= distance((low, high)) + forecast_moves


@pytest.mark.parametrize("interval", [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.6, 0.4), (math.nan, 0.5)])
def test_odd_intervals_are_harmless(histories, interval):
    history = histories.series([0.0, 7.0], [0.0, 1.0])
    odd = [replace(e, signs={"stress": SignReading(e.signs["stress"].score, "low", False, interval)}) for e in history]
    estimate = job_estimates(odd, "job-0001")["stress"]
    assert 0.0 <= estimate.latest_score <= 1.0
