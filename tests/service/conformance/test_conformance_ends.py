"""Failed jobs and expiry: timeouts, upload addresses, limits for wrong credentials."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from examination import (
    JOB_FIELDS,
    ON_CLUSTERS,
    SPEECH,
    OwnService,
    assert_error,
    caller,
    credits,
    ended,
    instant,
    mint,
    post_form,
    put,
    read,
    submit,
)
from receiver import Receiver

from vbdesk.clock import utc_now

SECRET = "whsec"


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def impatient(start_own_service: Callable[..., OwnService]) -> Iterator[httpx.Client]:
    """Client of a service with very short timeouts for jobs and upload addresses."""
    upload_valid_s = "3" if ON_CLUSTERS else "0.5"  # Google's addresses expire at whole seconds
    settings = {"job_timeout_s": "0.05", "upload_valid_s": upload_valid_s, "allow_private_addresses": "true"}
    service = start_own_service(workers=1, **settings)
    with caller(service.base_url, service.account("hundred").headers) as client:
        yield client


@pytest.fixture(scope="module")
def timed_out(impatient: httpx.Client, receiver: Receiver) -> Any:
    hook = {"webhook_url": f"{receiver.origin}/timed-out", "webhook_secret_key": SECRET}
    job = submit(impatient, "/v2/models/pulse/groups/g/analyze/longitudinal", **hook)
    return ended(impatient, job["job_id"])


def test_job_that_takes_too_long_is_timed_out_without_result_or_end(timed_out: Any) -> None:
    assert set(timed_out) == JOB_FIELDS
    assert (timed_out["status"], timed_out["completed_at"], timed_out["result"]) == ("timed-out", None, None)


def test_timed_out_job_costs_nothing(impatient: httpx.Client, timed_out: Any) -> None:
    assert credits(impatient) == 100


def test_timed_out_job_is_delivered_too(timed_out: Any, receiver: Receiver) -> None:
    (delivery,) = receiver.wait_for("/timed-out")
    assert delivery.job == timed_out
    assert delivery.is_signed_with(SECRET)


def test_membership_of_a_timed_out_job_says_so_and_feeds_nothing(impatient: httpx.Client, timed_out: Any) -> None:
    (item,) = read(impatient, "/v2/groups/g/jobs", status="timed-out")["jobs"]
    assert (item["job_id"], item["status"]) == (timed_out["job_id"], "timed-out")
    (group,) = read(impatient, "/v2/groups")["groups"]
    assert (group["job_count"], group["done_job_count"]) == (1, 0)
    assert read(impatient, "/v2/groups/g/longitudinal")["data_points"] == []
    assert read(impatient, "/v2/groups/g/aggregate")["job_counts"]["timed_out"] == 1


def wait_until_expired(grant: Any) -> None:
    time.sleep((instant(grant["expires_at"]) - utc_now()).total_seconds() + 0.1)


def test_put_after_the_grant_expired_is_refused_by_storage(impatient: httpx.Client) -> None:
    grant = mint(impatient)
    wait_until_expired(grant)
    answer = put(grant, SPEECH)
    assert answer.status_code == 400
    assert "<Code>ExpiredToken</Code>" in answer.text
    refused = post_form(impatient, "/v2/signs/stress/analyze", None, audio_upload_ref=grant["upload_ref"])
    assert assert_error(refused, 400, "INVALID_REQUEST")["message"] == "Invalid audio_upload_ref"


def test_upload_put_in_time_may_be_analysed_after_the_address_expired(impatient: httpx.Client) -> None:
    grant = mint(impatient)
    assert put(grant, SPEECH).is_success
    wait_until_expired(grant)
    job = submit(impatient, "/v2/signs/stress/analyze", None, audio_upload_ref=grant["upload_ref"])
    ended(impatient, job["job_id"])  # waits until its credits are released, for the next test


@pytest.fixture(scope="module")
def failing(start_own_service: Callable[..., OwnService], receiver: Receiver) -> Iterator[tuple[httpx.Client, Any]]:
    """Job whose stored audio was damaged before a worker started, with a client of its service."""
    service = start_own_service(workers=0, allow_private_addresses="true")
    headers = service.account("hundred").headers
    hook = {"webhook_url": f"{receiver.origin}/failed", "webhook_secret_key": SECRET}
    with caller(service.base_url, headers) as client:
        job = submit(client, "/v2/models/pulse/groups/g/analyze", **hook)
        assert credits(client) == 40
    service.stop()
    assert service.damage(SPEECH)
    service.start(workers=1)
    with caller(service.base_url, headers) as client:
        yield client, ended(client, job["job_id"])


def test_job_survives_a_restart_and_fails_as_a_status_not_as_an_error(failing: tuple[httpx.Client, Any]) -> None:
    _, job = failing
    assert set(job) == JOB_FIELDS
    assert (job["status"], job["result"]) == ("failed", None)
    assert instant(job["completed_at"]) >= instant(job["created_at"])


def test_failed_job_costs_nothing(failing: tuple[httpx.Client, Any]) -> None:
    assert credits(failing[0]) == 100


def test_failed_job_is_delivered_too(failing: tuple[httpx.Client, Any], receiver: Receiver) -> None:
    (delivery,) = receiver.wait_for("/failed")
    assert delivery.job == failing[1]
    assert delivery.is_signed_with(SECRET)


def test_membership_of_a_failed_job_says_so(failing: tuple[httpx.Client, Any]) -> None:
    client, job = failing
    (item,) = read(client, "/v2/groups/g/jobs", status="failed")["jobs"]
    assert item["job_id"] == job["job_id"]
    assert read(client, "/v2/groups/g/aggregate")["job_counts"]["failed"] == 1


def test_more_than_sixty_wrong_credentials_from_one_address_are_limited(failing: tuple[httpx.Client, Any]) -> None:
    with caller(str(failing[0].base_url), {"X-Account-ID": "nobody", "X-API-Key": "wrong"}) as guesser:
        answers = [guesser.get("/v2/models") for _ in range(62)]
    assert [answer.status_code for answer in answers] == [401] * 60 + [429] * 2
    assert_error(answers[-1], 429, "RATE_LIMIT_EXCEEDED")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
