"""The earlier v2 form: use cases and conditions."""

from typing import Any

import httpx
import pytest
from derivations import SIGNAL_FIELDS, assert_summary
from examination import (
    JOB_FIELDS,
    MODELS,
    SIGNS,
    UNFAILED,
    USE_CASES,
    assert_error,
    assert_validation_error,
    done,
    new_group,
    post_form,
    read,
    submit,
    upload,
)

EARLIER_FIELDS = JOB_FIELDS | {"use_case", "condition"}


def assert_just_submitted(job: Any, job_type: str, name: str) -> None:
    assert (job["status"], job["completed_at"], job["result"]) == ("running", None, None)
    assert (job["job_type"], job["api_version"]) == (job_type, "v2")
    assert job[job_type] == name
    assert job.get("condition" if job_type == "use_case" else "use_case") is None
    assert job.get("model_name") is None and job.get("sign_name") is None


@pytest.mark.parametrize("use_case", USE_CASES)
def test_use_case_submit_answers_a_running_job(still: httpx.Client, use_case: str) -> None:
    job = submit(still, "/v2/use-case/analyze", use_case=use_case)
    assert set(job) <= EARLIER_FIELDS
    assert_just_submitted(job, "use_case", use_case)


@pytest.mark.parametrize("condition", SIGNS.values())
def test_condition_submit_answers_a_running_job(still: httpx.Client, condition: str) -> None:
    job = submit(still, "/v2/condition/analyze", condition=condition)
    assert set(job) <= EARLIER_FIELDS
    assert_just_submitted(job, "condition", condition)


def test_jobs_of_the_earlier_form_are_never_queued_to_their_readers(still: httpx.Client) -> None:
    job_id = submit(still, "/v2/use-case/analyze", use_case="wellness")["job_id"]
    job, listed = read(still, f"/v2/jobs/{job_id}"), read(still, "/v2/jobs")["jobs"][0]
    assert set(listed) == {"job_id", "status", "created_at"}
    assert (listed["job_id"], listed["created_at"]) == (job_id, job["created_at"])
    assert {job["status"], listed["status"]} <= {"running", "done"}


def test_unrecognized_use_case_is_refused(still: httpx.Client) -> None:
    for use_case in ("unknown", "haven", ""):
        answer = post_form(still, "/v2/use-case/analyze", use_case=use_case)
        assert answer.status_code in ((400,) if use_case else (400, 422))
        assert not use_case or assert_error(answer, 400, "INVALID_USE_CASE")


@pytest.mark.parametrize("condition", ["unknown", "stress", "mood-disruption", "acute_stress"])
def test_unrecognized_condition_is_refused(still: httpx.Client, condition: str) -> None:
    assert_error(post_form(still, "/v2/condition/analyze", condition=condition), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("kind", ["use-case", "condition"])
def test_missing_name_is_a_validation_error(still: httpx.Client, kind: str) -> None:
    assert_validation_error(post_form(still, f"/v2/{kind}/analyze"))


@pytest.mark.parametrize(
    ("kind", "field", "name"), [("use-case", "use_case", "wellness"), ("condition",) * 2 + ("anxiety",)]
)
def test_earlier_form_keeps_the_rules_of_analyze(still: httpx.Client, kind: str, field: str, name: str) -> None:
    path, asked = f"/v2/{kind}/analyze", {field: name}
    reference = upload(still)
    submit(still, path, None, audio_upload_ref=reference, **asked)
    assert_error(post_form(still, path, None, **asked), 400, "INVALID_REQUEST")
    assert_error(post_form(still, path, audio_upload_ref=reference, **asked), 400, "INVALID_REQUEST")
    assert_error(post_form(still, path, webhook_url="https://example.com/", **asked), 400, "INVALID_REQUEST")
    assert_error(post_form(still, path, b"no recording", **asked), 400, "UNSUPPORTED_FORMAT")


@pytest.mark.parametrize("kind", ["use-cases", "conditions"])
def test_unknown_name_in_a_group_path_is_not_found(still: httpx.Client, kind: str) -> None:
    group = new_group()
    assert_error(post_form(still, f"/v2/{kind}/unknown/groups/{group}/analyze"), 404, "NOT_FOUND")
    assert_error(still.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")


@pytest.mark.parametrize(("kind", "name"), [("use-cases", "wellness"), ("conditions", "acute-stress")])
def test_group_submit_registers_the_job(still: httpx.Client, kind: str, name: str) -> None:
    group = new_group()
    path = f"/v2/{kind}/{name}/groups/{group}/analyze"
    job = submit(still, path, recorded_at="2026-02-03T08:00:00Z")
    assert (job["group_id"], job["status"], job["result"]) == (group, "running", None)
    assert job["recorded_at"].startswith("2026-02-03T08:00:00")
    (item,) = read(still, f"/v2/groups/{group}/jobs")["jobs"]
    assert item[kind.removesuffix("s").replace("-", "_")] == name
    assert item["status"] in UNFAILED


def test_membership_of_a_running_job_of_the_earlier_form_begins_queued(queued: httpx.Client) -> None:
    group = new_group()
    job_id = submit(queued, f"/v2/use-cases/wellness/groups/{group}/analyze")["job_id"]
    assert [job["job_id"] for job in read(queued, f"/v2/groups/{group}/jobs", status="queued")["jobs"]] == [job_id]


@pytest.fixture(scope="module")
def finished(api: httpx.Client) -> dict[str, Any]:
    group = new_group()
    asked = {
        "use case": ("use-case/analyze", {"use_case": "behavioral-health"}),
        "condition": ("condition/analyze", {"condition": "acute-stress"}),
        "group use case": (f"use-cases/respiratory/groups/{group}/analyze", {}),
        "group condition": (f"conditions/depression/groups/{group}/analyze", {}),
    }
    jobs = {name: submit(api, f"/v2/{path}", **fields) for name, (path, fields) in asked.items()}
    return {"group id": group, **{name: done(api, job["job_id"]) for name, job in jobs.items()}}


@pytest.mark.parametrize(("name", "use_case"), [("use case", "behavioral-health"), ("group use case", "respiratory")])
def test_done_use_case_has_the_signals_of_its_model_with_model_ids(finished: Any, name: str, use_case: str) -> None:
    job = finished[name]
    assert (job["job_type"], job["use_case"], job["api_version"]) == ("use_case", use_case, "v2")
    result = job["result"]
    assert set(result) == {"summary", "signals", "audio_quality", "extended_metrics"}
    assert [signal["model_id"] for signal in result["signals"]] == MODELS[USE_CASES[use_case]]
    for signal in result["signals"]:
        assert signal["name"] == signal["model_id"]
        assert set(signal) <= SIGNAL_FIELDS | {"model_id"}
    assert_summary(result["summary"], result["signals"])


@pytest.mark.parametrize(("name", "sign"), [("condition", "stress"), ("group condition", "mood-disruption")])
def test_done_condition_has_a_singular_signal(finished: Any, name: str, sign: str) -> None:
    job = finished[name]
    assert job["job_type"] == "condition"
    assert set(job["result"]) == {"signal", "audio_quality"}
    assert job["result"]["signal"]["model_id"] == job["result"]["signal"]["name"] == sign


def test_group_jobs_of_the_earlier_form_feed_the_history(api: httpx.Client, finished: Any) -> None:
    trajectory = read(api, f"/v2/groups/{finished['group id']}/longitudinal")
    assert trajectory["done_job_count"] == 2
    named = {signal["name"] for point in trajectory["data_points"] for signal in point["signals"]}
    assert named == {*MODELS["breath"], "mood-disruption"}
