"""Bodies that mean harm are refused in words, and the service goes on. All of them: tests/soak/hostile_bodies.py."""

import logging
import socket
from collections import Counter
from urllib.parse import urlsplit

import pytest
from hostile_bodies import bombs, broken_forms, hostile_bodies, in_form, sound_files

from patience import HANGS_S
from vbdesk.service.engine.inspection import TIMEOUT_S, SandboxedInspector

PATH = "/v2/signs/stress/analyze"


@pytest.fixture(scope="module")
def inspectors():
    """One with patience for a busy machine; and one with little, for whom any refusal is as good."""
    made = SandboxedInspector(timeout_s=HANGS_S), SandboxedInspector(timeout_s=TIMEOUT_S / 4)
    yield made
    for inspector in made:
        inspector.close()


@pytest.fixture
def fenced(start_service, inspectors):
    return start_service(inspector=inspectors[0])


@pytest.fixture
def hasty(start_service, inspectors):
    return start_service(inspector=inspectors[1])


def post(client, hostile):
    return client.post(PATH, content=hostile.body, headers={"Content-Type": hostile.content_type})


def test_hostile_bodies_are_refused_in_words_and_leave_nothing(hasty, caplog):
    client = hasty.client(hasty.add_account())
    accepted = 0
    with caplog.at_level(logging.ERROR):
        for hostile in hostile_bodies(150, seed=1):
            answer = post(client, hostile)
            accepted += answer.status_code == 200  # some changes do no harm
            assert answer.status_code < 500, hostile.name
            if answer.status_code != 200:
                assert answer.json().keys() >= {"code", "message", "status"}, hostile.name
            assert "Traceback" not in answer.text, hostile.name
    assert caplog.records == []
    assert client.get("/healthz").status_code == 200
    assert client.get("/v2/account/credits").json() == {"credits": 100_000 - 10 * accepted}
    storage = hasty.context.storage
    assert len(list(storage.keys("audio"))) == accepted
    assert list(storage.incoming.iterdir()) == []


def test_forms_that_no_library_writes_are_refused_in_words(fenced):
    client = fenced.client(fenced.add_account())
    for form in broken_forms():
        answer = post(client, form)
        assert answer.status_code in (400, 422), form.name
        assert answer.json()["code"] in ("INVALID_REQUEST", "VALIDATION_ERROR", "UNSUPPORTED_FORMAT"), form.name


def test_bombs_are_refused_for_what_they_are(fenced, hasty):
    client, hasty_client = (service.client(service.add_account()) for service in (fenced, hasty))
    audio = dict(bombs())
    endless = in_form("endless", audio.pop("6 billion samples of silence in 8 channels"))
    assert post(hasty_client, endless).json()["code"] in ("AUDIO_POOR_QUALITY", "UNSUPPORTED_FORMAT")
    codes = {name: post(client, in_form(name, content)).json()["code"] for name, content in audio.items()}
    assert codes == {
        "a minute that says it is 100 hours": "AUDIO_TOO_LONG",
        "10 h of silence": "AUDIO_TOO_LONG",
        "silence of unknown length": "AUDIO_POOR_QUALITY",
        "19 minutes of silence at 192 kHz": "AUDIO_POOR_QUALITY",
    }


@pytest.mark.parametrize("announced", ["100000000000", "-1", "1e3", "0x10", "10, 20", "99999999999999999999999"])
def test_a_length_that_lies_is_refused_or_the_caller_hung_up_on(service, account, announced):
    form = in_form("speech", sound_files()["mp3"])
    headers = {**account.headers, "Host": "x", "Content-Type": form.content_type, "Content-Length": announced}
    head = f"POST {PATH} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    url = urlsplit(service.base_url)
    with socket.create_connection((url.hostname, url.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode() + b"\r\n" + form.body[:2000])
        answer = connection.recv(4096)
    assert answer.startswith((b"HTTP/1.1 4", b"")), answer[:100]
    assert not answer.startswith(b"HTTP/1.1 5")
    assert b"Traceback" not in answer
    assert service.client().get("/healthz").status_code == 200


def test_a_caller_that_hangs_up_in_the_middle_leaves_nothing(service, account):
    form = in_form("speech", sound_files()["mp3"])
    headers = {**account.headers, "Host": "x", "Content-Type": form.content_type, "Content-Length": str(len(form.body))}
    head = f"POST {PATH} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    url = urlsplit(service.base_url)
    for share in (0, 100, 10_000, len(form.body) - 1):
        with socket.create_connection((url.hostname, url.port), timeout=HANGS_S) as connection:
            connection.sendall(head.encode() + b"\r\n" + form.body[:share])
    client = service.client(account)
    assert client.get("/v2/jobs").json()["jobs"] == []
    assert client.get("/v2/account/credits").json() == {"credits": 100_000}


def test_the_same_seed_gives_the_same_bodies_of_every_family():
    bodies = hostile_bodies(60, seed=7)
    assert [body.name for body in bodies] == [body.name for body in hostile_bodies(60, seed=7)]
    assert Counter(" cut at " in body.name for body in bodies)[True] >= 15
    assert Counter(body.name.startswith("fuzzed") for body in bodies)[True] >= 15
