"""Rate limits of the standard plan: three buckets, their routes, and Retry-After."""

import uuid
from dataclasses import dataclass, field

import httpx
import pytest
from examination import Examined, assert_error, post_form

GENERAL, ANALYZE, POLLING = 10, 5, 30
IMPOSTERS = 3  # few: a service may limit refused credentials by address
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


def assert_limited(answer: httpx.Response) -> int:
    assert_error(answer, 429, "RATE_LIMIT_EXCEEDED")
    wait = int(answer.headers["retry-after"])
    assert 1 <= wait <= 60
    return wait


@dataclass
class Minute:
    """Responses to a standard account within one minute; it uses up one bucket after the other."""

    imposter: list[httpx.Response] = field(default_factory=list)
    general: list[httpx.Response] = field(default_factory=list)
    general_refused: list[httpx.Response] = field(default_factory=list)
    analyze: list[httpx.Response] = field(default_factory=list)
    analyze_refused: list[httpx.Response] = field(default_factory=list)
    polling: list[httpx.Response] = field(default_factory=list)
    polling_refused: list[httpx.Response] = field(default_factory=list)


@pytest.fixture(scope="module")
def minute(waiting: Examined) -> Minute:
    account = waiting.account("standard")
    imposter = waiting.call({"X-Account-ID": account.account_id, "X-API-Key": "wrong"})
    caller = waiting.call(account.headers | account.v1_headers)
    minute = Minute()
    minute.imposter = [imposter.get("/v2/jobs") for _ in range(IMPOSTERS)]
    minute.general = [caller.get("/v2/jobs") for _ in range(GENERAL - 2)]
    minute.general += [caller.get("/v2/models/unknown"), caller.get("/v2/groups", params={"page": "x"})]
    minute.general_refused = [caller.request(method, path) for method, path in GENERAL_ROUTES]
    minute.analyze = [
        post_form(caller, "/v2/signs/stress/analyze"),
        post_form(caller, "/v2/signs/stress/analyze", None),
    ]
    minting = ("/v2/audio/uploads", {"content_type": "audio/wav"})
    minute.analyze += [caller.post(minting[0], json=minting[1]) for _ in range(ANALYZE - 2)]
    minute.analyze_refused = [post_form(caller, path) for path in ANALYZE_ROUTES]
    job_id = minute.analyze[0].json()["job_id"]
    minute.polling = [caller.get(f"/v2/jobs/{job_id}") for _ in range(POLLING - 1)] + [caller.get("/v2/jobs/unknown")]
    minute.polling_refused = [caller.get(f"/v2/jobs/{job_id}"), caller.get("/v2/jobs/unknown")]
    return minute


def statuses(answers: list[httpx.Response]) -> list[int]:
    return [answer.status_code for answer in answers]


def test_refused_credentials_do_not_count_against_the_account_they_name(minute: Minute) -> None:
    assert statuses(minute.imposter) == [401] * IMPOSTERS
    assert 429 not in statuses(minute.general)


def test_general_requests_end_at_ten_whatever_they_were_answered(minute: Minute) -> None:
    assert statuses(minute.general) == [200] * (GENERAL - 2) + [404, 422]
    waits = [assert_limited(answer) for answer in minute.general_refused]
    assert waits == sorted(waits, reverse=True)  # refused requests are not counted, so the wait only decreases


def test_upload_and_analyze_requests_end_at_five_in_a_bucket_of_their_own(minute: Minute) -> None:
    assert statuses(minute.analyze) == [200, 400] + [200] * (ANALYZE - 2)
    for answer in minute.analyze_refused:
        assert_limited(answer)


def test_polling_ends_at_thirty_in_a_bucket_of_its_own(minute: Minute) -> None:
    assert statuses(minute.polling) == [200] * (POLLING - 1) + [404]
    for answer in minute.polling_refused:
        assert_limited(answer)


@pytest.mark.parametrize("path", ["/v2/jobs", f"/v2/jobs/{SOME_JOB}"])
def test_enterprise_accounts_may_ask_far_more(still: httpx.Client, path: str) -> None:
    assert all(still.get(path).status_code != 429 for _ in range(POLLING + 5))
