"""Webhooks: allowed addresses, content, signature and retries."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from examination import (
    Examined,
    accepted,
    assert_validation_error,
    done,
    post_form,
    read,
    submit,
)
from receiver import Receiver
from sounds import HISS

SECRET = "whsec-Ünïcode-secret"


@pytest.fixture(scope="module")
def receiver(reached: None) -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def hooked(examined: Examined) -> httpx.Client:
    """Account whose webhook the tests may change."""
    return examined.call(examined.account("webhooks").headers)


def set_webhook(api: httpx.Client, url: Any, secret: Any = SECRET) -> httpx.Response:
    return api.post("/v2/account/webhook", json={"url": url, "secret_key": secret})


def hook_to(receiver: Receiver, path: str, secret: str = SECRET) -> dict[str, str]:
    return {"webhook_url": receiver.origin + path, "webhook_secret_key": secret}


def test_account_webhook_gets_every_job_of_the_account(hooked: httpx.Client, receiver: Receiver) -> None:
    answer = accepted(set_webhook(hooked, f"{receiver.origin}/account"))
    assert set(answer) == {"success", "message"}
    assert answer["success"] is True and isinstance(answer["message"], str)
    model = done(hooked, submit(hooked, "/v2/models/clarity/analyze", HISS)["job_id"])
    sign = done(hooked, submit(hooked, "/v2/signs/stress/groups/g/analyze/longitudinal", HISS)["job_id"])
    deliveries = {delivery.job["job_id"]: delivery for delivery in receiver.wait_for("/account", 2)}
    assert set(deliveries) == {model["job_id"], sign["job_id"]}
    for job in (model, sign):
        delivery = deliveries[job["job_id"]]
        assert delivery.method == "POST"
        assert delivery.headers["content-type"] == "application/json"
        assert delivery.is_signed_with(SECRET)
        assert delivery.job == read(hooked, f"/v2/jobs/{job['job_id']}")
    assert len({delivery.headers["x-webhook-delivery"] for delivery in deliveries.values()}) == 2


def test_webhook_of_the_request_overrides_the_accounts(hooked: httpx.Client, receiver: Receiver) -> None:
    accepted(set_webhook(hooked, f"{receiver.origin}/account-overridden"))
    fields = hook_to(receiver, "/own", "another secret")
    job = done(hooked, submit(hooked, "/v2/signs/stress/analyze", HISS, **fields)["job_id"])
    (delivery,) = receiver.wait_for("/own")
    assert delivery.job == job
    assert delivery.is_signed_with("another secret") and not delivery.is_signed_with(SECRET)
    assert receiver.to("/account-overridden") == []


def test_latest_account_webhook_replaces_the_one_before(hooked: httpx.Client, receiver: Receiver) -> None:
    accepted(set_webhook(hooked, f"{receiver.origin}/before"))
    accepted(set_webhook(hooked, f"{receiver.origin}/after", "new secret"))
    submit(hooked, "/v2/signs/stress/analyze", HISS)
    (delivery,) = receiver.wait_for("/after")
    assert delivery.is_signed_with("new secret")
    assert receiver.to("/before") == []


def test_delivery_that_fails_is_tried_again_with_the_same_id_and_body(api: httpx.Client, receiver: Receiver) -> None:
    submit(api, "/v2/signs/stress/analyze", HISS, **hook_to(receiver, "/fail-once/a"))
    first, second = receiver.wait_for("/fail-once/a", 2)
    assert first.headers["x-webhook-delivery"] == second.headers["x-webhook-delivery"]
    assert (first.body, first.headers["x-webhook-signature"]) == (second.body, second.headers["x-webhook-signature"])
    assert 0.9 <= second.at - first.at < 10


def test_redirects_are_not_followed(api: httpx.Client, receiver: Receiver) -> None:
    submit(api, "/v2/signs/stress/analyze", HISS, **hook_to(receiver, "/moved"))
    receiver.wait_for("/moved", 2)  # a redirect is not a success, so it is retried
    assert receiver.to("/ok-after-moving") == []


def test_webhook_of_the_earlier_form_carries_its_job(api: httpx.Client, receiver: Receiver) -> None:
    job_id = submit(api, "/v2/condition/analyze", HISS, condition="depression", **hook_to(receiver, "/earlier"))[
        "job_id"
    ]
    (delivery,) = receiver.wait_for("/earlier")
    assert delivery.is_signed_with(SECRET)
    assert delivery.job == read(api, f"/v2/jobs/{job_id}")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": "https://example.com/hook"},
        {"secret_key": SECRET},
        {"url": None, "secret_key": SECRET},
        {"url": "https://example.com/hook", "secret_key": None},
        {"url": 5, "secret_key": SECRET},
        {"url": "", "secret_key": SECRET},
        {"url": "nonsense", "secret_key": SECRET},
        {"url": "ftp://example.com/hook", "secret_key": SECRET},
        {"url": "http://", "secret_key": SECRET},
        {"url": "https://example.com/".ljust(2084, "x"), "secret_key": SECRET},
        [],
    ],
    ids=range(12),
)
@pytest.mark.parametrize("version", ["v2", "api/v1"])
def test_account_webhook_that_does_not_fit_is_a_validation_error(
    still: httpx.Client, still_v1: httpx.Client, version: str, body: Any
) -> None:
    client = still if version == "v2" else still_v1
    answer = client.post(f"/{version}/account/webhook", json=body)
    assert_validation_error(answer)
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.5.5",
        "169.254.169.254",
        "0.0.0.0",
        "[::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "127.1",
    ],
)
def test_private_address_is_refused_as_account_webhook(closed: Examined, host: str) -> None:
    assert_validation_error(set_webhook(closed.call(closed.account().headers), f"http://{host}/hook"))


def test_public_unresolvable_and_longest_addresses_are_accepted(waiting: Examined) -> None:
    other = waiting.call(waiting.account("other").headers)
    for url in ("https://example.com/hook", "http://not-yet.example.invalid/", "https://example.com/".ljust(2083, "x")):
        assert accepted(set_webhook(other, url))["success"] is True


def test_group_submits_take_webhook_fields_too(still: httpx.Client) -> None:
    fields = {"webhook_url": "https://example.com/hook"}
    for path in ("signs/stress/groups/g/analyze", "models/pulse/groups/g/analyze/longitudinal"):
        assert post_form(still, f"/v2/{path}", **fields).status_code == 400
        submit(still, f"/v2/{path}", **fields, webhook_secret_key=SECRET)
