"""Errors: one shape everywhere, and checks in one order."""

import socket
from urllib.parse import urlsplit

import httpx
import pytest
from examination import (
    SPEECH,
    Examined,
    assert_error,
    assert_validation_error,
    post_form,
)

TOO_LARGE = bytes(32 * 1024 * 1024 + 1)


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
    assert answer.headers.get("allow")


@pytest.mark.parametrize("path", ["/v2/groups", "/v2/audio/uploads", "/v2/account/webhook"])
@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b'{"group_id": NaN'], ids=range(4))
def test_broken_json_is_a_validation_error(api: httpx.Client, path: str, body: bytes) -> None:
    assert_validation_error(api.post(path, content=body, headers={"content-type": "application/json"}))


def test_bottomless_json_is_refused_in_the_common_shape(api: httpx.Client) -> None:
    answer = api.post("/v2/groups", content=b"[" * 50_000, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert_error(answer, answer.status_code, answer.json()["code"])


def test_json_sent_as_something_else_is_a_validation_error(api: httpx.Client) -> None:
    headers = {"content-type": "text/plain"}
    assert_validation_error(api.post("/v2/groups", content=b'{"group_id": "g"}', headers=headers))


def test_surrogates_and_zero_bytes_are_refused_in_the_common_shape(api: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    for text in (rb'{"group_id": "\ud800"}', rb'{"group_id": "a\u0000"}'):
        answer = api.post("/v2/groups", content=text, headers=headers)
        assert answer.status_code in (400, 422)
        assert_error(answer, answer.status_code, answer.json()["code"])
    for path in ("/v2/jobs/%00", "/v2/jobs/%ff", "/v2/models/%00", "/v2/groups/%ff/jobs"):
        assert_error(api.get(path), 404, "NOT_FOUND")


def raw(base_url: str, request: bytes) -> tuple[int, bytes]:
    """Send these very bytes; the answer's status and body."""
    address = urlsplit(base_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


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
    status, body = raw(examined.base_url, request_bytes)
    assert status in (400, 404, 414, 431)
    answer = httpx.Response(status, content=body, headers={"content-type": "application/json"})
    assert_error(answer, status, answer.json()["code"])


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
        still.post("/v2/account/webhook", json={"url": f"http://user:{secret}@10.0.0.1/", "secret_key": secret}),
        still.post("/v2/account/webhook", json={"url": "https://example.com/", "secret_key": [secret]}),
        post_form(still, "/v2/signs/stress/analyze", webhook_secret_key=secret),
        waiting.call({"X-Account-ID": account.account_id, "X-API-Key": secret}).get("/v2/models"),
    ]
    for answer in answers:
        assert answer.is_client_error
        assert secret not in answer.text
