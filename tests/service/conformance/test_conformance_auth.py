"""Authentication and isolation of accounts."""

import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest
from examination import SPEECH, Examined, OwnService, accepted, assert_error, new_group, post_form, read, submit, upload

SOME_JOB = "019f0000-0000-7000-8000-000000000000"
ROUTES = [
    ("GET", "/v2/models"),
    ("GET", "/v2/models/pulse"),
    ("GET", "/v2/signs"),
    ("GET", "/v2/signs/stress"),
    ("POST", "/v2/models/pulse/analyze"),
    ("POST", "/v2/signs/stress/analyze"),
    ("GET", "/v2/jobs"),
    ("GET", f"/v2/jobs/{SOME_JOB}"),
    ("POST", "/v2/audio/uploads"),
    ("POST", "/v2/account/webhook"),
    ("GET", "/v2/account/credits"),
    ("POST", "/v2/groups"),
    ("GET", "/v2/groups"),
    ("DELETE", "/v2/groups/g"),
    ("GET", "/v2/groups/g/jobs"),
    ("POST", "/v2/groups/g/jobs"),
    ("DELETE", f"/v2/groups/g/jobs/{SOME_JOB}"),
    ("POST", "/v2/models/pulse/groups/g/analyze"),
    ("POST", "/v2/signs/stress/groups/g/analyze"),
    ("POST", "/v2/use-cases/wellness/groups/g/analyze"),
    ("POST", "/v2/conditions/anxiety/groups/g/analyze"),
    ("POST", "/v2/models/pulse/groups/g/analyze/longitudinal"),
    ("POST", "/v2/signs/stress/groups/g/analyze/longitudinal"),
    ("GET", "/v2/groups/g/longitudinal"),
    ("GET", "/v2/groups/g/aggregate"),
    ("POST", "/v2/use-case/analyze"),
    ("POST", "/v2/condition/analyze"),
    ("POST", "/api/v1/account/webhook"),
    ("GET", "/api/v1/account/credits"),
    ("GET", "/api/v1/account/jobs"),
    ("GET", f"/api/v1/account/jobs/{SOME_JOB}"),
    ("POST", "/api/v1/wellness/analyze-audio"),
    ("POST", "/api/v1/wellness/analyze-audio-url"),
    ("POST", "/api/v1/wellness/analyze-and-diarize-audio"),
    ("POST", "/api/v1/wellness/analyze-and-diarize-audio-url"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_without_credentials_is_unauthorized(waiting: Examined, method: str, path: str) -> None:
    assert_error(waiting.call().request(method, path), 401, "UNAUTHORIZED")


BROKEN_BODIES = [
    ("application/json", b'{"group_id": "g"'),
    ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data; name=audio\r\n\r\nbroken off"),
    ("application/x-www-form-urlencoded", b"diarize=%zz&audio=\xff\x00"),
]


@pytest.fixture(scope="module")
def uncounted(start_own_service: Callable[..., OwnService]) -> Iterator[Examined]:
    """Service that has refused nobody yet: it rate-limits an address after 60 refusals."""
    own = start_own_service(workers=0)
    service = Examined(own.base_url, own)
    yield service
    service.close()


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "POST"])
def test_a_broken_body_without_credentials_is_unauthorized(uncounted: Examined, path: str) -> None:
    """Credentials are checked before the body is read, for every kind of body."""
    for content_type, body in BROKEN_BODIES:
        answer = uncounted.call().post(path, content=body, headers={"Content-Type": content_type})
        assert_error(answer, 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("version", "wrong"),
    [
        ("v2", "no account id"),
        ("v2", "no credential"),
        ("v2", "unknown account"),
        ("v2", "empty account id"),
        ("v2", "unknown credential"),
        ("v2", "credential of another account"),
        ("v2", "credential of the other version"),
        ("v1", "no account id"),
        ("v1", "no credential"),
        ("v1", "unknown credential"),
        ("v1", "credential of another account"),
        ("v1", "credential of the other version"),
    ],
)
def test_missing_or_invalid_credentials_are_unauthorized(examined: Examined, version: str, wrong: str) -> None:
    account, stranger = examined.account(), examined.account("webhooks")
    name, right, strangers, others, path = {
        "v2": ("X-API-Key", account.api_key, stranger.api_key, account.secret_key, "/v2/models"),
        "v1": ("X-Secret-Key", account.secret_key, stranger.secret_key, account.api_key, "/api/v1/account/credits"),
    }[version]
    headers = {
        "no account id": {name: right},
        "no credential": {"X-Account-ID": account.account_id},
        "unknown account": {"X-Account-ID": str(uuid.uuid4()), name: right},
        "empty account id": {"X-Account-ID": "", name: right},
        "unknown credential": {"X-Account-ID": account.account_id, name: "nonsense"},
        "credential of another account": {"X-Account-ID": account.account_id, name: strangers},
        "credential of the other version": {"X-Account-ID": account.account_id, name: others},
    }[wrong]
    assert_error(examined.call().get(path, headers=headers), 401, "UNAUTHORIZED")


def test_both_versions_answer_their_own_credentials(api: httpx.Client, v1: httpx.Client) -> None:
    assert read(api, "/v2/account/credits") == read(v1, "/api/v1/account/credits")


def test_job_of_another_account_is_not_found_in_any_version(still: httpx.Client, waiting: Examined) -> None:
    stranger = waiting.account("other")
    job_id = submit(still, "/v2/signs/stress/analyze")["job_id"]
    assert_error(waiting.call(stranger.headers).get(f"/v2/jobs/{job_id}"), 404, "NOT_FOUND")
    assert_error(waiting.call(stranger.v1_headers).get(f"/api/v1/account/jobs/{job_id}"), 404, "NOT_FOUND")
    assert read(still, f"/v2/jobs/{job_id}")["job_id"] == job_id


def test_group_of_another_account_is_not_found_on_every_route(still: httpx.Client, waiting: Examined) -> None:
    group = new_group()
    job_id = submit(still, f"/v2/signs/stress/groups/{group}/analyze")["job_id"]
    stranger = waiting.call(waiting.account("other").headers)
    for method, path, body in [
        ("DELETE", "", None),
        ("GET", "/jobs", None),
        ("POST", "/jobs", {"job_ids": [job_id]}),
        ("DELETE", f"/jobs/{job_id}", None),
        ("GET", "/longitudinal", None),
        ("GET", "/aggregate", None),
    ]:
        assert_error(stranger.request(method, f"/v2/groups/{group}{path}", json=body), 404, "NOT_FOUND")
    assert read(still, f"/v2/groups/{group}/jobs")["total_jobs"] == 1


def test_group_ids_are_unique_within_the_account_only(still: httpx.Client, waiting: Examined) -> None:
    group = new_group()
    stranger = waiting.call(waiting.account("other").headers)
    assert still.post("/v2/groups", json={"group_id": group}).status_code == 201
    assert stranger.post("/v2/groups", json={"group_id": group}).status_code == 201
    accepted(stranger.delete(f"/v2/groups/{group}"))
    assert read(still, f"/v2/groups/{group}/jobs")["total_jobs"] == 0


def test_lists_show_the_own_account_only(still: httpx.Client, waiting: Examined) -> None:
    group = new_group()
    job_id = submit(still, f"/v2/signs/stress/groups/{group}/analyze")["job_id"]
    stranger = waiting.call(waiting.account("other").headers)
    assert job_id not in {job["job_id"] for job in read(stranger, "/v2/jobs")["jobs"]}
    assert group not in {item["group_id"] for item in read(stranger, "/v2/groups")["groups"]}


def test_job_of_another_account_cannot_be_added_to_a_group(still: httpx.Client, waiting: Examined) -> None:
    job_id = submit(still, "/v2/signs/stress/analyze")["job_id"]
    stranger, group = waiting.call(waiting.account("other").headers), new_group()
    stranger.post("/v2/groups", json={"group_id": group})
    answer = accepted(stranger.post(f"/v2/groups/{group}/jobs", json={"job_ids": [job_id]}))
    assert (answer["added"], answer["not_found"]) == ([], [job_id])


def test_upload_of_another_account_does_not_resolve(still: httpx.Client, waiting: Examined) -> None:
    reference = upload(still, SPEECH)
    stranger = waiting.call(waiting.account("other").headers)
    answer = post_form(stranger, "/v2/signs/stress/analyze", None, audio_upload_ref=reference)
    body = assert_error(answer, 400, "INVALID_REQUEST")
    assert body["message"] == "Invalid audio_upload_ref"
