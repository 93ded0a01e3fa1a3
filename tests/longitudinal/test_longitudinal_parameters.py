"""Signs that the parameters do not list."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from vbdesk.lab.history_file import read_history_file
from vbdesk.lab.unrounded_report import unrounded_fields_of_all_jobs, unrounded_report
from vbdesk.longitudinal import HistoryEntry, SignReading, cohort_values, job_estimates, select_signs, trajectory
from vbdesk.longitudinal.parameters import shipped_parameters

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("stress", "mood-disruption", "our-own")
SCORES = [0.2, 0.25, 0.22, 0.2, 0.24, 0.21, 0.23, 0.2, 0.22, 0.97]


def entry(day: int, score: float) -> HistoryEntry:
    readings = dict.fromkeys(NAMES, SignReading(score, "low", flagged=False))
    return HistoryEntry(
        f"job-{day:02}", NOW + timedelta(days=7 * day - 70), "done", 60.0, 80.0, 90.0, (), None, readings
    )


HISTORY = [entry(day, score) for day, score in enumerate(SCORES)]


@pytest.mark.parametrize(("time_scale", "like"), [("fast", "stress"), ("slow", "mood-disruption")])
def test_an_own_sign_has_the_class_of_its_time_scale(time_scale, like):
    parameters = shipped_parameters().with_signs({"our-own": time_scale})
    estimates = job_estimates(HISTORY, HISTORY[-1].job_id, parameters)
    assert estimates["our-own"] == estimates[like]
    read = trajectory("g", HISTORY, NOW, labels={}, parameters=parameters)
    ours, theirs = (next(sign for sign in read.signs if sign.name == name) for name in ("our-own", like))
    renamed = {"name": like, "label": theirs.label}
    assert ours.model_copy(update=renamed) == theirs
    assert ours.time_scale == time_scale
    levels = cohort_values(HISTORY, NOW, parameters)
    assert levels["our-own"] == levels[like]


def test_a_history_file_may_set_time_scales():
    jobs = [
        {
            "job_id": e.job_id,
            "recorded_at": e.recorded_at.isoformat(),
            "scores": {name: {"score": score} for name in NAMES},
        }
        for e, score in zip(HISTORY, SCORES, strict=True)
    ]
    document = {"as_of": NOW.isoformat(), "jobs": jobs, "options": {"time_scales": {"our-own": "fast"}}}
    case = read_history_file(json.dumps(document))
    report = unrounded_report(case)
    for numbers in (
        report["trajectory"],
        report["job_fields"]["signs"],
        unrounded_fields_of_all_jobs(case)["job_fields"][-1]["signs"],
    ):
        assert numbers["our-own"] == numbers["stress"] != numbers["mood-disruption"]


def test_the_two_time_scales_differ():
    estimates = job_estimates(HISTORY, HISTORY[-1].job_id)
    assert estimates["stress"] != estimates["mood-disruption"]


def test_a_sign_that_was_never_measured_shows_its_own_time_scale():
    parameters = shipped_parameters().with_signs({"other-own": "fast"})
    read = trajectory("g", HISTORY, NOW, labels={}, parameters=parameters)
    assert select_signs(read, ["other-own"], parameters).signs[0].time_scale == "fast"


def test_a_sign_that_ships_keeps_its_class():
    parameters = shipped_parameters().with_signs({"stress": "slow"})
    assert parameters.class_of("stress").time_scale == "fast"
    assert shipped_parameters().class_name("our-own") == "slow"
