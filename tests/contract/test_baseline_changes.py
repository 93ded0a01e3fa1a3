"""Changes against the baseline come from the trajectory: they equal those that the service put into the result."""

import json
from pathlib import Path

import pytest

from vbdesk.contract.baseline_changes import Comparison, comparison_of, job_with_changes, with_changes
from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.contract.results import Signal, signals_of

ANSWERS = Path(__file__).parents[1] / "desk" / "data"
FIELDS = ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z")


@pytest.fixture
def trajectory():
    return TrajectoryRead.model_validate_json((ANSWERS / "trajectory_pulse.json").read_bytes())


@pytest.fixture
def job():
    return Job.model_validate_json((ANSWERS / "job_pulse_moderate.json").read_bytes())


def fields_of(result):
    return [getattr(signal, name) for signal in signals_of(result) for name in FIELDS]


def without(trajectory, *places):
    points = [point for place, point in enumerate(trajectory.data_points) if place not in places]
    return trajectory.model_copy(update={"data_points": points})


def test_they_equal_what_the_service_computed_for_the_recording_itself(trajectory, job):
    assert with_changes(job.result, trajectory, job.job_id) == job.result
    assert comparison_of(trajectory, job.job_id) is Comparison.COMPARED


def test_a_recording_that_left_the_course_has_none_whatever_its_result_says(trajectory, job):
    assert set(fields_of(with_changes(job.result, without(trajectory, 7), job.job_id))) == {None}
    assert comparison_of(without(trajectory, 7), job.job_id) is Comparison.PENDING
    assert set(fields_of(job_with_changes(job, None).result)) == {None}


def test_the_first_recording_has_none(trajectory, job):
    first = without(trajectory, *range(7))
    assert set(fields_of(with_changes(job.result, first, job.job_id))) == {None}
    assert comparison_of(first, job.job_id) is Comparison.FIRST


def test_a_deviation_is_the_difference_of_the_day_to_four_digits(trajectory, job):
    own = next(point for point in trajectory.data_points if point.job_id == job.job_id)
    day = {"latest": 0.45678912, "baseline": 0.1}
    signs = [
        sign.model_copy(
            update={
                "series": [
                    point.model_copy(update=day if point.t.date() == own.recorded_at.date() else {})
                    for point in sign.series
                ]
            }
        )
        for sign in trajectory.signs
    ]
    changed = with_changes(job.result, trajectory.model_copy(update={"signs": signs}), job.job_id)
    assert {signal.deviation_from_baseline for signal in signals_of(changed)} == {0.3568}
    assert {signal.latest_score for signal in signals_of(changed)} == {0.45678912}


def test_a_result_without_a_history_stays_as_it_is(trajectory, job):
    plain = [Signal.model_validate(signal.model_dump(exclude=set(FIELDS))) for signal in signals_of(job.result)]
    result = job.result.model_copy(update={"signals": plain})
    for read in (trajectory, None):
        assert with_changes(result, read, job.job_id).model_dump() == result.model_dump()


def test_nothing_else_of_the_result_changes(trajectory, job):
    kept = json.loads(with_changes(job.result, None, job.job_id).model_dump_json())
    was = json.loads(job.result.model_dump_json())
    for signal in (*kept["signals"], *was["signals"]):
        for name in FIELDS:
            signal.pop(name)
    assert kept == was
