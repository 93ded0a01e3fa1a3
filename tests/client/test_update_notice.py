"""Notices of new versions: only a signed one for today is believed, and nothing else is fetched."""

import base64
import json
from datetime import UTC, date, datetime

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vbdesk.client.update_notice import (
    LONGEST_ANSWER,
    NoticeRefused,
    NoticeSource,
    VersionNotice,
    ask_for_notice,
    read_notice_source,
    version_key,
)

SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = SIGNER.public_key().public_bytes_raw()
SOURCE = NoticeSource("https://voice.example/versions.json", KEY)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
NEW = {
    "product": "vbdesk",
    "version": "1.10.0",
    "published": "2026-11-20",
    "valid_until": "2027-05-20",
    "page": "https://voice.example/download",
}


def signed(signer=SIGNER, **other):
    text = json.dumps(NEW | other)
    signature = base64.urlsafe_b64encode(signer.sign(text.encode())).decode()
    return json.dumps({"notice": text, "signature": signature}).encode()


def asked(answer, newest_seen=""):
    """Ask a service that gives this answer; also the requests that it got."""
    requests = []

    def give(request):
        requests.append(request)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, content=iter([answer]))

    try:
        return ask_for_notice(SOURCE, NOW, newest_seen, httpx.MockTransport(give)), requests
    except NoticeRefused as refusal:
        return str(refusal), requests


def test_a_signed_notice_is_read_and_the_request_tells_nothing_about_us():
    notice, requests = asked(signed())
    assert notice == VersionNotice("1.10.0", date(2026, 11, 20), "https://voice.example/download")
    (request,) = requests
    assert str(request.url) == SOURCE.url
    assert set(request.headers) <= {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert request.headers["user-agent"] == "vbdesk"


NOT_SIGNED = "The notice of new versions is not signed with the key of its address."
WRONG_DATE = "The notice of new versions is not valid on this date."
UNREADABLE = "The notice of new versions cannot be read."
NO_ANSWER = "The address of new versions does not answer as expected."


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (signed(Ed25519PrivateKey.generate()), NOT_SIGNED),
        (signed().replace(b"1.10.0", b"9.10.0"), NOT_SIGNED),
        (b'{"notice": "x"}', NOT_SIGNED),
        (b'{"notice": 5, "signature": "AAAA"}', NOT_SIGNED),
        (b"[]", NOT_SIGNED),
        (b"\xff", NOT_SIGNED),
        (b"[" * 10_000, NOT_SIGNED),
        (signed(valid_until="2026-11-22"), WRONG_DATE),
        (signed(published="2026-12-01"), WRONG_DATE),
        (signed(product="other"), UNREADABLE),
        (signed(version="1.0; rm"), UNREADABLE),
        (signed(version=5), UNREADABLE),
        (signed(page="http://voice.example/download"), UNREADABLE),
        (signed(page="https://voice.example/\u202e"), UNREADABLE),
        (signed(published="soon"), UNREADABLE),
        (b" " * LONGEST_ANSWER + signed(), UNREADABLE),
        (httpx.Response(302, headers={"location": "https://evil.example/"}), NO_ANSWER),
        (httpx.Response(404), NO_ANSWER),
    ],
)
def test_any_other_answer_is_refused_without_another_request(answer, refusal):
    told, requests = asked(answer)
    assert told == refusal
    assert len(requests) == 1


def test_an_answer_without_end_is_cut_off():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield b"x" * 1024

    told, _ = asked(httpx.Response(200, content=endless()))
    assert told == UNREADABLE
    assert len(taken) <= LONGEST_ANSWER / 1024 + 2


def test_a_network_that_fails_is_told():
    def fail(request):
        raise httpx.ConnectError("no")

    with pytest.raises(NoticeRefused, match="does not answer"):
        ask_for_notice(SOURCE, NOW, "", httpx.MockTransport(fail))


def test_an_older_notice_than_one_seen_before_is_refused():
    assert asked(signed(), newest_seen="1.10")[0].version == "1.10.0"
    assert asked(signed(), newest_seen="1.10.1")[0] == "The notice of new versions is older than one seen before."


def test_an_address_names_its_key():
    assert read_notice_source(f" {SOURCE} ") == SOURCE


@pytest.mark.parametrize(
    "text",
    [
        "",
        SOURCE.url,
        f"{SOURCE.url}#",
        f"{SOURCE.url}#AAAA",
        f"{SOURCE.url}#{'ä' * 43}",
        str(SOURCE).replace("https", "http"),
        str(SOURCE).replace("voice.example", ""),
        str(SOURCE).replace("voice", "user@voice"),
    ],
)
def test_what_is_no_address_with_a_key_is_refused(text):
    with pytest.raises(ValueError, match="Enter the whole address"):
        read_notice_source(text)


def test_versions_are_compared_as_numbers():
    assert version_key("1.10") > version_key("1.9.9")
    assert version_key("1.2") == version_key("1.2.0")
