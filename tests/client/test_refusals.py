"""A person reads every refusal of the service in the own language, whatever English the service says."""

import re

import pytest

from vbdesk.client import AudioSource, ClientError, RetryRule, Target, refusals
from vbdesk.contract.errors import INVALID_UPLOAD_REF, ErrorCode
from vbdesk.language import Language, reading_in, translated

PSEUDO = Language("en_XA", "en_GB")
ENGLISH = "Only the service says it like this."
AUDIO = AudioSource.from_bytes(b"RIFF", "audio/wav", "take.wav")

REQUESTS = {
    "credits": lambda client: client.account.credits(),
    "webhook": lambda client: client.account.set_webhook("https://me.test/hook", "s3cret"),
    "models": lambda client: client.models.list(),
    "model": lambda client: client.models.get("pulse"),
    "signs": lambda client: client.signs.list(),
    "sign": lambda client: client.signs.get("stress"),
    "jobs": lambda client: client.jobs.list(),
    "job": lambda client: client.jobs.get("j-1"),
    "new group": lambda client: client.groups.create("subj-7"),
    "groups": lambda client: client.groups.list(),
    "deletion": lambda client: client.groups.delete("subj-7"),
    "members": lambda client: client.groups.jobs("subj-7"),
    "new member": lambda client: client.groups.add_jobs("subj-7", ["j-1"]),
    "removal": lambda client: client.groups.remove_job("subj-7", "j-1"),
    "trajectory": lambda client: client.groups.trajectory("subj-7", ["stress"]),
    "aggregate": lambda client: client.groups.aggregate("subj-7"),
    "upload": lambda client: client.uploads.mint("audio/wav"),
    "analysis": lambda client: client.analyze(Target("sign", "stress"), AUDIO),
    "analysis of a model": lambda client: client.analyze(Target("model", "pulse"), "ref", group_id="subj-7"),
}
"""Every request that desk and commands send."""

UNEXPLAINED = {ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_USE_CASE, ErrorCode.VALIDATION_ERROR}
"""Codes that name no reason: where the request does not tell it either, the service is quoted."""

EXPLAINED = {
    ("new group", ErrorCode.INVALID_REQUEST),
    ("trajectory", ErrorCode.VALIDATION_ERROR),
    ("webhook", ErrorCode.VALIDATION_ERROR),
}


def refused(make_client, service, request, body):
    service.will_answer(service.json(body, status=body["status"]))
    with pytest.raises(ClientError) as raised:
        REQUESTS[request](make_client(retries=RetryRule.NEVER))
    return raised.value


def outside_of_brackets(text):
    """The words that a translation into the pseudo-language has not reached."""
    while (inner := re.sub(r"\[[^][]*\]", "", text)) != text:  # a value may be a text of its own
        text = inner
    return text.split()


@pytest.mark.parametrize("code", ErrorCode)
@pytest.mark.parametrize("request_", REQUESTS)
def test_every_refusal_of_every_request_is_translated(make_client, service, request_, code):
    body = {"code": code, "message": ENGLISH, "status": code.facts.status}
    error = refused(make_client, service, request_, body)
    with reading_in(PSEUDO):
        shown = translated(error)
    assert outside_of_brackets(shown) == []
    assert (ENGLISH in shown) is (code in UNEXPLAINED and (request_, code) not in EXPLAINED)


@pytest.mark.parametrize(("status", "code"), [(400, "A_NEWER_CODE"), (404, "A_NEWER_CODE"), (418, "TEAPOT")])
def test_a_code_of_a_newer_service_is_told_too(make_client, service, status, code):
    error = refused(make_client, service, "credits", {"code": code, "message": ENGLISH, "status": status})
    with reading_in(PSEUDO):
        assert outside_of_brackets(translated(error)) == []


def test_a_field_that_is_refused_is_named(make_client, service):
    detail = [{"loc": ["body", "filename"], "msg": "It is too long.", "type": "string_too_long"}]
    body = {"code": "VALIDATION_ERROR", "message": ENGLISH, "status": 422, "detail": detail}
    error = refused(make_client, service, "upload", body)
    assert error.sentence == (
        "The service does not accept the field filename of this request. The reason, in English: It is too long."
    )
    with reading_in(PSEUDO):
        assert outside_of_brackets(translated(error)) == []


@pytest.mark.parametrize("request_", REQUESTS)
def test_an_upload_that_is_gone_is_no_quotation(make_client, service, request_):
    body = {"code": "INVALID_REQUEST", "message": INVALID_UPLOAD_REF, "status": 400}
    assert INVALID_UPLOAD_REF not in refused(make_client, service, request_, body).sentence


def test_every_sentence_is_used_by_a_request(make_client, service):
    """A sentence that no request can lead to would be translated for nothing."""
    said = set()
    for request in REQUESTS:
        for code in ErrorCode:
            body = {"code": code, "message": ENGLISH, "status": code.facts.status}
            said.add(str(refused(make_client, service, request, body).sentence))
    tables = [table for name, table in vars(refusals).items() if "OF_" in name]
    assert len(tables) > 5
    shown_by_code = {code.facts.in_client for code in ErrorCode} - {None}
    assert {sentence for table in tables for sentence in table.values()} | shown_by_code <= said
