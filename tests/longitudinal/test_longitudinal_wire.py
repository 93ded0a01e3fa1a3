"""The two reads as JSON: exactly the documented keys, four decimals, and the definitions of the aggregate."""

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from pydantic import TypeAdapter

from vbdesk.contract.longitudinal import AggregateRead, Trajectory, TrajectoryRead, TrajectoryRunning
from vbdesk.longitudinal import CohortReference, aggregate, job_fields, snapshot, trajectory, trajectory_json
from vbdesk.longitudinal.aggregate import wilson_interval

TRAJECTORY = """
{"status":"done","group_id":"subj-7","as_of":"","computed_at":"","method":"tss-2","parameters":{"version":"","source":"","n_groups":0,"fitted_at":""},"interval_level":0.9,
 "window":{"days":270,"from":"","to":"","max_jobs":1000,"jobs_used":42,"truncated":false,"future_excluded":0},
 "done_job_count":57,"pending_job_count":1,
 "signs":[{"name":"stress","label":"Stress","time_scale":"fast","n_recordings":42,"n_timepoints":38,
   "last_recorded_at":"","age_days":2.2,"latest_score":0.5,"latest_interval":[0,1],"baseline_score":0.4,
   "baseline_interval":[0,1],"normal_range":[0,1],"deviation_from_baseline":0.1,"z_score":1.9,"z_sustained":3.6,
   "anomaly":true,"population_z":0.41,"population_reference":{"source":"account_cohort","n_groups":40,"snapshot_at":""},
   "subject_sd_ratio":1.12,
   "trend":{"direction":"rising","slope_per_30d":0.031,"interval":[0.008,0.055],"horizon_days":90},
   "anomalies":[{"start":"","end":"","direction":"above","kind":"sustained","peak_z":2.9,"timepoints":5,"open":true}],
   "series":[{"t":"","n":1,"reading":0.61,"latest":0.5,"latest_interval":[0,1],"baseline":0.4,"normal_range":[0,1],
     "z":1.95,"z_sustained":3.61,"anomaly":true,"kind":"sustained"}]}],
 "data_points":[{"job_id":"...","recorded_at":"","timepoint":"2026-02-27","relative_weight":0.91,
   "audio_quality":{"issues":[],"voice_percentage":64.0,"audio_clarity":82.0},
   "signals":[{"name":"stress","score":0.61,"level":"moderate","flagged":true}]}]}
"""
AGGREGATE = """
{"status":"done","group_id":"clinic-a","as_of":"","window":{"days":270,"jobs_used":42,"truncated":false},
 "job_counts":{"total":61,"queued":1,"running":0,"done":57,"failed":2,"timed_out":1},
 "recordings":{"n":42,"total_minutes":38.2,"duration_seconds":{"p10":31.0,"p50":52.0,"p90":88.0},
   "voice_percentage":{"p10":41.0,"p50":63.0,"p90":78.0},"audio_clarity":{"p10":52.0,"p50":79.0,"p90":93.0},
   "issue_counts":{"high_background_noise":3},"usable_share":0.9524},
 "adherence":{"first_recorded_at":"","last_recorded_at":"","active_days":38,"weeks":37,"active_weeks":31,
   "active_week_share":0.8378,"recordings_per_week":1.14,"median_gap_days":6.9,"longest_gap_days":21.0,
   "current_gap_days":2.2},
 "recommended_actions":{"none":12,"monitor":9,"consider":11,"review":7,"escalate":2,"inconclusive":1},
 "signs":[{"name":"stress","label":"Stress","n":42,
   "level_counts":{"none":10,"low":9,"consider":12,"moderate":8,"elevated":2,"inconclusive":1},
   "flagged_count":22,"flagged_share":0.5238,"flagged_share_interval":[0.3772,0.6664],
   "score":{"mean":0.4,"sd":0.1,"min":0.1,"p10":0.2,"p25":0.3,"p50":0.4,"p75":0.5,"p90":0.6,"max":0.7},
   "weekly":[{"week":"2026-W09","n":1,"median":0.61,"flagged_count":1}]}]}
"""


def keys(value):
    """Key structure of nested JSON; of a list, that of its first item."""
    if isinstance(value, dict):
        return {name: keys(item) for name, item in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


def floats(value):
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from floats(item)


@pytest.fixture
def raised(histories):
    """Forty recordings, the last ten well above the rest, with unrepresentable scores."""
    return histories.series(range(0, 200, 5), [1 / 3 - 0.07 * (k % 2) + 0.37 * (k >= 30) for k in range(40)])


@pytest.fixture
def read(histories, raised):
    at = histories.start + timedelta(days=200.123)
    cohort = snapshot(CohortReference(-1.0, 0.7, "account_cohort", 47), at)
    return trajectory("subj-7", raised, at, labels={"stress": "Stress"}, references={"stress": cohort})


def test_the_trajectory_has_the_documented_keys(read):
    assert keys(json.loads(read.model_dump_json())) == keys(json.loads(TRAJECTORY))


def test_the_trajectory_survives_the_wire(read):
    assert TrajectoryRead.model_validate_json(read.model_dump_json()) == read


def test_the_fast_json_equals_the_validated_json(histories, raised):
    at = histories.start + timedelta(days=200.123)
    odd = histories.entry(90, 199.0, {"stress": math.nan, "fatigue": 1.5}, voice_percentage=None, audio_clarity=None)
    cohort = {"stress": snapshot(CohortReference(-1.0, 0.7, "account_cohort", 47), at)}
    for history in ([], raised[:1], [*raised, odd]):
        read = trajectory("g", history, at, labels={}, references=cohort, done_job_count=3, pending_job_count=1)
        quick = trajectory_json("g", history, at, labels={}, references=cohort, done_job_count=3, pending_job_count=1)
        assert quick == read.model_dump_json()


def test_numbers_of_the_trajectory_have_four_decimals(read):
    assert all(number == round(number, 4) for number in floats(json.loads(read.model_dump_json())))


def test_the_deviation_is_the_difference_of_the_rounded_scores(histories, raised, read):
    sign = read.signs[0]
    assert sign.deviation_from_baseline == round(sign.latest_score - sign.baseline_score, 4)
    for entry in raised[1:]:
        fields = job_fields(raised, entry.job_id)["stress"]
        assert fields.deviation_from_baseline == round(fields.latest_score - fields.baseline_score, 4)


def test_the_newest_job_and_the_trajectory_agree(raised, read):
    fields, sign = job_fields(raised, "job-0039")["stress"], read.signs[0]
    for name in ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score"):
        assert getattr(fields, name) == getattr(sign, name)


def test_the_number_of_groups_is_rounded_to_tens(read):
    assert read.signs[0].population_reference.n_groups == 40


def test_the_running_response_is_recognised(read):
    running = TrajectoryRunning(group_id="subj-7", retry_after_seconds=2, done_job_count=57)
    assert json.loads(running.model_dump_json()) == {
        "status": "running",
        "group_id": "subj-7",
        "retry_after_seconds": 2,
        "done_job_count": 57,
        "signs": [],
        "data_points": [],
    }
    adapter = TypeAdapter(Trajectory)
    assert isinstance(adapter.validate_json(running.model_dump_json()), TrajectoryRunning)
    assert isinstance(adapter.validate_json(read.model_dump_json()), TrajectoryRead)


def test_a_sign_with_one_recording_has_nulls_and_an_empty_trend(histories):
    sign = trajectory("g", histories.series([5], [0.4]), histories.start + timedelta(days=6), labels={}).signs[0]
    assert (sign.n_recordings, sign.latest_score, sign.anomaly, sign.series, sign.anomalies) == (1, None, None, [], [])
    assert (sign.trend.direction, sign.trend.slope_per_30d) == ("insufficient_data", None)
    assert sign.age_days == 1.0


def test_asking_for_one_sign_leaves_the_others_out(histories):
    history = [histories.entry(k, 7.0 * k, {"stress": 0.3, "fatigue": 0.4}) for k in range(4)]
    result = trajectory("g", history, histories.start + timedelta(days=30), labels={}, signs=["fatigue", "anxiety"])
    assert [(sign.name, sign.n_recordings) for sign in result.signs] == [("anxiety", 0), ("fatigue", 4)]
    assert [[signal.name for signal in point.signals] for point in result.data_points] == [["fatigue"]] * 4


def test_an_empty_group_reads_as_empty(histories):
    result = trajectory("g", [], histories.start, labels={})
    assert (result.status, result.signs, result.data_points, result.done_job_count) == ("done", [], [], 0)
    cohort = aggregate("g", [], histories.start, {})
    assert (cohort.recordings.n, cohort.recordings.usable_share, cohort.adherence.weeks) == (0, None, 0)
    assert (cohort.adherence.last_recorded_at, cohort.job_counts.total, cohort.signs) == (None, 0, [])
    assert set(cohort.recommended_actions.values()) == {0}


def test_pending_jobs_are_counted(histories):
    history = [histories.entry(k, 1.0 * k, {}, status=status) for k, status in enumerate(["done", "queued", "running"])]
    result = trajectory("g", history, histories.start + timedelta(days=9), labels={})
    assert (result.done_job_count, result.pending_job_count) == (1, 2)


@pytest.fixture
def clinic(histories):
    """Twelve weekly recordings from 15 June 2025 (a Sunday), one inconclusive, and jobs that did not finish."""
    levels = ["none", "low", "consider", "moderate", "elevated", "inconclusive"] * 2
    done = [
        histories.entry(
            k,
            7.0 * k,
            {"stress": 0.1 + 0.05 * k},
            level=level,
            duration_s=30.0 + k,
            issues=("high_background_noise",) if k == 3 else (),
            voice_percentage=3.0 if k == 5 else 65.0,
            audio_clarity=5.0 if k == 5 else 80.0,
        )
        for k, level in enumerate(levels)
    ]
    other = [histories.entry(20 + k, 1.0, {}, status=s) for k, s in enumerate(["failed", "timed-out", "queued"])]
    return done + other


@pytest.fixture
def cohort(histories, clinic):
    return aggregate("clinic-a", clinic, histories.start + timedelta(days=80), {"stress": "Stress"})


def test_the_aggregate_has_the_documented_keys(cohort):
    assert keys(json.loads(cohort.model_dump_json())) == keys(json.loads(AGGREGATE))
    assert AggregateRead.model_validate_json(cohort.model_dump_json()) == cohort


def test_the_aggregate_counts_all_jobs_and_summarises_the_finished(cohort):
    assert cohort.job_counts.model_dump() == {
        "total": 15, "queued": 1, "running": 0, "done": 12, "failed": 1, "timed_out": 1,
    }  # fmt: skip
    recordings = cohort.recordings
    assert (recordings.n, recordings.total_minutes) == (12, round(sum(30 + k for k in range(12)) / 60, 4))
    assert recordings.duration_seconds.model_dump() == {"p10": 31.1, "p50": 35.5, "p90": 39.9}
    assert recordings.issue_counts == {"high_background_noise": 1}
    assert recordings.usable_share == round(11 / 12, 4)


def test_adherence_counts_days_weeks_and_gaps(cohort):
    adherence = cohort.adherence
    assert (adherence.active_days, adherence.weeks, adherence.active_weeks) == (12, 12, 12)
    assert (adherence.active_week_share, adherence.recordings_per_week) == (1.0, 1.0)
    assert (adherence.median_gap_days, adherence.longest_gap_days, adherence.current_gap_days) == (7.0, 7.0, 3.0)


def test_inconclusive_readings_are_counted_in_levels_but_not_in_scores(cohort):
    sign = cohort.signs[0]
    assert sign.n == 12
    assert sign.level_counts["inconclusive"] == 2
    assert sign.score.max == 0.6  # 0.65 was inconclusive
    assert (sign.flagged_count, sign.flagged_share) == (6, 0.5)
    assert sign.flagged_share_interval == pytest.approx((0.2538, 0.7462))
    assert [(week.week, week.n) for week in sign.weekly[:2]] == [("2025-W24", 1), ("2025-W25", 1)]
    assert sign.weekly[5].median is None


def test_ten_conclusive_scores_have_all_quantiles(cohort):
    score = cohort.signs[0].score
    conclusive = [0.1 + 0.05 * k for k in range(12) if k % 6 != 5]
    for percent in (10, 25, 50, 75, 90):
        assert getattr(score, f"p{percent}") == pytest.approx(np.percentile(conclusive, percent), abs=1e-4)
    assert (score.mean, score.min) == (pytest.approx(np.mean(conclusive), abs=1e-4), 0.1)


def test_few_recordings_have_no_tails(histories):
    nine = aggregate("g", histories.series(range(9), [0.2] * 9), histories.start + timedelta(days=9), {}).signs[0].score
    assert (nine.p10, nine.p90, nine.p25) == (None, None, 0.2)
    two = aggregate("g", histories.series([0, 1], [0.2, 0.4]), histories.start + timedelta(days=2), {}).signs[0].score
    assert (two.p10, two.p90, two.p50, two.sd) == (None, None, 0.3, pytest.approx(0.1414))
    one = aggregate("g", histories.series([0], [0.2]), histories.start + timedelta(days=2), {}).signs[0].score
    assert (one.mean, one.min, one.p50, one.sd) == (0.2, 0.2, None, None)


def test_weeks_run_across_the_turn_of_the_year(histories):
    times = [datetime(2020, 12, 31, 12, tzinfo=UTC), datetime(2021, 1, 3, 12, tzinfo=UTC)]
    history = [histories.entry(k, time, {"stress": 0.3}) for k, time in enumerate(times)]
    result = aggregate("g", history, times[1], {})
    assert [(week.week, week.n) for week in result.signs[0].weekly] == [("2020-W53", 2)]
    assert result.adherence.weeks == 1


@pytest.mark.parametrize(
    ("successes", "n", "expected"), [(22, 42, (0.3772, 0.6664)), (0, 10, (0.0, 0.2775)), (0, 0, None)]
)
def test_the_wilson_interval_equals_the_textbook(successes, n, expected):
    interval = wilson_interval(successes, n)
    assert interval == (None if expected is None else pytest.approx(expected, abs=5e-5))
