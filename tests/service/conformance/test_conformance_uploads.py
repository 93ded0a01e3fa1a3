"""Audio uploads: the signed address, what storage accepts and refuses, and analyses of uploads."""

from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import pytest
from examination import (
    LENGTH_RANGE,
    SPEECH,
    STORES_OWN_HEADERS,
    Examined,
    assert_error,
    assert_validation_error,
    connected,
    instant,
    mint,
    post_form,
    put,
    submit,
    upload,
)

from patience import HANGS_S
from vbdesk.clock import utc_now

MIB_32 = 32 * 1024 * 1024


def assert_refused_by_storage(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert "xml" in answer.headers["content-type"]
    assert f"<Code>{code}</Code>" in answer.text


def assert_unresolved(api: httpx.Client, reference: str) -> None:
    answer = post_form(api, "/v2/signs/stress/analyze", None, audio_upload_ref=reference)
    body = assert_error(answer, 400, "INVALID_REQUEST")
    assert body["message"] == "Invalid audio_upload_ref"


@pytest.mark.parametrize("content_type", ["audio/wav", "audio/flac", "audio/mpeg", "audio/mp4"])
def test_grant_has_the_interfaces_fields(examined: Examined, api: httpx.Client, content_type: str) -> None:
    asked_at = utc_now()
    grant = mint(api, content_type, filename="take one.flac")
    assert set(grant) == {"upload_url", "upload_ref", "expires_at", "required_headers"}
    asked = {"Content-Type": content_type, LENGTH_RANGE: f"1,{MIB_32}"}
    assert grant["required_headers"] == asked | STORES_OWN_HEADERS
    assert urlsplit(grant["upload_url"]).netloc != urlsplit(examined.base_url).netloc
    made_at = instant(grant["expires_at"]) - timedelta(seconds=900)
    assert asked_at - timedelta(seconds=10) < made_at <= utc_now()


@pytest.mark.parametrize("body", [{}, {"content_type": None}, {"content_type": 5}, {"filename": "a.wav"}, []], ids=str)
def test_mint_without_a_content_type_is_a_validation_error(api: httpx.Client, body: object) -> None:
    assert_validation_error(api.post("/v2/audio/uploads", json=body))


def test_filename_may_be_null(api: httpx.Client) -> None:
    mint(api, filename=None)


def test_put_needs_no_credentials_and_its_reference_can_be_analysed(still: httpx.Client) -> None:
    job = submit(still, "/v2/models/pulse/analyze", None, audio_upload_ref=upload(still))
    assert (job["audio_content_type"], job["audio_size_bytes"]) == ("audio/flac", len(SPEECH))
    assert job["audio_duration_seconds"] == 20.5


def test_one_upload_may_be_analysed_many_times(still: httpx.Client) -> None:
    reference = upload(still)
    paths = ("models/pulse/analyze", "signs/stress/analyze", "signs/stress/groups/g/analyze/longitudinal")
    jobs = [submit(still, f"/v2/{path}", None, audio_upload_ref=reference)["job_id"] for path in paths]
    assert len(set(jobs)) == 3


@pytest.mark.parametrize("missing", [LENGTH_RANGE, "Content-Type"])
def test_put_without_a_signed_header_is_malformed(api: httpx.Client, missing: str) -> None:
    grant = mint(api)
    headers = {name: value for name, value in grant["required_headers"].items() if name != missing}
    assert_refused_by_storage(put(grant, SPEECH, headers), 400, "MalformedSecurityHeader")
    assert_unresolved(api, grant["upload_ref"])
    assert put(grant, SPEECH).is_success


@pytest.mark.parametrize(("name", "value"), [("Content-Type", "audio/wav"), (LENGTH_RANGE, "1,99999999")])
def test_put_with_another_value_of_a_signed_header_does_not_match(api: httpx.Client, name: str, value: str) -> None:
    grant = mint(api)
    headers = grant["required_headers"] | {name: value}
    assert_refused_by_storage(put(grant, SPEECH, headers), 403, "SignatureDoesNotMatch")
    assert_unresolved(api, grant["upload_ref"])


def test_put_to_a_tampered_address_does_not_match(api: httpx.Client) -> None:
    grant, foreign = mint(api), mint(api)
    parts = urlsplit(grant["upload_url"])
    last = parts.query[-1]
    bent = grant["upload_url"][:-1] + ("0" if last != "0" else "1")
    swapped = parts._replace(path=urlsplit(foreign["upload_url"]).path).geturl()
    for address in (bent, swapped, parts._replace(query="").geturl()):
        answer = put({**grant, "upload_url": address}, SPEECH)
        assert answer.status_code in (400, 403), answer.text
        assert "<Code>" in answer.text
    assert_refused_by_storage(put({**grant, "upload_url": swapped}, SPEECH), 403, "SignatureDoesNotMatch")
    assert_unresolved(api, foreign["upload_ref"])


def test_second_put_is_refused_and_changes_nothing(still: httpx.Client) -> None:
    grant = mint(still)
    assert put(grant, SPEECH).is_success
    assert_refused_by_storage(put(grant, b"something else"), 412, "PreconditionFailed")
    job = submit(still, "/v2/signs/stress/analyze", None, audio_upload_ref=grant["upload_ref"])
    assert job["audio_size_bytes"] == len(SPEECH)


def test_put_outside_the_length_range_is_refused(api: httpx.Client) -> None:
    grant = mint(api)
    assert_refused_by_storage(put(grant, b""), 400, "EntityTooSmall")
    assert_refused_by_storage(put(grant, bytes(MIB_32 + 1)), 400, "EntityTooLarge")
    assert_unresolved(api, grant["upload_ref"])
    assert put(grant, SPEECH).is_success


def test_put_of_the_largest_size_is_taken(api: httpx.Client) -> None:
    assert put(mint(api, "audio/wav"), bytes(MIB_32)).is_success


def test_put_that_breaks_off_leaves_nothing_and_may_be_tried_again(still: httpx.Client) -> None:
    grant = mint(still)
    parts = urlsplit(grant["upload_url"])
    head = f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(SPEECH)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in grant["required_headers"].items())
    with connected(grant["upload_url"]) as connection:
        connection.sendall(head.encode() + b"\r\n" + SPEECH[: len(SPEECH) // 2])
    assert_unresolved(still, grant["upload_ref"])
    assert put(grant, SPEECH).is_success
    submit(still, "/v2/signs/stress/analyze", None, audio_upload_ref=grant["upload_ref"])


def test_upload_address_gives_nothing_back(api: httpx.Client) -> None:
    grant = mint(api)
    put(grant, SPEECH)
    assert httpx.get(grant["upload_url"], trust_env=False, timeout=HANGS_S).status_code >= 400


@pytest.mark.parametrize("reference", ["nonsense", "019f0000-0000-7000-8000-000000000000", "../../vbdesk.db"])
def test_unknown_reference_does_not_resolve(api: httpx.Client, reference: str) -> None:
    assert_unresolved(api, reference)


def test_reference_never_written_does_not_resolve(api: httpx.Client) -> None:
    assert_unresolved(api, mint(api)["upload_ref"])


def test_uploaded_audio_is_judged_when_it_is_analysed(api: httpx.Client) -> None:
    reference = upload(api, b"this is no recording", "audio/wav")
    answer = post_form(api, "/v2/signs/stress/analyze", None, audio_upload_ref=reference)
    assert_error(answer, 400, "UNSUPPORTED_FORMAT")
