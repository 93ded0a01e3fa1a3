"""A form without a file may be URL-encoded: the same rules, limits and refusals as in a multipart form."""

import random
import socket
from urllib.parse import quote_from_bytes, urlsplit

import httpx
import pytest
from sample_audio import noise_wav

from patience import HANGS_S
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.http.form_fields import MAX_FIELD_BYTES, MAX_FIELDS
from vbdesk.service.http.slow_clients import ClientTimeouts

URLENCODED = "application/x-www-form-urlencoded"
V2_ROUTES = {
    "/v2/models/breath/analyze": {},
    "/v2/signs/stress/analyze": {},
    "/v2/models/breath/groups/g1/analyze": {"recorded_at": "2026-02-01T10:00:00+01:00"},
    "/v2/signs/stress/groups/g1/analyze": {"recorded_at": "2026-02-01T10:00:00+01:00"},
    "/v2/models/breath/groups/g1/analyze/longitudinal": {},
    "/v2/signs/stress/groups/g1/analyze/longitudinal": {},
    "/v2/use-cases/wellness/groups/g1/analyze": {},
    "/v2/conditions/anxiety/groups/g1/analyze": {},
    "/v2/use-case/analyze": {"use_case": "wellness"},
    "/v2/condition/analyze": {"condition": "anxiety"},
}
SIGN = "/v2/signs/stress/analyze"


@pytest.fixture
def upload_ref(client):
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    put = httpx.put(
        grant["upload_url"],
        content=noise_wav(15.5),
        headers=grant["required_headers"],
        trust_env=False,
        timeout=HANGS_S,
    )
    assert put.status_code == 200
    return grant["upload_ref"]


def post_raw(client, path, body, content_type=URLENCODED, **headers):
    return client.post(path, content=body, headers={"Content-Type": content_type, **headers})


def post_multipart(client, path, fields, **headers):
    return client.post(path, files=[(name, (None, value)) for name, value in fields], headers=headers)


def refusal(answer):
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", V2_ROUTES)
def test_every_v2_route_takes_a_form_by_either_encoding_as_the_same_request(client, upload_ref, path):
    fields = {"audio_upload_ref": upload_ref, "diarize": "true", **V2_ROUTES[path]}
    encoded = client.post(path, data=fields, headers={"Idempotency-Key": "k"})
    assert encoded.status_code == 200, encoded.text
    assert encoded.request.headers["content-type"] == URLENCODED
    again = post_multipart(client, path, fields.items(), **{"Idempotency-Key": "k"})
    assert (again.status_code, again.json()) == (200, encoded.json())
    other = client.post(path, data={**fields, "diarize": "false"}, headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")


def test_v1_takes_its_recording_as_a_file_alone(client, account):
    path = "/api/v1/wellness/analyze-audio"
    headers = account.v1_headers
    encoded = client.post(path, data={"diarize": "true"}, headers=headers)
    assert encoded.status_code == 422
    assert encoded.json() == post_multipart(client, path, [("diarize", b"true")], **headers).json()
    text = client.post(path, data={"audio": "take.wav"}, headers=headers)
    assert (text.status_code, text.json()["code"]) == (400, "INVALID_REQUEST")


def test_text_in_the_place_of_the_file_is_refused_and_named(client, upload_ref):
    answer = client.post(SIGN, data={"audio": "@take.wav", "audio_upload_ref": upload_ref})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert "multipart/form-data" in answer.json()["message"]
    assert client.post(SIGN, data={"audio": "", "audio_upload_ref": upload_ref}).status_code == 200


REFUSED_ALIKE = {
    "no audio": [("diarize", b"true")],
    "no boolean": [("audio_upload_ref", b"r"), ("diarize", b"perhaps")],
    "a field too long": [("audio_upload_ref", b"x" * (MAX_FIELD_BYTES + 1))],
    "a field much too long": [("webhook_secret_key", b"%" * 100_000)],
    "a long field, sent again short": [("diarize", b"x" * 9000), ("diarize", b"true")],
    "no text": [("audio_upload_ref", b"\xff\xfe")],
    "half a surrogate pair": [("audio_upload_ref", b"\xed\xa0\x80")],
    "a zero": [("audio_upload_ref", b"\0")],
    "a zero behind a reference": [("audio_upload_ref", b"0198f0c2-70aa-7b11-8d3c-5a0c4e2f1b02\0")],
    "a zero in the boolean": [("audio_upload_ref", b"r"), ("diarize", b"true\0")],
    "half a webhook": [("audio_upload_ref", b"r"), ("webhook_url", b"https://93.184.216.34/")],
    "an address too long": [
        ("audio_upload_ref", b"r"),
        ("webhook_url", b"https://93.184.216.34/" + b"x" * 2083),
        ("webhook_secret_key", b"s"),
    ],
    "a private address": [
        ("audio_upload_ref", b"r"),
        ("webhook_url", b"http://127.0.0.1/"),
        ("webhook_secret_key", b"s"),
    ],
    "only unknown fields": [("unknown", b"x" * 100_000)],
    "too many fields": [("unknown", b"")] * (MAX_FIELDS + 1),
    "much too many fields": [("diarize", b"true")] * 20_000,
}


@pytest.mark.parametrize("what", REFUSED_ALIKE)
def test_a_form_is_refused_alike_in_both_encodings(client, service, what):
    fields = REFUSED_ALIKE[what]
    body = b"&".join(name.encode() + b"=" + quote_from_bytes(value).encode() for name, value in fields)
    encoded = refusal(post_raw(client, SIGN, body))
    assert encoded[0] in (400, 422)
    assert encoded == refusal(post_multipart(client, SIGN, fields))
    assert list(service.context.storage.incoming.iterdir()) == []


def test_of_a_repeated_field_the_last_counts_in_both_encodings(client, upload_ref):
    fields = [("audio_upload_ref", b"other"), ("audio_upload_ref", upload_ref.encode())]
    body = b"&".join(name.encode() + b"=" + value for name, value in fields)
    assert post_raw(client, SIGN, body).status_code == 200
    assert post_multipart(client, SIGN, fields).status_code == 200


def test_a_field_of_exactly_the_limit_is_read_however_it_is_written(client):
    for value in (b"x" * MAX_FIELD_BYTES, b"%78" * MAX_FIELD_BYTES):
        answer = post_raw(client, SIGN, b"audio_upload_ref=" + value)
        assert refusal(answer) == refusal(post_raw(client, SIGN, b"audio_upload_ref=unknown"))
    assert post_raw(client, SIGN, b"audio_upload_ref=" + b"%78" * (MAX_FIELD_BYTES + 1)).status_code == 422


@pytest.mark.parametrize("value", [b"50%", b"%", b"%2", b"%zz", b"%%41", b"%u0041", b"%+1"])
def test_a_broken_escape_is_refused_and_named(client, value):
    answer = post_raw(client, SIGN, b"audio_upload_ref=" + value)
    assert answer.status_code == 422
    assert answer.json()["detail"] == [
        {"loc": ["body", "audio_upload_ref"], "msg": "Write a percent sign as %25.", "type": "percent_encoding"}
    ]


def test_a_broken_escape_in_a_field_that_is_ignored_is_ignored(client, upload_ref):
    body = f"note=50%&%zz&=&&&audio_upload_ref={upload_ref}&"
    assert post_raw(client, SIGN, body.encode()).status_code == 200


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "us-ascii"])
def test_text_is_utf8(client, upload_ref, charset):
    body = f"audio_upload_ref={upload_ref}".encode()
    assert post_raw(client, SIGN, body, f"{URLENCODED.upper()}; charset={charset}").status_code == 200


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "utf-7", "nonsense", "utf-8,utf-16"])
def test_another_charset_is_refused(client, upload_ref, charset):
    answer = post_raw(client, SIGN, f"audio_upload_ref={upload_ref}".encode(), f"{URLENCODED}; charset={charset}")
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("sent", ["2026-02-01T10:00:00+01:00", "2026-02-01T10:00:00%2B01:00"])
def test_a_capture_time_keeps_its_offset_whether_the_plus_was_encoded_or_not(client, upload_ref, sent):
    body = f"audio_upload_ref={upload_ref}&recorded_at={sent}".encode()
    answer = post_raw(client, "/v2/signs/stress/groups/offsets/analyze", body)
    assert (answer.status_code, answer.json()["recorded_at"]) == (200, "2026-02-01T09:00:00.000000Z")


@pytest.mark.parametrize("other", ["application/x-www-form-urlencodedx", "text/plain", "application/json", ""])
def test_any_other_type_is_refused_with_both_that_are_taken(client, upload_ref, other):
    answer = post_raw(client, SIGN, f"audio_upload_ref={upload_ref}".encode(), other)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert "multipart/form-data" in answer.json()["message"]
    assert URLENCODED in answer.json()["message"]


def test_credentials_come_before_the_form(service):
    answer = post_raw(service.client(), SIGN, b"diarize=%zz")
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


def test_a_body_longer_than_any_form_is_413_and_not_kept(client):
    def endless():
        for _ in range(MAX_AUDIO_BYTES // 2**20 + 2):
            yield b"x" * 2**20

    answer = post_raw(client, SIGN, endless())
    assert (answer.status_code, answer.json()["code"]) == (413, "AUDIO_TOO_LARGE")


def test_a_body_announced_too_long_is_413_before_it_is_sent(service, account):
    parts = urlsplit(service.base_url)
    head = f"POST {SIGN} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: {URLENCODED}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in account.headers.items())
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode() + b"Content-Length: 200000000\r\n\r\n")
        answer = connection.makefile("rb").read()  # ends: the service closed the connection
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b"AUDIO_TOO_LARGE" in answer


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_form_is_read_however_its_bytes_arrive(client, upload_ref, step):
    body = f"unknown={'%41' * 500}&audio_upload_ref={quote_from_bytes(upload_ref.encode())}&diarize=%74rue".encode()
    whole = post_raw(client, SIGN, (body[at : at + step] for at in range(0, len(body), step)))
    assert whole.status_code == 200, whole.text


def test_a_form_that_trickles_is_cut_off(service, account, serve_app):
    from vbdesk.service.composition.app import create_app

    timeouts = ClientTimeouts(head_s=60, body_s=0.3, body_bytes=1024, check_interval_s=0.1)
    parts = urlsplit(serve_app(create_app(service.context), timeouts))
    head = f"POST {SIGN} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: {URLENCODED}\r\nContent-Length: 1000\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in account.headers.items())
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode() + b"\r\ndiarize=")
        assert connection.makefile("rb").read() == b""


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_answered_in_shape(client, seed):
    answer = post_raw(client, SIGN, random.Random(seed).randbytes(3000).replace(b"\0", b"&audio_upload_ref="))
    assert answer.status_code in (400, 422)
    assert answer.json().keys() >= {"code", "message", "status"}
