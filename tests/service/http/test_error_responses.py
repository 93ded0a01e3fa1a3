"""Every refusal has one shape and says nothing it should not."""

import logging
import socket
from typing import Annotated
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI

from patience import HANGS_S
from vbdesk.contract.limits import Bucket
from vbdesk.service.composition.servers import bind
from vbdesk.service.http.error_responses import install_error_handlers
from vbdesk.service.http.guard import guard
from vbdesk.service.http.json_body import json_body
from vbdesk.service.kernel.errors import NotFound


def test_an_unknown_path_answers_in_the_error_shape(client):
    answer = client.get("/v2/nowhere")
    assert answer.status_code == 404
    assert answer.json().keys() == {"code", "message", "status"}
    assert (answer.json()["code"], answer.json()["status"]) == ("NOT_FOUND", 404)


def test_a_wrong_method_answers_405_and_names_the_right_one(client):
    answer = client.delete("/v2/models")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET"


def test_a_trailing_slash_is_an_unknown_path(client):
    assert client.get("/v2/models/").json()["code"] == "NOT_FOUND"


def test_a_422_names_the_place_and_not_the_input(client):
    answer = client.post("/v2/audio/uploads", json={"content_type": "my secret"})
    body = answer.json()
    assert (answer.status_code, body["code"], body["status"]) == (422, "VALIDATION_ERROR", 422)
    assert [item.keys() for item in body["detail"]] == [{"loc", "msg", "type"}]
    assert body["detail"][0]["loc"] == ["body", "content_type"]
    assert "my secret" not in answer.text


@pytest.mark.parametrize("content", [b"{broken", b"", b"[]", b"null", b'"text"', b"\xff\xfe"])
def test_a_body_that_is_not_the_json_asked_for_is_refused_in_shape(client, content: bytes):
    answer = client.post("/v2/audio/uploads", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["status"] == answer.status_code


def test_a_json_body_without_end_is_not_read_to_its_end(client):
    def endless():
        while True:
            yield b" " * 65536

    try:  # either the answer, or a connection closed while sending
        answer = client.post("/v2/audio/uploads", content=endless(), headers={"Content-Type": "application/json"})
    except httpx.TransportError:
        return  # the connection was closed before the answer was read
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


def test_a_crash_answers_500_in_shape_and_keeps_the_path_out_of_our_log(serve_app, caplog):
    app = FastAPI()
    install_error_handlers(app)

    @app.get("/groups/{group_id}")
    def crash(group_id: str) -> None:
        raise RuntimeError("disk on fire")

    with caplog.at_level(logging.ERROR, logger="vbdesk"):
        answer = httpx.get(serve_app(app) + "/groups/jane-doe", trust_env=False, timeout=HANGS_S)
    assert answer.json() == {
        "code": "PROCESSING_ERROR",
        "message": "The service could not finish the request. Try again in a moment.",
        "status": 500,
    }
    [record] = [record for record in caplog.records if record.name.startswith("vbdesk")]
    assert record.getMessage() == "RuntimeError on /groups/{group_id}"


def test_a_name_in_the_path_is_looked_up_before_the_body(service, account, serve_app):
    def nobody(request, connection, account) -> None:
        raise NotFound

    app = FastAPI()
    app.state.context = service.context
    install_error_handlers(app)

    @app.post("/groups/{group_id}", dependencies=guard(Bucket.GENERAL, check=nobody))
    def add(group_id: str, body: Annotated[dict[str, str], json_body(dict[str, str])]) -> None: ...

    answer = httpx.post(
        serve_app(app) + "/groups/x", content=b"{", headers=account.headers, trust_env=False, timeout=HANGS_S
    )
    assert answer.status_code == 404


def test_the_interface_description_carries_the_version_label(client):
    description = client.get("/openapi.json").json()
    assert description["info"]["version"] == "1.0.0"
    operation = description["paths"]["/v2/models"]["get"]
    assert operation["security"] == [{"X-Account-ID": [], "X-API-Key": []}]
    assert operation["responses"]["429"]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorBody")


def test_every_described_operation_answers_422_with_the_error_body(client):
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for operation in methods.values():
            schema = operation["responses"]["422"]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}, path


def test_health_needs_no_credentials(service):
    stranger = service.client()
    assert stranger.get("/healthz").json() == {"status": "ok"}
    assert stranger.get("/readyz").json() == {"status": "ok", "encryption": "off"}


def test_readiness_tells_a_store_that_is_gone(start_service):
    service = start_service()
    service.context.storage.incoming.rmdir()
    assert service.client().get("/readyz").status_code == 503


@pytest.mark.parametrize("size", [330_000, 5_000_000, 33_000_000])
def test_a_refused_upload_on_a_kept_alive_connection_is_answered(service, client, size: int):
    for _ in range(8):
        client.get("/healthz")
        answer = client.post("/v2/signs/dry-mouth/analyze", files={"audio": bytes(size)})
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        refused = client.post("/v2/models/pulse/analyze", files={"audio": bytes(size)}, headers={"X-API-Key": "no"})
        assert refused.status_code == 401


def test_a_caller_that_waits_for_leave_to_send_is_refused_at_once(service):
    url = urlsplit(service.base_url)
    head = f"POST /v2/models/pulse/analyze HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: 9000000\r\n"
    with socket.create_connection((url.hostname, url.port), timeout=HANGS_S) as connection:
        connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_small_answers_are_sent_at_once():
    """On a socket that does not say it is TCP, asyncio leaves Nagle's delay on: 40 ms an answer, or a lost one."""
    with bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_text_that_a_database_cannot_hold_names_nothing(client):
    """PostgreSQL takes no zero byte in a text; SERVICE_TESTS_ON=postgresql shows it."""
    client.post("/v2/groups", json={"group_id": "g"})
    for method, path in (
        ("GET", "/v2/jobs/%00"),
        ("GET", "/v2/groups/a%00/jobs"),
        ("DELETE", "/v2/groups/%00"),
        ("DELETE", "/v2/groups/g/jobs/%00"),
        ("GET", "/v2/groups/%00/longitudinal"),
    ):
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), path
    added = client.post("/v2/groups/g/jobs", json={"job_ids": ["\0", "a\0b"]})
    assert added.json()["not_found"] == ["\0", "a\0b"]
    forms = [
        {"audio_upload_ref": (None, "a\0b")},
        {"audio_upload_ref": (None, "x"), "webhook_url": (None, "https://a\0b/"), "webhook_secret_key": (None, "s")},
    ]
    for fields in forms:
        answer = client.post("/v2/signs/stress/analyze", files=fields)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
