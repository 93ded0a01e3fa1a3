"""Signed addresses: what the storage origin takes, what it refuses, and what it leaves behind."""

import hashlib
import os
import socket
import threading
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import quote, urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from patience import HANGS_S, until
from vbdesk.clock import SystemClock, utc_now
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.http import storage_origin
from vbdesk.service.kernel.errors import InvalidRequest
from vbdesk.service.ports.identity import Account
from vbdesk.service.storage.local import LocalObjectStore
from vbdesk.service.storage.store import ObjectExists, ObjectMissing
from vbdesk.service.uploads.service import UploadService


@pytest.fixture
def grant(client) -> dict:
    answer = client.post("/v2/audio/uploads", json={"content_type": "audio/flac", "filename": "jane.flac"})
    assert answer.status_code == 200
    return answer.json()


def put(grant: dict, content: bytes = b"sound", **changes: str | None) -> httpx.Response:
    headers = {name: value for name, value in {**grant["required_headers"], **changes}.items() if value is not None}
    return httpx.put(grant["upload_url"], content=content, headers=headers, trust_env=False, timeout=HANGS_S)


def code_of(answer: httpx.Response) -> str:
    assert answer.headers["content-type"].startswith("application/xml")
    return ET.fromstring(answer.content).findtext("Code")


def resolve(service, account, upload_ref: str):
    context = service.context
    return UploadService.of(context).resolve(Account(account.account_id, "enterprise"), upload_ref)


def leftovers(service) -> list:
    return list(service.context.storage.incoming.iterdir())


def test_a_grant_names_what_the_put_must_carry(service, grant):
    assert grant["required_headers"] == {
        "Content-Type": "audio/flac",
        "X-Vbdesk-Content-Length-Range": "1,33554432",
    }
    assert grant["upload_url"].startswith(service.storage_url + "/")
    assert grant["expires_at"] == "2026-03-01T09:45:00.000000Z"
    assert grant["upload_ref"][14] == "7"


def test_a_put_is_resolved_as_often_as_asked(service, account, grant):
    assert put(grant).status_code == 200
    for _ in range(3):
        stored = resolve(service, account, grant["upload_ref"])
        assert (stored.content_type, stored.size) == ("audio/flac", 5)
    with service.context.storage.open(stored.key) as file:
        assert file.read() == b"sound"


@pytest.mark.parametrize("header", ["Content-Type", "X-Vbdesk-Content-Length-Range"])
def test_a_missing_signed_header_is_malformed(grant, header: str):
    answer = put(grant, **{header: None})
    assert (answer.status_code, code_of(answer)) == (400, "MalformedSecurityHeader")
    assert ET.fromstring(answer.content).findtext("ParameterName") == header.lower()


@pytest.mark.parametrize(
    "changes", [{"Content-Type": "audio/wav"}, {"X-Vbdesk-Content-Length-Range": "1,99999999"}, {"Host": "elsewhere"}]
)
def test_an_altered_header_breaks_the_signature(grant, changes):
    answer = put(grant, **changes)
    assert (answer.status_code, code_of(answer)) == (403, "SignatureDoesNotMatch")


def test_a_tampered_address_breaks_the_signature(grant):
    for old, new in (("-Expires=900", "-Expires=901"), (grant["upload_ref"], grant["upload_ref"][::-1])):
        answer = put({**grant, "upload_url": grant["upload_url"].replace(old, new)})
        assert (answer.status_code, code_of(answer)) == (403, "SignatureDoesNotMatch")
    flipped = grant["upload_url"][:-1] + ("0" if grant["upload_url"][-1] != "0" else "1")
    assert code_of(put({**grant, "upload_url": flipped})) == "SignatureDoesNotMatch"


def test_an_address_without_signature_is_denied(grant):
    answer = put({**grant, "upload_url": grant["upload_url"].partition("?")[0]})
    assert (answer.status_code, code_of(answer)) == (403, "AccessDenied")


def test_only_put_is_taken(grant):
    answer = httpx.get(grant["upload_url"], trust_env=False, timeout=HANGS_S)
    assert (answer.status_code, code_of(answer)) == (405, "MethodNotAllowed")


def test_an_address_expires(service, grant):
    service.clock.advance(900)
    assert put(grant).status_code == 200


def test_an_expired_address_is_refused(service, account, grant):
    service.clock.advance(900.001)
    answer = put(grant)
    assert (answer.status_code, code_of(answer)) == (400, "ExpiredToken")
    with pytest.raises(InvalidRequest, match="Invalid audio_upload_ref"):
        resolve(service, account, grant["upload_ref"])


def test_a_second_put_is_refused_and_the_first_stays(service, account, grant):
    assert put(grant, b"first").status_code == 200
    answer = put(grant, b"second!")
    assert (answer.status_code, code_of(answer)) == (412, "PreconditionFailed")
    assert f"<StoredSha256>{hashlib.sha256(b'first').hexdigest()}</StoredSha256>" in answer.text
    assert resolve(service, account, grant["upload_ref"]).size == 5
    assert leftovers(service) == []


def test_of_many_racing_puts_one_wins_whole(service, account, grant):
    bodies = [bytes([i]) * 200_000 for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: put(grant, body).status_code, bodies))
    assert sorted(answers) == [200] + [412] * 7
    with service.context.storage.open(resolve(service, account, grant["upload_ref"]).key) as file:
        assert file.read() in bodies
    assert leftovers(service) == []


def test_an_empty_file_is_too_small_and_may_be_tried_again(grant):
    answer = put(grant, b"")
    assert (answer.status_code, code_of(answer)) == (400, "EntityTooSmall")
    assert put(grant).status_code == 200


def test_a_size_told_beforehand_is_the_only_one_taken(client):
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/flac", "size_bytes": 5}).json()
    assert grant["required_headers"]["X-Vbdesk-Content-Length-Range"] == "5,5"
    assert code_of(put(grant, b"sounds")) == "EntityTooLarge"
    assert code_of(put(grant, b"soun")) == "EntityTooSmall"
    assert put(grant, b"sound").status_code == 200


def test_the_largest_file_fits(service, account, grant):
    assert put(grant, bytes(MAX_AUDIO_BYTES)).status_code == 200
    assert resolve(service, account, grant["upload_ref"]).size == MAX_AUDIO_BYTES


def test_a_file_announced_too_large_is_refused_before_it_is_sent(service, grant):
    url = urlsplit(grant["upload_url"])
    head = [f"PUT {url.path}?{url.query} HTTP/1.1", f"Host: {url.netloc}"]
    head += [f"{name}: {value}" for name, value in grant["required_headers"].items()]
    head += [f"Content-Length: {MAX_AUDIO_BYTES + 1}", "", ""]
    with socket.create_connection((url.hostname, url.port), timeout=HANGS_S) as connection:
        connection.sendall("\r\n".join(head).encode())
        answer = connection.makefile("rb").read()
    assert b" 400 " in answer.split(b"\r\n")[0]
    assert b"EntityTooLarge" in answer


def test_a_file_that_turns_out_too_large_is_stopped_and_leaves_nothing(service, grant):
    def chunks():
        for _ in range(33):
            yield bytes(1024 * 1024)

    try:
        answer = httpx.put(
            grant["upload_url"], content=chunks(), headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
        )
    except httpx.TransportError:
        pass  # closed before the answer was read
    else:
        assert (answer.status_code, code_of(answer)) == (400, "EntityTooLarge")
    assert put(grant).status_code == 200
    assert leftovers(service) == []


def test_a_put_that_breaks_off_leaves_nothing_and_may_be_tried_again(service, account, grant):
    url = urlsplit(grant["upload_url"])
    head = [f"PUT {url.path}?{url.query} HTTP/1.1", f"Host: {url.netloc}", "Content-Length: 1000000"]
    head += [f"{name}: {value}" for name, value in grant["required_headers"].items()]
    with socket.create_connection((url.hostname, url.port), timeout=HANGS_S) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + bytes(300_000))
        until(lambda: leftovers(service) != [])
    until(lambda: leftovers(service) == [])
    with pytest.raises(InvalidRequest):
        resolve(service, account, grant["upload_ref"])
    assert put(grant).status_code == 200


def test_a_reference_of_another_account_does_not_resolve(service, grant):
    put(grant)
    with pytest.raises(InvalidRequest, match="Invalid audio_upload_ref"):
        resolve(service, service.add_account(), grant["upload_ref"])


@pytest.mark.parametrize("upload_ref", ["", "nonsense", "../../vbdesk.db", "x" * 5000])
def test_a_reference_that_was_never_minted_does_not_resolve(service, account, upload_ref: str):
    with pytest.raises(InvalidRequest, match="Invalid audio_upload_ref"):
        resolve(service, account, upload_ref)


def test_an_upload_is_usable_for_a_day_and_then_removed(service, account, grant):
    put(grant)
    service.clock.advance(24 * 3600)
    stored = resolve(service, account, grant["upload_ref"])
    service.clock.advance(900 + 1)
    with pytest.raises(InvalidRequest):
        resolve(service, account, grant["upload_ref"])
    uploads = UploadService.of(service.context)
    assert uploads.remove_past() >= 1
    assert uploads.remove_past() == 0
    assert not service.context.storage.exists(stored.key)


def test_every_declared_type_of_the_interface_is_granted_and_no_other(client):
    for kind in ("audio/wav", "audio/flac", "audio/mpeg", "audio/mp4"):
        assert client.post("/v2/audio/uploads", json={"content_type": kind}).status_code == 200
    for body in ({}, {"content_type": None}, {"content_type": "audio/ogg"}, {"content_type": 3}):
        assert client.post("/v2/audio/uploads", json=body).status_code == 422


def test_the_address_is_valid_for_as_long_as_the_setting_says(start_service):
    service = start_service(upload_valid_s=1.5, clock=SystemClock())
    grant = service.client(service.add_account()).post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    threading.Event().wait(1.6)
    assert code_of(put(grant)) == "ExpiredToken"


def test_objects_are_adopted_linked_and_deleted(tmp_path):
    store = LocalObjectStore(tmp_path / "objects")
    file = store.incoming / "new"
    file.write_bytes(b"sound")
    store.adopt("uploads/one", file)
    store.link("uploads/one", "audio/two")
    store.delete("uploads/one")
    store.delete("uploads/one")
    with store.local_copy("audio/two") as copy:
        assert copy.path.read_bytes() == b"sound"
    assert list(store.keys("audio")) == ["audio/two"]
    assert not file.exists()
    with pytest.raises(ObjectMissing):
        store.size("uploads/one")
    with pytest.raises(ObjectMissing):
        store.link("uploads/one", "audio/three")
    file.write_bytes(b"other")
    with pytest.raises(ObjectExists):
        store.adopt("audio/two", file)


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../b", "a//b", ".incoming/x", "a\\b", "a\n"])
def test_keys_cannot_leave_the_store(tmp_path, key: str):
    with pytest.raises(ValueError, match="object key"):
        LocalObjectStore(tmp_path).exists(key)


@pytest.mark.parametrize("days_ahead", [0, 1, -1])
def test_only_what_is_long_abandoned_is_cleared_from_the_way_in(days_ahead, tmp_path, monkeypatch):
    """A file server gives files times of its own clock."""
    now = utc_now() + timedelta(days=days_ahead)
    monkeypatch.setattr("vbdesk.service.storage.incoming.utc_now", lambda: now)
    store = LocalObjectStore(tmp_path)
    left, under_way = store.incoming / "left", store.incoming / "under-way"
    for path in (left, under_way):
        path.write_bytes(b"half")
    os.utime(left, (time.time() - 7200,) * 2)
    store.clear_incoming()
    assert list(store.incoming.iterdir()) == [under_way]


SIGNED_QUERY = "X-Vbdesk-Algorithm=VBDESK4-HMAC-SHA256&X-Vbdesk-SignedHeaders="


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(min_size=1, max_size=60), st.binary(max_size=20))
@example(b"\x00", b"")
@example(b"\x0b\x1f\x7f", b"\x08")
@example("\ufffe\uffff\ud7ff\U0010ffff".encode(), b"")
@example(b"\xed\xa0\x80", b"\xff")
@example(b"<&>]]>", b"a")
def test_whatever_an_address_says_the_answer_is_xml(service, name: bytes, path: bytes):
    """XML 1.0 has no way to write most control characters, and a refusal repeats names that the caller chose."""
    address = f"{service.storage_url}/{quote(path)}?{SIGNED_QUERY}{quote(name)}"
    for method in ("PUT", "POST"):
        answer = httpx.request(method, address, content=b"x", trust_env=False, timeout=HANGS_S)
        assert answer.status_code in {400, 403, 404, 405}
        assert code_of(answer)


def test_a_name_with_control_characters_is_told_without_them(service):
    answer = httpx.put(
        f"{service.storage_url}/x?{SIGNED_QUERY}a%0Bb%1F%EF%BF%BFc%09", content=b"x", trust_env=False, timeout=HANGS_S
    )
    assert ET.fromstring(answer.content).findtext("ParameterName") == "a\ufffdb\ufffd\ufffdc\t"


def test_a_refusal_does_not_keep_the_requests_that_were_refused(service, client):
    """An exception that is made once and raised again collects the frames of all requests."""
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav", "size_bytes": 5}).json()
    for _ in range(3):
        assert code_of(put(grant, b"sounds")) == "EntityTooLarge"
        assert code_of(put(grant, b"soun")) == "EntityTooSmall"
    kept = [one for one in vars(storage_origin).values() if isinstance(one, BaseException)]
    assert all(one.__traceback__ is None for one in kept)
