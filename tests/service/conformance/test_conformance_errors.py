"""Errors: one shape everywhere, and a fixed order of checks."""

import httpx
import pytest
from examination import (
    SPEECH,
    Examined,
    assert_error,
    assert_validation_error,
    exchange,
    new_group,
    post_form,
)

TOO_LARGE = bytes(32 * 1024 * 1024 + 1)
ALLOWED = {"/v2/groups": "GET, POST", "/v2/groups/g": "DELETE"}
BROKEN_JSON = [
    b"{",
    b"",
    b"\xff\xfe",
    b'{"group_id": NaN',
    b'{"more": NaN, "group_id": "g", "content_type": "audio/wav"}',
    b'{"more": -Infinity, "group_id": "g", "content_type": "audio/wav"}',
    rb'{"group_id": "g\ud800", "content_type": "audio/wav", "url": "https://example.com/", "secret_key": "\ud800"}',
    b'{"group_id": "g\xff", "content_type": "audio/wav"}',
    b'{"more": 1' + b"0" * 5000 + b', "group_id": "g", "content_type": "audio/wav"}',
    b"[" * 50_000,
    b'{"group_id": "g"} and more',
    b"{'group_id': 'g'}",
]


@pytest.mark.parametrize("path", ["/", "/v2", "/v2/", "/v2/nothing", "/v3/models", "/api/v1/nothing", "/v2/models/a/b"])
def test_unknown_path_is_not_found(api: httpx.Client, path: str) -> None:
    assert_error(api.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v2/models"),
        ("DELETE", "/v2/jobs"),
        ("GET", "/v2/models/pulse/analyze"),
        ("PUT", "/v2/groups"),
        ("PATCH", "/v2/groups/g"),
        ("POST", "/v2/groups/g/longitudinal"),
        ("GET", "/v2/audio/uploads"),
        ("GET", "/v2/account/webhook"),
        ("POST", "/api/v1/account/credits"),
        ("GET", "/api/v1/wellness/analyze-audio"),
    ],
)
def test_wrong_method_is_not_allowed(api: httpx.Client, method: str, path: str) -> None:
    answer = api.request(method, path)
    assert_error(answer, 405, "METHOD_NOT_ALLOWED")
    allowed = ALLOWED.get(path, "POST" if "analyze" in path or "uploads" in path or "webhook" in path else "GET")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/v2/groups", "/v2/audio/uploads", "/v2/account/webhook"])
@pytest.mark.parametrize("body", BROKEN_JSON, ids=range(len(BROKEN_JSON)))
def test_broken_json_is_a_validation_error(api: httpx.Client, path: str, body: bytes) -> None:
    assert_validation_error(api.post(path, content=body, headers={"content-type": "application/json"}))


def test_repeated_keys_mean_the_last_and_a_mark_of_the_encoding_means_nothing(api: httpx.Client) -> None:
    first, last = new_group(), new_group()
    body = f'\ufeff{{"group_id": "{first}", "group_id": "{last}"}}'.encode()
    answer = api.post("/v2/groups", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["group_id"]) == (201, last)


def test_json_body_of_more_than_a_mebibyte_is_refused(api: httpx.Client) -> None:
    body = b'{"group_id": "' + b"x" * 2**20 + b'"}'
    answer = api.post("/v2/groups", content=body, headers={"content-type": "application/json"})
    assert "1 MiB" in assert_error(answer, 400, "INVALID_REQUEST")["message"]


def test_json_sent_as_something_else_is_a_validation_error(api: httpx.Client) -> None:
    headers = {"content-type": "text/plain"}
    assert_validation_error(api.post("/v2/groups", content=b'{"group_id": "g"}', headers=headers))


def test_zero_bytes_and_broken_text_in_names_are_refused_in_the_common_shape(api: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert_error(api.post("/v2/groups", content=rb'{"group_id": "a\u0000"}', headers=headers), 400, "INVALID_REQUEST")
    group = new_group()
    api.post("/v2/groups", json={"group_id": group})
    added = api.post(f"/v2/groups/{group}/jobs", content=rb'{"job_ids": ["\u0000"]}', headers=headers)
    assert added.json()["not_found"] == ["\0"]
    for path in ("/v2/jobs/%00", "/v2/jobs/%ff", "/v2/models/%00", "/v2/groups/%ff/jobs"):
        assert_error(api.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /v2/models HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b"k" * 200_000 + b"\r\n\r\n",
        b"GET /v2/models HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"GET /" + b"v" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"this is not HTTP\r\n\r\n",
    ],
    ids=["huge header", "many headers", "huge path", "no HTTP"],
)
def test_unreadable_request_is_refused_in_the_common_shape(examined: Examined, request_bytes: bytes) -> None:
    answer = exchange(examined.base_url, request_bytes)
    assert answer.status_code in (400, 404, 414, 431)
    assert_error(answer, answer.status_code, answer.json()["code"])


def test_401_comes_before_everything(waiting: Examined) -> None:
    nobody = waiting.call()
    assert_error(post_form(nobody, "/v2/models/unknown/analyze", b""), 401, "UNAUTHORIZED")
    assert_error(nobody.post("/v2/groups", content=b"{"), 401, "UNAUTHORIZED")
    assert_error(post_form(nobody, "/v2/signs/stress/analyze", TOO_LARGE), 401, "UNAUTHORIZED")


def test_name_comes_before_shape(still: httpx.Client) -> None:
    assert_error(post_form(still, "/v2/signs/unknown/analyze", None), 404, "NOT_FOUND")
    assert_error(post_form(still, "/v2/models/unknown/groups/-bad/analyze", None), 404, "NOT_FOUND")
    assert_error(still.post("/v2/groups/absent/jobs", content=b"{"), 404, "NOT_FOUND")


def test_shape_comes_before_size(still: httpx.Client) -> None:
    answer = post_form(still, "/v2/signs/stress/analyze", TOO_LARGE, webhook_url="https://example.com/")
    assert_error(answer, 400, "INVALID_REQUEST")
    answer = post_form(still, "/v2/signs/stress/analyze", TOO_LARGE, diarize="perhaps")
    assert_validation_error(answer)


def test_shape_comes_before_credits(waiting: Examined) -> None:
    broke = waiting.call(waiting.account("broke").headers)
    assert_error(post_form(broke, "/v2/signs/stress/analyze", None), 400, "INVALID_REQUEST")
    assert_error(post_form(broke, "/v2/signs/unknown/analyze"), 404, "NOT_FOUND")


def test_size_comes_before_credits(waiting: Examined) -> None:
    broke = waiting.call(waiting.account("broke").headers)
    assert_error(post_form(broke, "/v2/signs/stress/analyze", TOO_LARGE), 413, "AUDIO_TOO_LARGE")


def test_refusals_arrive_on_a_connection_that_is_used_again(still: httpx.Client) -> None:
    for _ in range(5):
        assert still.get("/v2/models").status_code == 200
        assert_error(post_form(still, "/v2/signs/unknown/analyze", SPEECH * 6), 404, "NOT_FOUND")


def test_messages_never_echo_a_secret(still: httpx.Client, waiting: Examined) -> None:
    account = waiting.account()
    secret = "do-not-repeat-me"
    answers = [
        still.post("/v2/account/webhook", json={"url": "nonsense", "secret_key": secret}),
        still.post("/v2/account/webhook", json={"url": f"ftp://user:{secret}@example.com/", "secret_key": secret}),
        still.post("/v2/account/webhook", json={"url": "https://example.com/", "secret_key": [secret]}),
        post_form(still, "/v2/signs/stress/analyze", webhook_secret_key=secret),
        waiting.call({"X-Account-ID": account.account_id, "X-API-Key": secret}).get("/v2/models"),
    ]
    for answer in answers:
        assert answer.is_client_error
        assert secret not in answer.text
