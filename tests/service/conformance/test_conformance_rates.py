"""Rate limits of the standard plan: three buckets, which route counts where, and Retry-After."""

import uuid

import httpx
import pytest
from examination import Examined, assert_error, mint, post_form

GENERAL, ANALYZE, POLLING = 10, 5, 30
SOME_JOB = str(uuid.UUID(int=7))
GENERAL_ROUTES = [
    ("GET", "/v2/models"),
    ("GET", "/v2/models/pulse"),
    ("GET", "/v2/signs"),
    ("GET", "/v2/signs/unknown"),
    ("GET", "/v2/jobs"),
    ("POST", "/v2/account/webhook"),
    ("GET", "/v2/account/credits"),
    ("POST", "/v2/groups"),
    ("GET", "/v2/groups"),
    ("DELETE", "/v2/groups/g"),
    ("GET", "/v2/groups/g/jobs"),
    ("POST", "/v2/groups/g/jobs"),
    ("DELETE", f"/v2/groups/g/jobs/{SOME_JOB}"),
    ("GET", "/v2/groups/g/longitudinal"),
    ("GET", "/v2/groups/g/aggregate"),
    ("POST", "/api/v1/account/webhook"),
    ("GET", "/api/v1/account/credits"),
    ("GET", "/api/v1/account/jobs"),
    ("GET", f"/api/v1/account/jobs/{SOME_JOB}"),
]
ANALYZE_ROUTES = [
    "/v2/audio/uploads",
    "/v2/models/pulse/analyze",
    "/v2/models/unknown/analyze",
    "/v2/signs/stress/analyze",
    "/v2/models/pulse/groups/g/analyze",
    "/v2/signs/stress/groups/g/analyze",
    "/v2/models/pulse/groups/g/analyze/longitudinal",
    "/v2/signs/stress/groups/g/analyze/longitudinal",
    "/v2/use-cases/wellness/groups/g/analyze",
    "/v2/conditions/anxiety/groups/g/analyze",
    "/v2/use-case/analyze",
    "/v2/condition/analyze",
    "/api/v1/wellness/analyze-audio",
    "/api/v1/wellness/analyze-audio-url",
    "/api/v1/wellness/analyze-and-diarize-audio",
    "/api/v1/wellness/analyze-and-diarize-audio-url",
]


def standard(waiting: Examined, name: str) -> httpx.Client:
    """A caller of both versions with a standard account."""
    account = waiting.account(name, plan="standard", credits=1_000)
    return waiting.call(account.headers | account.v1_headers)


def assert_limited(answer: httpx.Response) -> int:
    assert_error(answer, 429, "RATE_LIMIT_EXCEEDED")
    wait = int(answer.headers["retry-after"])
    assert 1 <= wait <= 60
    return wait


def test_general_requests_end_at_ten_and_leave_the_other_buckets_alone(waiting: Examined) -> None:
    caller = standard(waiting, "standard general")
    statuses = [caller.get("/v2/jobs").status_code for _ in range(GENERAL - 2)]
    statuses += [
        caller.get("/v2/models/unknown").status_code,
        caller.get("/v2/groups", params={"page": "x"}).status_code,
    ]
    assert statuses == [200] * (GENERAL - 2) + [404, 422]
    waits = [assert_limited(caller.request(method, path)) for method, path in GENERAL_ROUTES]
    assert waits == sorted(waits, reverse=True)  # a refused request is not counted: the wait only shrinks
    mint(caller)
    assert_error(caller.get(f"/v2/jobs/{SOME_JOB}"), 404, "NOT_FOUND")


def test_upload_and_analyze_requests_end_at_five_and_leave_the_other_buckets_alone(waiting: Examined) -> None:
    caller = standard(waiting, "standard analyze")
    assert post_form(caller, "/v2/signs/stress/analyze").status_code == 200
    assert post_form(caller, "/v2/signs/stress/analyze", None).status_code == 400
    for _ in range(ANALYZE - 2):
        mint(caller)
    for path in ANALYZE_ROUTES:
        assert_limited(post_form(caller, path))
    assert caller.get("/v2/jobs").status_code == 200
    assert_error(caller.get(f"/v2/jobs/{SOME_JOB}"), 404, "NOT_FOUND")


def test_polling_requests_end_at_thirty_and_leave_the_other_buckets_alone(waiting: Examined) -> None:
    caller = standard(waiting, "standard polling")
    job_id = post_form(caller, "/v2/signs/stress/analyze").json()["job_id"]
    assert [caller.get(f"/v2/jobs/{job_id}").status_code for _ in range(POLLING)] == [200] * POLLING
    assert_limited(caller.get(f"/v2/jobs/{job_id}"))
    assert_limited(caller.get("/v2/jobs/unknown"))
    assert caller.get("/v2/jobs").status_code == 200
    mint(caller)


def test_refused_credentials_do_not_count_against_the_account_they_name(waiting: Examined) -> None:
    account = waiting.account("standard named", plan="standard")
    imposter = waiting.call({"X-Account-ID": account.account_id, "X-API-Key": "wrong"})
    for _ in range(GENERAL):
        assert_error(imposter.get("/v2/jobs"), 401, "UNAUTHORIZED")
    assert waiting.call(account.headers).get("/v2/jobs").status_code == 200


@pytest.mark.parametrize("path", ["/v2/jobs", f"/v2/jobs/{SOME_JOB}"])
def test_enterprise_accounts_may_ask_far_more(still: httpx.Client, path: str) -> None:
    assert all(still.get(path).status_code != 429 for _ in range(POLLING + 5))
