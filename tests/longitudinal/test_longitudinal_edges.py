"""Edge cases of a history."""

import math
import random
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vbdesk.contract.catalog import SignName
from vbdesk.longitudinal import (
    CohortReference,
    cohort_reference,
    cohort_values,
    job_estimates,
    job_fields,
    snapshot,
    trajectory,
    unconfirmed_changes,
)
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters

MICROSECOND = timedelta(microseconds=1)
FIELDS = ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z")


def read(histories, history, day=250.0, **more):
    return trajectory("subj-7", history, histories.start + timedelta(days=day), labels={"stress": "Stress"}, **more)


def sign_of(result, name="stress"):
    return next(sign for sign in result.signs if sign.name == name)


def test_the_first_submission_has_only_nulls(histories):
    history = histories.series([240.0], [0.42])
    fields = job_fields(history, "job-0000", {"stress": CohortReference(-1.0, 0.5)})
    assert [getattr(fields["stress"], name) for name in FIELDS] == [None] * 6


def test_history_older_than_the_window_makes_it_a_first_submission_again(histories):
    history = histories.series([0.0, 5.0, 275.0], [0.3, 0.3, 0.5])
    assert job_fields(history, "job-0002")["stress"].baseline_score is None


def test_two_recordings_of_one_day_are_one_timepoint_without_an_anomaly(histories):
    history = histories.series([240.0, 240.05], [0.2, 0.9])
    fields = job_fields(history, "job-0001")["stress"]
    assert fields.baseline_score is not None
    assert fields.anomaly is False
    assert sign_of(read(histories, history)).n_timepoints == 1


def test_no_anomaly_before_the_persons_variability_is_known(histories):
    """However large the change: after few readings, this person may vary as much as anybody."""
    few = histories.series(range(0, 21, 7), [0.02, 0.02, 0.99])
    assert not any(point.anomaly for point in sign_of(read(histories, few)).series)
    more = histories.series(range(0, 70, 7), [0.2, 0.24, 0.21, 0.19, 0.22, 0.23, 0.2, 0.21, 0.8, 0.82])
    assert [point.anomaly for point in sign_of(read(histories, more)).series][-2:] == [True, True]


def test_the_first_method_flags_from_the_third_timepoint(histories):
    days, scores = [200.0, 220.0, 240.0], [0.02, 0.02, 0.99]
    points = sign_of(read(histories, histories.series(days, scores), parameters=shipped_parameters("tss-1"))).series
    assert [point.anomaly for point in points] == [False, False, True]


def test_the_order_of_insertion_changes_no_bit(histories):
    history = histories.random(120)
    expected = read(histories, history).model_dump_json()
    fields = job_fields(history, "job-0007")
    shuffler = random.Random(5)
    for _ in range(5):
        shuffler.shuffle(history)
        assert read(histories, history).model_dump_json() == expected
        assert job_fields(history, "job-0007") == fields


def test_equal_capture_times_are_ordered_by_job_id(histories):
    history = [histories.entry(k, 100.0, {"stress": 0.3}) for k in (2, 0, 1)]
    assert [point.job_id for point in read(histories, history).data_points] == ["job-0000", "job-0001", "job-0002"]


def test_a_backfilled_job_sees_only_what_came_before_it(histories):
    history = histories.series([0, 7, 14, 21, 28], [0.3, 0.3, 0.3, 0.9, 0.9])
    early = histories.series([0, 7, 14], [0.3, 0.3, 0.3])
    assert job_fields(history, "job-0002") == job_fields(early, "job-0002")


def test_the_job_being_finished_counts_whatever_its_status_says(histories):
    done = histories.series([0, 7, 14], [0.3, 0.3, 0.6])
    running = [*done[:2], histories.entry(2, 14.0, {"stress": 0.6}, status="running")]
    assert job_fields(running, "job-0002") == job_fields(done, "job-0002")


def test_other_unfinished_and_failed_jobs_do_not_count(histories):
    history = histories.series([0, 7, 14], [0.3, 0.35, 0.3])
    extra = [histories.entry(9, 10.0, {"stress": 0.99}, status=status) for status in ("failed", "running", "queued")]
    assert job_fields([*history, *extra], "job-0002") == job_fields(history, "job-0002")


def test_recordings_up_to_a_day_ahead_count_and_later_ones_wait(histories):
    history = histories.series([230.0, 240.0, 250.9, 255.0], [0.3, 0.3, 0.3, 0.99])
    result = read(histories, history)
    assert (result.window.jobs_used, result.window.future_excluded) == (3, 1)
    assert read(histories, history, day=255.0).window.jobs_used == 4
    assert job_fields(history, "job-0003")["stress"].baseline_score is not None  # as of its own time


def test_scores_that_are_not_numbers_are_left_out(histories):
    history = histories.series([0, 7, 14], [0.3, 0.35, 0.4])
    odd = [histories.entry(8, 3.0, {"stress": None}), histories.entry(9, 4.0, {"stress": math.nan})]
    assert sign_of(read(histories, [*history, *odd], day=20)).series == sign_of(read(histories, history, day=20)).series


def test_scores_outside_the_scale_are_clipped(histories):
    history = histories.series([0, 7, 14], [-0.5, 1.7, 0.4])
    clipped = histories.series([0, 7, 14], [0.0, 1.0, 0.4])
    assert sign_of(read(histories, history, day=20)) == sign_of(read(histories, clipped, day=20))


def test_after_months_of_silence_latest_is_back_at_the_baseline(histories):
    days = [*range(0, 60, 2), 260]
    raised = histories.series(days[:-1], [0.3] * 20 + [0.7] * 10)
    before = job_fields(raised, "job-0029")["stress"]
    quiet = [*raised, histories.entry(40, 260.0, {"stress": 0.3})]
    after = job_fields(quiet, "job-0040")["stress"]
    assert before.anomaly
    assert abs(after.deviation_from_baseline) < 0.3 * abs(before.deviation_from_baseline)


def test_an_unusable_recording_neither_raises_nor_ends_an_anomaly(histories):
    history = histories.series(range(0, 120, 3), [0.25] * 30 + [0.75] * 10, sign="mood-disruption")
    unusable = histories.entry(90, 118.0, {"mood-disruption": 0.0}, voice_percentage=3.0, audio_clarity=5.0)
    then = histories.entry(91, 119.0, {"mood-disruption": 0.75})
    points = sign_of(read(histories, [*history, unusable, then], day=120), "mood-disruption").series
    assert [point.anomaly for point in points[-3:]] == [True, False, True]
    lone = histories.series(range(0, 90, 3), [0.25] * 30, sign="mood-disruption")
    bad = histories.entry(90, 100.0, {"mood-disruption": 1.0}, voice_percentage=3.0, audio_clarity=5.0)
    assert not sign_of(read(histories, [*lone, bad], day=120), "mood-disruption").anomaly


def test_an_inconclusive_reading_weighs_least(histories):
    base = histories.series([0, 7, 14], [0.3, 0.3, 0.3])
    clear = job_fields([*base, histories.entry(3, 21.0, {"stress": 0.9})], "job-0003")["stress"]
    unclear = job_fields([*base, histories.entry(3, 21.0, {"stress": 0.9}, level="inconclusive")], "job-0003")["stress"]
    assert 0.3 < unclear.latest_score < 0.5 * (clear.latest_score + 0.3)


def test_a_slow_sign_waits_for_a_second_timepoint(histories):
    history = histories.series(range(0, 120, 3), [0.25] * 30 + [0.75] * 10, sign="mood-disruption")
    points = sign_of(read(histories, history, day=120), "mood-disruption").series
    slow = shipped_parameters().classes["slow"]

    def limit(n):
        highest, falling = slow.sustained_limit
        return highest - falling * math.log(3) + slow.sustained_limit_for_few / n

    limit_crossed = next(k for k, point in enumerate(points) if point.z_sustained >= limit(k + 1))
    assert not points[limit_crossed].anomaly
    assert points[limit_crossed + 1].anomaly
    waiting = [entry.job_id for entry in history if unconfirmed_changes(job_estimates(history, entry.job_id))]
    assert waiting == [history[limit_crossed].job_id]


def test_a_lasting_change_becomes_the_new_baseline_slowly(histories):
    history = histories.series(range(0, 270, 7), [0.3] * 10 + [0.6] * 29)
    points = sign_of(read(histories, history, day=268)).series
    baseline = [point.baseline for point in points]
    assert baseline[9] == pytest.approx(0.3, abs=0.03)
    assert baseline[9] < baseline[14] < baseline[25] < baseline[-1] < 0.6


def test_a_sign_missing_from_some_jobs_has_its_own_timepoints(histories):
    both = [histories.entry(k, 7.0 * k, {"stress": 0.3, "fatigue": 0.4}) for k in range(4)]
    with_more = [*both, histories.entry(9, 40.0, {"stress": 0.5})]
    result = read(histories, with_more, day=41)
    assert (sign_of(result).n_timepoints, sign_of(result, "fatigue").n_timepoints) == (5, 4)
    assert sign_of(result, "fatigue").series == sign_of(read(histories, both, day=41), "fatigue").series


def test_only_the_thousand_most_recent_recordings_count(histories):
    history = histories.random(1010, signs=("stress",))
    result = read(histories, history, day=269)
    assert (result.window.jobs_used, result.window.truncated, result.done_job_count) == (1000, True, 1010)
    oldest = sorted(history, key=lambda entry: entry.recorded_at)[:10]
    assert {entry.job_id for entry in oldest}.isdisjoint(point.job_id for point in result.data_points)


def test_the_oldest_moment_of_the_window_is_out_and_a_microsecond_later_is_in(histories):
    at = histories.start + timedelta(days=250)
    edge = at - timedelta(days=270)
    history = [histories.entry(k, edge + k * MICROSECOND, {"stress": 0.3}) for k in (-1, 0, 1)]
    assert [point.job_id for point in read(histories, history).data_points] == ["job-0001"]


def test_a_day_ahead_is_in_and_a_microsecond_more_is_out(histories):
    edge = histories.start + timedelta(days=251)
    history = [histories.entry(k, edge + k * MICROSECOND, {"stress": 0.3}) for k in (0, 1)]
    result = read(histories, history)
    assert [point.job_id for point in result.data_points] == ["job-0000"]
    assert result.window.future_excluded == 1


def test_a_jobs_own_window_is_as_sharp(histories):
    at = histories.start + timedelta(days=270)
    job = histories.entry(9, at, {"stress": 0.3})
    for offset, expected in ((0, None), (1, 0.3)):
        first = histories.entry(0, histories.start + offset * MICROSECOND, {"stress": 0.3})
        fields = job_fields([first, job], "job-0009")["stress"]
        assert (fields.baseline_score is None) == (expected is None)


def test_a_day_ends_at_midnight_utc_to_the_microsecond(histories):
    midnight = histories.start.replace(hour=0) + timedelta(days=3)

    def timepoints(*moments):
        history = [histories.entry(k, moment, {"stress": 0.3}) for k, moment in enumerate(moments)]
        return sign_of(read(histories, history)).n_timepoints

    assert timepoints(midnight - MICROSECOND, midnight) == 2
    assert timepoints(midnight, midnight + MICROSECOND, midnight + timedelta(days=1) - MICROSECOND) == 1


@pytest.mark.parametrize("hours", [-11, -3.5, 5.75, 14])
def test_time_zones_change_nothing(histories, hours):
    zone = timezone(timedelta(hours=hours))
    history = histories.random(30)
    elsewhere = [replace(entry, recorded_at=entry.recorded_at.astimezone(zone)) for entry in history]
    at = histories.start + timedelta(days=250)
    here = trajectory("g", history, at, labels={})
    assert trajectory("g", elsewhere, at.astimezone(zone), labels={}) == here
    assert job_fields(elsewhere, "job-0007") == job_fields(history, "job-0007")


@pytest.mark.parametrize(("n", "used", "truncated"), [(0, 0, False), (1, 1, False), (2, 2, False), (3, 3, False)])
def test_short_histories(histories, n, used, truncated):
    result = read(histories, histories.series([7.0 * k for k in range(n)], [0.3] * n))
    assert (result.window.jobs_used, result.window.truncated) == (used, truncated)
    assert [sign.n_recordings for sign in result.signs] == ([n] if n else [])
    for sign in result.signs:
        assert (sign.latest_score is None) == (n < 2)
        assert len(sign.series) == (n if n > 1 else 0)


def test_of_a_thousand_and_one_recordings_the_oldest_is_out(histories):
    history = histories.random(1001, signs=("stress",))
    oldest, newest = (pick(history, key=lambda entry: entry.recorded_at) for pick in (min, max))
    whole, without = (read(histories, part, day=269) for part in (history, [e for e in history if e is not oldest]))
    assert (whole.window.jobs_used, whole.window.truncated, without.window.truncated) == (1000, True, False)
    assert whole.signs == without.signs
    assert job_fields(history, newest.job_id) == job_fields([e for e in history if e is not oldest], newest.job_id)


def test_models_of_a_group_may_differ_from_job_to_job(histories):
    """A sign is filtered over the jobs that have it; other jobs have no effect."""
    models = [("stress", "fatigue"), ("stress", "mood-disruption"), ("fatigue",)]
    history = [histories.entry(k, 3.0 * k, dict.fromkeys(models[k % 3], 0.2 + 0.05 * (k % 4))) for k in range(12)]
    for name in ("stress", "fatigue", "mood-disruption"):
        alone = [entry for entry in history if name in entry.signs]
        assert sign_of(read(histories, history), name) == sign_of(read(histories, alone), name)
    assert set(job_fields(history, "job-0011")) == {"fatigue"}


@pytest.fixture
def first_seen(histories):
    """A slow sign's history up to the first recording that shows its change, at 22:59 UTC."""
    late = (histories.start.replace(hour=22, minute=59) - histories.start) / timedelta(days=1)
    days, scores = [late + 3.0 * k for k in range(40)], [0.25] * 30 + [0.75] * 10
    history = histories.series(days, scores, sign="mood-disruption")
    seen = next(k for k, entry in enumerate(history) if unconfirmed_changes(job_estimates(history, entry.job_id)))
    return history[: seen + 1]


@pytest.mark.parametrize(
    ("minutes", "anomaly"),
    [(30, False), (10 * 60, False), (12 * 60 - 1, False), (12 * 60 + 1, True), (24 * 60, True)],
)
def test_a_slow_change_is_confirmed_on_another_day_and_twelve_hours_later(histories, first_seen, minutes, anomaly):
    later = first_seen[-1].recorded_at + timedelta(minutes=minutes)
    again = [*first_seen, histories.entry(90, later, {"mood-disruption": 0.85})]
    fields = job_fields(again, "job-0090")["mood-disruption"]
    assert fields.anomaly is anomaly
    assert bool(unconfirmed_changes(job_estimates(again, "job-0090"))) is not anomaly


@given(
    scores=st.lists(st.floats(0, 1), min_size=2, max_size=12),
    gaps=st.lists(st.floats(0.0, 40.0), min_size=12, max_size=12),
    clarity=st.none() | st.floats(0, 100),
    voiced=st.none() | st.floats(0, 100),
)
def test_everything_stays_finite(histories, scores, gaps, clarity, voiced):
    days = [sum(gaps[:k]) for k in range(len(scores))]
    history = [
        histories.entry(
            k, day, {"stress": score, "iron-deficiency": 1 - score}, audio_clarity=clarity, voice_percentage=voiced
        )
        for k, (day, score) in enumerate(zip(days, scores, strict=True))
    ]
    result = read(histories, history, day=days[-1])
    assert all(math.isfinite(number) for number in numbers(result.model_dump()))
    for fields in job_fields(history, f"job-{len(scores) - 1:04d}").values():
        assert all(math.isfinite(number) for number in numbers(fields.model_dump()))


def numbers(value):
    """Every float in a nested structure."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)


def test_an_unknown_job_is_refused(histories):
    with pytest.raises(ValueError, match="job-9999 is not in this history"):
        job_fields(histories.series([0], [0.3]), "job-9999")


def test_a_naive_capture_time_is_refused(histories):
    with pytest.raises(ValueError, match="no time zone"):
        histories.entry(0, histories.start.replace(tzinfo=None), {"stress": 0.3})


def test_an_unknown_sign_is_slow(histories):
    assert (
        sign_of(read(histories, histories.series([0, 9], [0.3, 0.4], sign="own-sign")), "own-sign").time_scale == "slow"
    )


def test_a_cohort_needs_thirty_groups(histories):
    levels = [-1.0 + 0.02 * k for k in range(30)]
    assert cohort_reference(levels[:29]) is None
    assert cohort_reference([*levels[:29], None, math.nan]) is None
    reference = cohort_reference(levels)
    assert reference is not None
    told = snapshot(reference, histories.start)
    assert (told.n_groups, told.location, told.snapshot_at) == (30, round(reference.location, 2), histories.start)
    assert snapshot(cohort_reference([*levels, *levels[:9]]), histories.start).n_groups == 30


def test_a_group_joins_a_cohort_with_three_recent_timepoints(histories):
    history = histories.series([0, 7, 14], [0.3, 0.3, 0.3])
    at = histories.start
    assert cohort_values(history, at + timedelta(days=15)).keys() == {"stress"}
    assert cohort_values(history, at + timedelta(days=10)).keys() == set()
    assert cohort_values(history, at + timedelta(days=14 + 90)).keys() == {"stress"}
    assert cohort_values(history, at + timedelta(days=14 + 90, seconds=1)).keys() == set()


def test_population_z_needs_a_reference(histories):
    history = histories.series([0, 7, 14], [0.3, 0.3, 0.9])
    assert job_fields(history, "job-0002")["stress"].population_z is None
    assert job_fields(history, "job-0002", {"stress": CohortReference(-1.0, 0.5)})["stress"].population_z > 0


@pytest.mark.parametrize(
    ("section", "change", "complaint"),
    [
        ("signs", {"default_class": "glacial"}, "no such class: glacial"),
        ("scale", {"offset": -0.1}, "greater than 0"),
        ("quality", {"factor_range": [16.0, 0.6]}, "lowest, highest"),
        ("timepoint", {"shared_variance": 0.7}, "below the lowest quality factor"),
        ("trend", {"colour": "red"}, "Extra inputs"),
        ("cohort", {"min_groups": 5}, "greater than or equal to 11"),
    ],
)
def test_inconsistent_parameters_are_refused(section, change, complaint):
    numbers_of_file = shipped_parameters().model_dump()
    numbers_of_file[section] |= change
    with pytest.raises(ValidationError, match=complaint):
        Parameters.model_validate(numbers_of_file)


def test_every_catalogued_sign_has_its_class():
    assert set(shipped_parameters().signs.class_of) == {sign.value for sign in SignName}


@pytest.mark.parametrize(("per_30_days", "direction"), [(0.008, "stable"), (0.012, "rising"), (-0.012, "falling")])
def test_a_slope_below_the_least_is_stable_however_certain_it_is(histories, per_30_days, direction):
    days = range(90)
    trend = sign_of(read(histories, histories.series(days, [0.3 + per_30_days * day / 30 for day in days]), 90.0)).trend
    low, high = trend.interval
    assert low * high > 0, "the interval leaves out zero"
    assert trend.direction == direction
