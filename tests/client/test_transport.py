"""Credentials, errors, retries and the request budget."""

import time
import traceback
from datetime import UTC, datetime

import httpx
import pytest

from vbdesk.client import Client, Credentials, ErrorKind, RetryRule
from vbdesk.client.errors import (
    AddressUsed,
    AudioRefused,
    Cancelled,
    CaptivePortal,
    ClientError,
    Conflict,
    ConnectionFailed,
    InsufficientCredits,
    InvalidRequest,
    NotFound,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnexpectedAnswer,
    UploadExpired,
    UploadRefInvalid,
)
from vbdesk.contract.limits import Plan

CREDITS = {"credits": 5}


class Flag:
    """A cancel flag that is already set."""

    def is_set(self):
        return True

    def wait(self, timeout=None):
        return True


def test_every_request_carries_the_credentials(client, service):
    service.will_answer(service.json(CREDITS))
    assert client.account.credits() == 5
    assert service.request.url == "https://service.test/v2/account/credits"
    assert service.request.headers["X-Account-ID"] == "acc-1"
    assert service.request.headers["X-API-Key"] == "vbk_do-not-show-me"


@pytest.mark.parametrize(
    ("status", "code", "error", "kind"),
    [
        (401, "UNAUTHORIZED", Unauthorized, ErrorKind.NEEDS_ATTENTION),
        (402, "INSUFFICIENT_CREDITS", InsufficientCredits, ErrorKind.NEEDS_ATTENTION),
        (404, "NOT_FOUND", NotFound, ErrorKind.TERMINAL),
        (409, "CONFLICT", Conflict, ErrorKind.TERMINAL),
        (400, "AUDIO_TOO_SHORT", AudioRefused, ErrorKind.NEEDS_ATTENTION),
        (413, "AUDIO_TOO_LARGE", AudioRefused, ErrorKind.NEEDS_ATTENTION),
        (422, "AUDIO_POOR_QUALITY", AudioRefused, ErrorKind.NEEDS_ATTENTION),
        (422, "VALIDATION_ERROR", InvalidRequest, ErrorKind.TERMINAL),
        (400, "A_NEWER_CODE", InvalidRequest, ErrorKind.TERMINAL),
        (429, "RATE_LIMIT_EXCEEDED", RateLimited, ErrorKind.RETRYABLE),
        (500, "PROCESSING_ERROR", ServiceUnavailable, ErrorKind.RETRYABLE),
    ],
)
def test_an_error_answer_becomes_an_error_with_a_kind_and_a_sentence(make_client, service, status, code, error, kind):
    service.will_answer(service.error(status, code))
    with pytest.raises(error) as raised:
        make_client(retries=RetryRule.NEVER).account.credits()
    assert (raised.value.kind, raised.value.code, raised.value.status) == (kind, code, status)
    assert raised.value.sentence.endswith(".")


@pytest.mark.parametrize(
    "error",
    [RateLimited(), ServiceUnavailable(), UploadRefInvalid(), UploadExpired(), AddressUsed()],
    ids=lambda e: type(e).__name__,
)
def test_an_error_says_what_a_person_can_do_and_promises_no_other_attempt(error):
    """Only the outbox tries again automatically. It adds that to the reason, which asks nobody to do it."""
    assert error.sentence.startswith(f"{error.reason} ")
    assert "ry again" in error.sentence
    assert "ry again" not in error.reason
    assert "will be" not in error.sentence


def test_an_upload_that_is_gone_can_be_made_again(client, service):
    service.will_answer(service.error(400, "INVALID_REQUEST", "Invalid audio_upload_ref"))
    with pytest.raises(UploadRefInvalid) as raised:
        client.account.credits()
    assert raised.value.kind is ErrorKind.RETRYABLE


@pytest.mark.parametrize("answer", [httpx.Response(404, text="none"), httpx.Response(200, text="hello")])
def test_a_foreign_server_is_recognised(client, service, answer):
    service.will_answer(answer)
    with pytest.raises(UnexpectedAnswer, match="Check the service's address"):
        client.account.credits()


def test_backoff_doubles_from_one_second_and_ends_after_five_retries(client, service, clock):
    service.will_answer(service.error(500, "PROCESSING_ERROR"))
    with pytest.raises(ServiceUnavailable):
        client.account.credits()
    assert clock.waits == [1, 2, 4, 8, 16]
    assert len(service.requests) == 6


def test_retry_after_comes_first(client, service, clock):
    limited = service.error(429, "RATE_LIMIT_EXCEEDED", Retry_After="37")
    service.will_answer(limited, service.error(500, "PROCESSING_ERROR"), service.json(CREDITS))
    assert client.account.credits() == 5
    assert clock.waits == [37, 2]


def test_a_pause_longer_than_the_window_is_the_callers_to_plan(client, service, clock):
    service.will_answer(service.error(429, "RATE_LIMIT_EXCEEDED", Retry_After="3600"))
    with pytest.raises(RateLimited) as raised:
        client.account.credits()
    assert raised.value.retry_after_s == 3600
    assert clock.waits == []


def test_a_pause_of_years_is_a_slip(client, service):
    service.will_answer(service.error(429, "RATE_LIMIT_EXCEEDED", Retry_After="9" * 400))
    with pytest.raises(RateLimited) as raised:
        client.account.credits()
    assert raised.value.retry_after_s == 3600


def test_a_date_beyond_the_calendar_is_no_time_of_day(client, service):
    service.will_answer(service.json(CREDITS, Date="Fri, 31 Dec 9999 23:59:59 -1200"))
    assert client.account.credits() == 5
    assert client.server_time is None


def test_other_refusals_are_not_tried_again(client, service, clock):
    service.will_answer(service.error(404, "NOT_FOUND"))
    with pytest.raises(NotFound):
        client.jobs.get("x")
    assert clock.waits == []


def test_reads_are_tried_again_after_a_broken_connection(client, service, clock):
    service.will_answer(httpx.ReadError("gone"), httpx.ConnectError("gone"), service.json(CREDITS))
    assert client.account.credits() == 5
    assert clock.waits == [1, 2]


@pytest.mark.parametrize(
    ("failure", "requests"),
    [
        (httpx.ReadTimeout("late"), 1),
        (httpx.Response(504), 1),
        (httpx.ConnectError("refused"), 6),
        (httpx.Response(503), 6),
    ],
)
def test_what_may_have_been_done_is_not_done_twice(client, service, failure, requests):
    service.will_answer(failure)
    with pytest.raises((ConnectionFailed, ServiceUnavailable)):
        client.groups.create("subj-7")
    assert len(service.requests) == requests


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("late")])
def test_the_key_is_in_no_repr_error_or_traceback(make_client, service, failure):
    client = make_client(retries=RetryRule.NEVER)
    service.will_answer(failure)
    with pytest.raises(ConnectionFailed) as raised:
        client.account.credits()
    shown = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + repr(client)
    shown += repr(Credentials("acc-1", "vbk_do-not-show-me")) + repr(vars(raised.value))
    assert "do-not-show-me" not in shown


def test_cancelling_stops_before_the_next_attempt(client, service):
    service.will_answer(service.job())
    with pytest.raises(Cancelled):
        client.jobs.get("x", cancel=Flag())
    assert service.requests == []


def test_names_cannot_change_the_route(client, service):
    service.will_answer(service.error(404, "NOT_FOUND"))
    with pytest.raises(NotFound):
        client.models.get("../account/credits?x=1")
    assert service.request.url.raw_path == b"/v2/models/..%2Faccount%2Fcredits%3Fx%3D1"


@pytest.mark.parametrize(
    "address", ["service.test", "ftp://service.test", "", "https://", "https://me:secret@service.test"]
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ValueError, match="http:// or https://") as raised:
        Client(address, Credentials("a", "b"))
    assert "secret" not in str(raised.value)


def test_requests_of_a_plan_keep_within_its_limits(make_client, service, clock):
    service.will_answer(service.json(CREDITS))
    client = make_client(plan=Plan.STANDARD)
    for _ in range(10):
        client.account.credits()
    assert clock.waits == []
    client.account.credits()
    assert clock.waits == [60.25]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this platform's zone cannot be set within a process")
@pytest.mark.parametrize("date", ["Sun, 01 Mar 2026 09:30:00 -0000", ", ".join(["Sun, 01 Mar 2026 09:30:00 GMT"] * 2)])
def test_a_date_without_a_zone_or_sent_twice_is_utc_in_every_zone(client, service, monkeypatch, date):
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    time.tzset()
    try:
        service.will_answer(service.json(CREDITS, Date=date))
        client.account.credits()
        assert client.server_time == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_services_clock_is_read_from_its_answers_alone(client, service):
    assert client.server_time is None
    page = httpx.Response(200, html="<html>", headers={"Date": "Mon, 02 Mar 2026 09:30:00 GMT"})
    service.will_answer(page, service.json(CREDITS, Date="Sun, 01 Mar 2026 09:30:00 GMT"), service.json(CREDITS))
    with pytest.raises(CaptivePortal):
        client.account.credits()
    assert client.server_time is None
    client.account.credits()
    assert client.server_time == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    client.account.credits()
    assert client.server_time is None  # an earlier answer's time is outdated


@pytest.mark.parametrize(("status", "code"), [(401, "UNAUTHORIZED"), (404, "NOT_FOUND"), (429, "RATE_LIMIT_EXCEEDED")])
def test_a_refusal_tells_no_time_for_anybody_on_the_way_can_write_it(client, service, status, code):
    service.will_answer(service.error(status, code, Date="Mon, 02 Mar 2036 09:30:00 GMT"))
    with pytest.raises(ClientError):
        client.account.credits()
    assert client.server_time is None


@pytest.mark.parametrize("date", ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_time_that_cannot_be_is_no_time_of_the_service(client, service, date):
    service.will_answer(service.json(CREDITS, Date=date))
    client.account.credits()
    assert client.server_time is None


def test_a_cache_tells_the_time_of_an_old_answer_which_does_not_count(client, service):
    service.will_answer(service.json(CREDITS, Date="Sun, 01 Mar 2026 09:30:00 GMT", Age="86400"))
    client.account.credits()
    assert client.server_time is None


@pytest.mark.parametrize("key", ["vbk_schlüssel", "vbk_do-not\nshow-me"])
def test_a_key_that_no_header_can_carry_is_a_wrong_key(service, key):
    client = Client("https://service.test", Credentials("acc-1", key), transport=httpx.MockTransport(service))
    with client, pytest.raises(Unauthorized) as raised:
        client.account.credits()
    assert key not in "".join(traceback.format_exception(raised.value))
    assert service.requests == []
