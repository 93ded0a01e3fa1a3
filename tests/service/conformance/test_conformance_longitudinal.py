"""Longitudinal analysis: fields from the group's history, the trajectory and the cohort."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from derivations import assert_signal, assert_summary
from examination import (
    ADDRESS,
    LONGITUDINAL_FIELDS,
    MALE_SPEECH,
    MODELS,
    SPEECH,
    accepted,
    assert_error,
    done,
    instant,
    new_group,
    read,
    submit,
)

from vbdesk.clock import utc_now


def days_ago(days: float) -> str:
    return (utc_now() - timedelta(days=days)).isoformat()


def fields_of(signal: dict[str, Any]) -> dict[str, Any]:
    return {name: signal[name] for name in LONGITUDINAL_FIELDS}


def assert_first(signal: dict[str, Any]) -> None:
    assert set(fields_of(signal).values()) == {None}


def assert_later(signal: dict[str, Any]) -> None:
    fields = fields_of(signal)
    assert 0 <= fields["baseline_score"] <= 1 and 0 <= fields["latest_score"] <= 1
    difference = fields["latest_score"] - fields["baseline_score"]
    assert fields["deviation_from_baseline"] == pytest.approx(difference, abs=1e-9)
    assert type(fields["anomaly"]) is bool
    assert type(fields["z_score"]) in (int, float)
    assert fields["population_z"] is None or ADDRESS  # own services have no reference for the signal; others may


@pytest.fixture(scope="module")
def subject(api: httpx.Client) -> dict[str, Any]:
    """Group of a subject: two model jobs, a raw sign job, a longitudinal sign job, and one older than the window.

    The job submitted last has the earliest recording time.
    """
    group = new_group()
    recordings = {
        "third": ("signs/mood-disruption", "analyze", 2),
        "second": ("models/pulse", "analyze/longitudinal", 3),
        "sign": ("signs/stress", "analyze/longitudinal", 1),
        "first": ("models/pulse", "analyze/longitudinal", 5),
        "ancient": ("signs/stress", "analyze/longitudinal", 300),
    }
    jobs = {}
    for number, (name, (target, form, days)) in enumerate(recordings.items()):
        audio = (SPEECH, MALE_SPEECH)[number % 2]
        path = f"/v2/{target}/groups/{group}/{form}"
        jobs[name] = submit(api, path, audio, recorded_at=days_ago(days))["job_id"]
    return {"group": group, "ids": jobs, **{name: done(api, job_id) for name, job_id in jobs.items()}}


def test_first_submission_has_null_in_every_longitudinal_field(subject: dict) -> None:
    result = subject["first"]["result"]
    assert set(result) == {"summary", "signals", "audio_quality", "extended_metrics"}
    assert [signal["name"] for signal in result["signals"]] == MODELS["pulse"]
    for signal in result["signals"]:
        assert_signal(signal, signal["name"], LONGITUDINAL_FIELDS)
        assert_first(signal)
    assert_summary(result["summary"], result["signals"])


def test_later_submission_is_measured_against_the_history_whatever_came_in_first(subject: dict) -> None:
    result = subject["second"]["result"]
    for signal in result["signals"]:
        assert_signal(signal, signal["name"], LONGITUDINAL_FIELDS)
        assert_later(signal)
    assert_summary(result["summary"], result["signals"])


def test_longitudinal_sign_result_has_the_fields_on_its_signal(subject: dict) -> None:
    result = subject["sign"]["result"]
    assert set(result) == {"signal", "audio_quality"}
    assert_signal(result["signal"], "stress", LONGITUDINAL_FIELDS)
    assert_later(result["signal"])


def test_raw_group_result_has_no_longitudinal_fields(subject: dict) -> None:
    assert_signal(subject["third"]["result"]["signal"], "mood-disruption")


def test_recording_with_nothing_in_its_window_is_a_first_one(subject: dict) -> None:
    assert_first(subject["ancient"]["result"]["signal"])


def test_group_list_counts_the_done_jobs(api: httpx.Client, subject: dict) -> None:
    group = next(item for item in read(api, "/v2/groups")["groups"] if item["group_id"] == subject["group"])
    assert (group["job_count"], group["done_job_count"]) == (5, 5)
    assert instant(group["updated_at"]) >= max(instant(subject[name]["created_at"]) for name in subject["ids"])


def test_members_are_done_and_filter_done_selects_them(api: httpx.Client, subject: dict) -> None:
    listed = read(api, f"/v2/groups/{subject['group']}/jobs", status="done")
    assert [item["job_id"] for item in listed["jobs"]] == [
        subject["ids"][name] for name in ("ancient", "first", "second", "third", "sign")
    ]
    assert {item["status"] for item in listed["jobs"]} == {"done"}
    assert read(api, f"/v2/groups/{subject['group']}/jobs", status="queued")["jobs"] == []


def test_trajectory_draws_its_points_from_the_window_and_counts_the_whole_group(
    api: httpx.Client, subject: dict
) -> None:
    trajectory = read(api, f"/v2/groups/{subject['group']}/longitudinal")
    assert trajectory["status"] == "done"
    assert trajectory["done_job_count"] == 5
    points = trajectory["data_points"]
    assert [point["job_id"] for point in points] == [
        subject["ids"][name] for name in ("first", "second", "third", "sign")
    ]
    assert [signal["name"] for signal in points[0]["signals"]] == MODELS["pulse"]
    readings = {signal["name"]: signal["score"] for signal in subject["first"]["result"]["signals"]}
    assert {signal["name"]: signal["score"] for signal in points[0]["signals"]} == readings


def test_trajectory_can_be_asked_for_single_signs(api: httpx.Client, subject: dict) -> None:
    path = f"/v2/groups/{subject['group']}/longitudinal"
    both = read(api, path, sign=["stress", "fatigue"])
    assert {sign["name"] for sign in both["signs"]} == {"stress", "fatigue"}
    assert {sign["name"] for sign in read(api, path)["signs"]} == set(MODELS["pulse"])


def test_trajectory_agrees_with_the_last_jobs_own_fields(api: httpx.Client, subject: dict) -> None:
    (stress,) = read(api, f"/v2/groups/{subject['group']}/longitudinal", sign="stress")["signs"]
    own = subject["sign"]["result"]["signal"]
    assert stress["n_recordings"] == 3
    assert stress["latest_score"] == pytest.approx(own["latest_score"], abs=2e-4)
    assert stress["baseline_score"] == pytest.approx(own["baseline_score"], abs=2e-4)


def test_aggregate_counts_the_group_as_a_cohort(api: httpx.Client, subject: dict) -> None:
    cohort = read(api, f"/v2/groups/{subject['group']}/aggregate")
    assert (cohort["status"], cohort["group_id"]) == ("done", subject["group"])
    expected = {"total": 5, "queued": 0, "running": 0, "done": 5, "failed": 0, "timed_out": 0}
    assert cohort["job_counts"] == expected
    assert cohort["window"]["jobs_used"] == cohort["recordings"]["n"] == 4
    for sign in cohort["signs"]:
        assert sum(sign["level_counts"].values()) == sign["n"]


def test_removing_a_job_changes_what_is_read_next(api: httpx.Client, subject: dict) -> None:
    copy = new_group()
    api.post("/v2/groups", json={"group_id": copy})
    ids = [subject["ids"][name] for name in ("first", "second", "sign")]
    added = accepted(api.post(f"/v2/groups/{copy}/jobs", json={"job_ids": ids}))
    assert (sorted(added["added"]), added["not_yet_done"]) == (sorted(ids), [])

    def points() -> list[str]:
        return [point["job_id"] for point in read(api, f"/v2/groups/{copy}/longitudinal")["data_points"]]

    def used() -> int:
        return read(api, f"/v2/groups/{copy}/aggregate")["recordings"]["n"]

    assert (points(), used()) == (ids, 3)
    accepted(api.delete(f"/v2/groups/{copy}/jobs/{ids[1]}"))
    assert (points(), used()) == ([ids[0], ids[2]], 2)
    assert read(api, f"/v2/jobs/{ids[1]}")["result"] == subject["second"]["result"]


def test_empty_group_has_an_empty_trajectory_and_cohort(api: httpx.Client) -> None:
    group = new_group()
    api.post("/v2/groups", json={"group_id": group})
    trajectory = read(api, f"/v2/groups/{group}/longitudinal")
    assert (trajectory["status"], trajectory["done_job_count"], trajectory["data_points"]) == ("done", 0, [])
    assert read(api, f"/v2/groups/{group}/aggregate")["job_counts"]["total"] == 0


def test_deleted_group_begins_anew(api: httpx.Client, subject: dict) -> None:
    group = new_group()
    api.post("/v2/groups", json={"group_id": group})
    accepted(api.post(f"/v2/groups/{group}/jobs", json={"job_ids": [subject["ids"]["first"]]}))
    assert read(api, f"/v2/groups/{group}/longitudinal")["done_job_count"] == 1
    accepted(api.delete(f"/v2/groups/{group}"))
    assert_error(api.get(f"/v2/groups/{group}/longitudinal"), 404, "NOT_FOUND")
    assert_error(api.get(f"/v2/groups/{group}/aggregate"), 404, "NOT_FOUND")
    api.post("/v2/groups", json={"group_id": group})
    assert read(api, f"/v2/groups/{group}/longitudinal")["done_job_count"] == 0


def test_recording_from_the_future_is_listed_but_outside_the_window(api: httpx.Client) -> None:
    group = new_group()
    path = f"/v2/signs/stress/groups/{group}/analyze"
    done(api, submit(api, path, recorded_at=days_ago(-3))["job_id"])
    assert read(api, f"/v2/groups/{group}/jobs", status="done")["total_jobs"] == 1
    trajectory = read(api, f"/v2/groups/{group}/longitudinal")
    assert (trajectory["done_job_count"], trajectory["data_points"]) == (1, [])
