"""Uploads and submits."""

import email.parser
import email.policy
import hashlib
import json
from datetime import UTC, datetime
from threading import Event

import httpx
import pytest

from vbdesk.client import AudioSource, Client, Credentials, ErrorKind, ManualClock, Target, Webhook
from vbdesk.client.errors import AddressUsed, Cancelled, ConnectionFailed, UnexpectedAnswer, UploadFailed
from vbdesk.contract.jobs import GroupJob
from vbdesk.contract.uploads import UploadGrant

DATA = bytes(range(256)) * 1000
MINTED = {
    "upload_url": "https://storage.test/bucket/key?signature=abc",
    "upload_ref": "ref-1",
    "expires_at": "2026-03-01T09:45:00Z",
    "required_headers": {"Content-Type": "audio/flac", "X-Vbdesk-Content-Length-Range": "1,33554432"},
}
PULSE = Target("model", "pulse")


@pytest.fixture
def audio():
    return AudioSource.from_bytes(DATA, "audio/flac")


def storage_error(status, code):
    return httpx.Response(status, text=f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>")


def form_of(request):
    """Fields of a multipart request, by name; files as bytes."""
    head = b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.content)
    return {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message.iter_parts()
    }


def test_an_upload_sends_every_required_header_and_no_credentials(client, service, audio):
    service.will_answer(service.json(MINTED), httpx.Response(200))
    assert client.uploads.send(audio) == "ref-1"
    put = service.requests[1]
    assert (put.method, str(put.url)) == ("PUT", MINTED["upload_url"])
    assert put.headers["X-Vbdesk-Content-Length-Range"] == "1,33554432"
    assert put.headers["Content-Type"] == "audio/flac"
    assert put.headers["Content-Length"] == str(len(DATA))
    assert "Transfer-Encoding" not in put.headers
    assert not {"x-api-key", "x-account-id"} & set(put.headers)
    assert put.content == DATA


def test_a_header_that_cannot_be_sent_is_no_answer_of_the_service(client, service, audio):
    service.will_answer(service.json({**MINTED, "required_headers": {"X-Note": "\u2603"}}))
    with pytest.raises(UnexpectedAnswer):
        client.uploads.send(audio)


def test_progress_counts_bytes_up_to_the_whole(client, service, audio):
    service.will_answer(service.json(MINTED), httpx.Response(200))
    seen = []
    client.uploads.send(audio, progress=lambda sent, total: seen.append((sent, total)))
    assert seen[-1] == (len(DATA), len(DATA))
    assert len(seen) == 4
    assert seen == sorted(seen)


def test_a_file_is_streamed_from_disk(client, service, tmp_path):
    path = tmp_path / "take.flac"
    path.write_bytes(DATA)
    service.will_answer(service.json(MINTED), httpx.Response(200))
    client.uploads.send(AudioSource.from_path(path))
    assert service.requests[1].content == DATA


def test_a_file_of_another_kind_is_refused_before_anything_is_sent(tmp_path):
    with pytest.raises(ValueError, match=r"notes\.txt is not a WAV"):
        AudioSource.from_path(tmp_path / "notes.txt")


def test_a_broken_upload_begins_again(client, service, audio, clock):
    service.will_answer(service.json(MINTED), httpx.WriteError("gone"), httpx.Response(200))
    assert client.uploads.send(audio) == "ref-1"
    assert clock.waits == [1]
    assert service.requests[2].content == DATA


def test_an_upload_whose_answer_was_lost_counts_as_done(client, service, audio):
    service.will_answer(service.json(MINTED), httpx.ReadError("gone"), storage_error(412, "PreconditionFailed"))
    assert client.uploads.send(audio) == "ref-1"


def test_an_address_used_by_someone_else_is_an_error(client, service, audio):
    taken = storage_error(412, "PreconditionFailed")
    service.will_answer(service.json(MINTED), taken, service.json(MINTED), taken)
    with pytest.raises(UploadFailed) as raised:
        client.uploads.send(audio)
    assert raised.value.code == "PreconditionFailed"
    assert "signature=abc" not in repr(raised.value)


def test_an_address_that_is_used_is_left_for_another_one_where_nothing_proves_whose_file_is_there(
    client, service, audio
):
    renewed = MINTED | {"upload_ref": "ref-2"}
    service.will_answer(
        service.json(MINTED), storage_error(412, "PreconditionFailed"), service.json(renewed), httpx.Response(200)
    )
    assert client.uploads.send(audio) == "ref-2"


def held_already(content):
    digest = hashlib.sha256(content).hexdigest()
    code = "<Code>PreconditionFailed</Code>"
    return httpx.Response(412, text=f"<?xml version='1.0'?><Error>{code}<StoredSha256>{digest}</StoredSha256></Error>")


def test_a_put_that_the_network_doubled_is_known_by_the_digest_of_what_is_there(client, service, audio):
    service.will_answer(service.json(MINTED), held_already(DATA))
    assert client.uploads.send(audio) == "ref-1"


def test_a_file_of_the_same_size_at_the_address_is_never_taken_for_ours(client, service, audio):
    others, renewed = DATA[::-1], MINTED | {"upload_ref": "ref-2"}
    service.will_answer(
        service.json(MINTED), httpx.ReadError("gone"), held_already(others), service.json(renewed), httpx.Response(200)
    )
    assert client.uploads.send(audio) == "ref-2"
    with pytest.raises(AddressUsed):
        service.will_answer(held_already(others))
        client.uploads.put(UploadGrant.model_validate(MINTED), audio, sent_before=True)


class CutsFirstPut(httpx.BaseTransport):
    """Gives prepared answers, and breaks the first PUT after some of its pieces."""

    def __init__(self, pieces, *answers):
        self.pieces, self.answers = pieces, list(answers)

    def handle_request(self, request):
        if request.method != "PUT" or self.pieces is None:
            return self.answers.pop(0)
        for _, _ in zip(range(self.pieces), request.stream, strict=False):
            pass
        self.pieces = None
        raise httpx.WriteError("cut")


@pytest.mark.parametrize(("pieces", "upload_ref"), [(2, "ref-2"), (9, "ref-1")])
def test_a_file_at_the_address_is_ours_only_where_ours_was_sent_whole(audio, service, pieces, upload_ref):
    renewed = MINTED | {"upload_ref": "ref-2"}
    taken = storage_error(412, "PreconditionFailed")
    network = CutsFirstPut(pieces, service.json(MINTED), taken, service.json(renewed), httpx.Response(200))
    credentials = Credentials("acc-1", "key")
    with Client("https://api.test", credentials, clock=ManualClock(), transport=network) as client:
        assert client.uploads.send(audio) == upload_ref


def test_an_expired_address_is_minted_anew_once(client, service, audio):
    expired, renewed = storage_error(400, "ExpiredToken"), MINTED | {"upload_ref": "ref-2"}
    service.will_answer(service.json(MINTED), expired, service.json(renewed), httpx.Response(200))
    assert client.uploads.send(audio) == "ref-2"
    service.will_answer(service.json(MINTED), expired, service.json(renewed), expired)
    with pytest.raises(UploadFailed) as raised:
        client.uploads.send(audio)
    assert raised.value.kind is ErrorKind.RETRYABLE


def test_an_address_of_s3_tells_otherwise_that_it_expired(client, service, audio):
    text = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
    service.will_answer(service.json(MINTED), httpx.Response(403, text=text), service.json(MINTED), httpx.Response(200))
    assert client.uploads.send(audio) == "ref-1"


def test_an_earlier_attempt_that_s3_is_still_storing_is_waited_for(client, service, audio):
    storing, stored = storage_error(409, "ConditionalRequestConflict"), storage_error(412, "PreconditionFailed")
    service.will_answer(service.json(MINTED), httpx.ReadError("gone"), storing, stored)
    assert client.uploads.send(audio) == "ref-1"


@pytest.mark.parametrize(("content", "told"), [(DATA, {"size_bytes": len(DATA)}), (b"", {})])
def test_the_service_is_told_the_size_of_what_will_come(client, service, content, told):
    service.will_answer(service.json(MINTED), httpx.Response(200))
    client.uploads.send(AudioSource.from_bytes(content, "audio/flac"))
    asked = json.loads(service.requests[0].content)
    assert {name: value for name, value in asked.items() if name == "size_bytes"} == told


def test_an_upload_can_be_stopped_midway(client, service, audio):
    stop = Event()
    service.will_answer(service.json(MINTED), httpx.Response(200))
    with pytest.raises(Cancelled):
        client.uploads.send(audio, progress=lambda sent, total: stop.set(), cancel=stop)


@pytest.mark.parametrize(
    ("target", "options", "path"),
    [
        (PULSE, {}, "/v2/models/pulse/analyze"),
        (Target("sign", "stress"), {}, "/v2/signs/stress/analyze"),
        (PULSE, {"group_id": "subj:7"}, "/v2/models/pulse/groups/subj%3A7/analyze"),
        (
            Target("sign", "stress"),
            {"group_id": "s", "longitudinal": True},
            "/v2/signs/stress/groups/s/analyze/longitudinal",
        ),
    ],
)
def test_a_submit_goes_to_the_route_of_its_target(client, service, target, options, path):
    service.will_answer(service.job(group_id="s", recorded_at=None))
    client.analyze(target, "ref-1", **options)
    assert service.request.url.raw_path.decode() == path
    assert form_of(service.request) == {"diarize": b"false", "audio_upload_ref": b"ref-1"}


def test_a_group_submit_tells_when_it_was_recorded(client, service):
    moment = datetime(2026, 3, 1, 9, 30, 1, 250, tzinfo=UTC)
    service.will_answer(service.job(group_id="subj-7", recorded_at="2026-03-01T09:30:01.000250Z"))
    webhook = Webhook("https://me.test/hook", "s3cret")
    job = client.analyze(
        PULSE,
        "ref-1",
        group_id="subj-7",
        recorded_at=moment,
        diarize=True,
        webhook=webhook,
        client_ref="take-0001-attempt-1",
    )
    assert isinstance(job, GroupJob)
    assert job.recorded_at == moment
    assert form_of(service.request) == {
        "diarize": b"true",
        "recorded_at": b"2026-03-01T09:30:01.000250Z",
        "webhook_url": b"https://me.test/hook",
        "webhook_secret_key": b"s3cret",
        "audio_upload_ref": b"ref-1",
    }
    assert service.request.headers["Idempotency-Key"] == "take-0001-attempt-1"
    assert "s3cret" not in repr(webhook)


def test_a_recording_can_go_along_with_the_submit(client, service, audio):
    service.will_answer(service.error(500, "PROCESSING_ERROR"), service.job())
    assert client.analyze(PULSE, audio).job_id
    for request in service.requests:
        assert form_of(request) == {"diarize": b"false", "audio": DATA}


def test_a_submit_without_an_answer_is_left_to_the_caller(client, service):
    service.will_answer(httpx.ReadTimeout("late"))
    with pytest.raises(ConnectionFailed) as raised:
        client.analyze(PULSE, "ref-1")
    assert raised.value.maybe_delivered
    assert len(service.requests) == 1


@pytest.mark.parametrize("options", [{"longitudinal": True}, {"recorded_at": datetime(2026, 3, 1, tzinfo=UTC)}])
def test_a_history_needs_a_group(client, options):
    with pytest.raises(ValueError, match="Name the group"):
        client.analyze(PULSE, "ref-1", **options)
