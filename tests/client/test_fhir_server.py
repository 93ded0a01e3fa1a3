"""FHIR transactions sent to a server: a repeat changes nothing, errors are sentences, secrets stay secret."""

import copy
import json
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "report")]

from fhir_double import BASE, FHIR, FhirDouble, outcome
from report_cases import AS_OF, golden

from vbdesk.client.errors import ClientError, ConnectionFailed, ErrorKind, Unauthorized, UnexpectedAnswer
from vbdesk.client.fhir import BackendService, BasicLogin, BearerToken, FhirServer, StoredLogin, fhir_address
from vbdesk.client.fhir import exchange as exchange_module
from vbdesk.client.fhir.errors import MAX_TEXT
from vbdesk.client.fhir.signing import SigningKey
from vbdesk.client.fhir.smart import SCOPE_V1, SCOPE_V2
from vbdesk.clock import ManualClock
from vbdesk.report.fhir import fhir_transactions
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_consent import ConsentGrant

CASES = golden()
SECRET = "s3cret-pass-word"
SMALL = {"resourceType": "Bundle", "type": "transaction", "entry": []}
TRANSACTION = json.dumps(SMALL).encode()


def send(double, record, **options):
    with FhirServer(BASE, transport=double.transport()) as server:
        return [server.send(part) for part in fhir_transactions(record, **options)]


def refusal(double, credentials=None, transaction=TRANSACTION):
    with FhirServer(BASE, credentials, transport=double.transport()) as server, pytest.raises(ClientError) as raised:
        server.send(transaction)
    return raised.value


def test_a_repeat_changes_nothing():
    double, record = FhirDouble(), CASES["mixed models"]
    reader = SignOff("Dr. A", AS_OF)
    [first] = send(double, record, scores=True, sign_off=reader)
    stored = copy.deepcopy(double.resources)
    [again] = send(double, record, scores=True, sign_off=SignOff("Dr. A", AS_OF + timedelta(days=1)))
    assert double.resources == stored
    assert (first.kept, again.created) == (0, 0)
    assert first.created == again.kept == len(stored) > 50


def test_references_lead_to_what_the_server_stored():
    double = FhirDouble()
    send(double, CASES["two"])
    report = double.of_kind("DiagnosticReport")[-1]
    assert all(one["reference"] in double.resources for one in report["result"])
    observation = double.resources[report["result"][0]["reference"]]
    assert double.resources[observation["device"]["reference"]]["resourceType"] == "Device"
    assert "urn:uuid" not in json.dumps(double.resources)


def test_a_new_recording_adds_only_its_own():
    double, record = FhirDouble(), CASES["gaps and anomalies"]
    send(double, replace(record, recordings=record.recordings[:3]))
    before = set(double.resources)
    [counts] = send(double, replace(record, recordings=record.recordings[:4]))
    assert before < set(double.resources)
    assert counts.created == len(double.resources) - len(before)
    assert len(double.of_kind("DiagnosticReport")) == 4


def test_a_withdrawal_reaches_the_server_and_an_old_copy_does_not_undo_it():
    double, record = FhirDouble(), CASES["nothing yet"]
    given = ConsentGrant("e1", "clinical", AS_OF, "2.0", "de")
    for grant, status in (
        (given, "active"),
        (given, "active"),
        (replace(given, ended_at=AS_OF + timedelta(days=1)), "inactive"),
        (given, "inactive"),
    ):
        send(double, replace(record, consents=(grant,)))
        [consent] = double.of_kind("Consent")
        assert consent["status"] == status


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (307, ErrorKind.TERMINAL, "It was not followed"),
        (400, ErrorKind.TERMINAL, "refuses the transaction with status 400"),
        (401, ErrorKind.NEEDS_ATTENTION, "vbdesk fhir login"),
        (403, ErrorKind.NEEDS_ATTENTION, "the right to create"),
        (404, ErrorKind.TERMINAL, "no FHIR server at this address"),
        (409, ErrorKind.RETRYABLE, "send it again"),
        (412, ErrorKind.TERMINAL, "several resources with one identifier"),
        (413, ErrorKind.TERMINAL, "higher limit"),
        (422, ErrorKind.TERMINAL, "does not accept the content"),
        (429, ErrorKind.RETRYABLE, "asks for a pause"),
        (500, ErrorKind.RETRYABLE, "a problem of its own (status 500)"),
        (503, ErrorKind.RETRYABLE, "a repeat is harmless"),
    ],
)
def test_each_refusal_says_what_to_do(status, kind, words):
    answer = httpx.Response(
        status, json=outcome("Row 7 is wrong"), headers={**FHIR, "Location": "https://evil.example/"}
    )
    error = refusal(FhirDouble(instead=[answer]))
    assert error.kind is kind
    assert words in error.sentence
    assert "fhir.example.org" in error.sentence
    assert ("“Row 7 is wrong”" in error.sentence) == (status != 307)
    assert "evil" not in error.sentence


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    double = FhirDouble(instead=[httpx.Response(status, headers={"Location": "https://evil.example/take"})])
    refusal(double, BearerToken(token=SECRET))
    assert [request.url.host for request in double.requests] == ["fhir.example.org"]


@pytest.mark.parametrize("credentials", [BearerToken(token=SECRET), BasicLogin(user="ward", password=SECRET)])
def test_what_a_server_says_is_short_plain_and_without_our_secrets(credentials):
    sent = []

    def answer(request):
        sent.append(request.headers["Authorization"])
        texts = [f"\x1b[31m\u202eYour header\n{sent[0]} and {SECRET}", "x" * 5000, "third", "fourth"]
        return httpx.Response(422, json=outcome(*texts), headers=FHIR)

    with FhirServer(BASE, credentials, transport=httpx.MockTransport(answer)) as server:
        with pytest.raises(ClientError) as raised:
            server.send(TRANSACTION)
        assert SECRET not in repr(server)
    sentence = raised.value.sentence
    assert SECRET not in sentence
    assert sent[0].split()[1] not in sentence
    assert "Your header" in sentence
    assert sentence.isprintable()
    assert "fourth" not in sentence
    assert len(sentence) < 3 * MAX_TEXT + 300
    assert SECRET not in repr(credentials)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<h1>Bad gateway</h1>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"17",
        b'{"resourceType": "OperationOutcome"}',
        b'{"resourceType": "OperationOutcome", "issue": [7, {}, {"details": 3, "diagnostics": []}]}',
        b'{"resourceType": "OperationOutcome", "issue": "none"}',
    ],
)
@pytest.mark.parametrize("status", [200, 422])
def test_no_answer_breaks_the_program(status, body):
    error = refusal(FhirDouble(instead=[httpx.Response(status, content=body)]))
    assert "server says" not in error.sentence
    if status == 200:
        assert isinstance(error, UnexpectedAnswer)
        assert "a repeat is harmless" in error.sentence


@pytest.mark.parametrize(
    "entries", [[], [{"response": {"status": "404"}}], [{"response": 7}], [7], [{"response": {"status": "201"}}] * 2]
)
def test_an_answer_that_does_not_fit_the_transaction_is_no_success(entries):
    answer = {"resourceType": "Bundle", "type": "transaction-response", "entry": entries}
    transaction = json.dumps({**SMALL, "entry": [{}]}).encode()
    error = refusal(FhirDouble(instead=[httpx.Response(200, json=answer)]), transaction=transaction)
    assert isinstance(error, UnexpectedAnswer)


def test_an_answer_without_end_is_cut(monkeypatch):
    monkeypatch.setattr(exchange_module, "MAX_ANSWER_BYTES", 1000)
    given = []

    def endless():
        while True:
            given.append(1)
            yield b" " * 100

    error = refusal(FhirDouble(instead=[httpx.Response(200, content=endless())]))
    assert error.kind is ErrorKind.RETRYABLE
    assert "does not end" in error.sentence
    assert len(given) < 20


def test_an_answer_that_drips_is_cut():
    clock = ManualClock()

    def dripping():
        while True:
            clock.advance(60)
            yield b" "

    double = FhirDouble(instead=[httpx.Response(200, content=dripping())])
    with FhirServer(BASE, clock=clock, transport=double.transport()) as server, pytest.raises(ClientError) as raised:
        server.send(TRANSACTION)
    assert "does not end" in raised.value.sentence


@pytest.mark.parametrize(
    ("failure", "delivered"),
    [(httpx.ReadTimeout, True), (httpx.WriteError, True), (httpx.ConnectTimeout, False), (httpx.ConnectError, False)],
)
def test_no_answer_says_whether_something_may_be_stored(failure, delivered):
    def fail(request):
        raise failure(SECRET, request=request)

    with (
        FhirServer(BASE, BearerToken(token=SECRET), transport=httpx.MockTransport(fail)) as server,
        pytest.raises(ConnectionFailed) as raised,
    ):
        server.send(TRANSACTION)
    error = raised.value
    assert error.maybe_delivered == delivered
    assert ("a repeat is harmless" in error.sentence) == delivered
    assert "The FHIR server fhir.example.org cannot be reached" in error.sentence
    assert SECRET not in f"{error}{error!r}{error.sentence}"
    assert error.__cause__ is None


@pytest.mark.parametrize(
    "address",
    [
        "http://fhir.example.org/r4",
        "http://10.0.0.7/r4",
        "http://localhost.example.org/r4",
        "http://127.0.0.1@evil.example/r4",
        f"https://ward:{SECRET}@fhir.example.org/r4",
        "https://fhir.example.org/r4?token=x",
        "https://fhir.example.org/r4#x",
        "ftp://fhir.example.org",
        "file:///etc/passwd",
        "fhir.example.org",
        "https://",
        "",
        "https://exa mple.org",
        "http://127.0.0.1\\@evil.example",
        "https://fhir.example.org/\n/x",
    ],
)
def test_only_https_and_this_computer_are_sent_to(address):
    with pytest.raises(ValueError, match="not usable") as raised:
        FhirServer(address)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "checked"),
    [
        (" https://fhir.example.org/r4/ ", BASE),
        ("http://127.0.0.1:8080/fhir", "http://127.0.0.1:8080/fhir"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://localhost:1/", "http://localhost:1"),
    ],
)
def test_usable_addresses(address, checked):
    assert fhir_address(address) == checked


def test_a_login_is_read_as_it_was_stored_and_damage_says_nothing_of_it():
    key = SigningKey.new()
    for credentials in (
        BasicLogin(user="ward", password=SECRET),
        BearerToken(token=SECRET),
        BackendService(client_id="vbdesk", private_key=key.pem, key_id=key.key_id),
    ):
        stored = StoredLogin(BASE, credentials)
        assert StoredLogin.of_secret(stored.secret()) == stored
        assert SECRET not in repr(stored)
        assert "PRIVATE" not in repr(credentials)
    for damaged in (
        "",
        "{}",
        f'{{"address": "x", "credentials": {{"kind": "basic", "password": "{SECRET}"}}}}',
        "[" * 9999,
    ):
        with pytest.raises(ValueError, match="damaged") as raised:
            StoredLogin.of_secret(damaged)
        assert SECRET not in str(raised.value)


# SMART backend services


def pem(key, encryption=None):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()).decode()


RSA_KEY = pem(rsa.generate_private_key(65537, 2048))
EC_KEY = SigningKey.new().pem
TOKENS = {"token_endpoint": "https://login.example.org/token", "capabilities": ["permission-v2"]}


def smart(key=EC_KEY, **more):
    signing = SigningKey(key)
    service = BackendService(client_id="vbdesk-1", private_key=signing.pem, key_id=signing.key_id, **more)
    return service, FhirDouble(jwk=signing.public_jwk(), configuration=dict(TOKENS))


@pytest.mark.parametrize(("key", "algorithm"), [(RSA_KEY, "RS384"), (EC_KEY, "ES384")])
def test_a_signed_assertion_gets_a_token_that_is_used_until_it_ends(key, algorithm):
    service, double = smart(key)
    clock = ManualClock()
    with FhirServer(BASE, service, clock=clock, transport=double.transport()) as server:
        server.send(TRANSACTION)
        server.send(TRANSACTION)
        assert len(double.tokens) == 1
        clock.advance(3600)
        server.send(TRANSACTION)
    assert len(set(double.tokens)) == 2
    assert double.jwk["alg"] == algorithm
    claims = double.claims
    assert claims["iss"] == claims["sub"] == "vbdesk-1"
    assert claims["aud"] == TOKENS["token_endpoint"]
    assert 0 < claims["exp"] - claims["iat"] <= 300
    assert double.form["grant_type"] == ["client_credentials"]
    assert double.form["scope"] == [SCOPE_V2]


def test_a_given_endpoint_and_scope_need_no_configuration():
    service, double = smart(token_url="https://login.example.org/own/token", scope="system/*.*")
    double.configuration = None
    with FhirServer(BASE, service, transport=double.transport()) as server:
        server.send(TRANSACTION)
    assert [request.url.path for request in double.requests] == ["/own/token", "/r4"]
    assert double.form["scope"] == ["system/*.*"]


def test_an_older_server_is_asked_in_its_notation():
    service, double = smart()
    double.configuration["capabilities"] = ["permission-v1"]
    with FhirServer(BASE, service, transport=double.transport()) as server:
        server.send(TRANSACTION)
    assert double.form["scope"] == [SCOPE_V1]


def test_a_client_that_is_not_registered_is_told_so_without_its_assertion():
    service, double = smart()
    double.jwk = SigningKey.new().public_jwk()
    error = refusal(double, service)
    assert isinstance(error, Unauthorized)
    assert "gives no token to this client (invalid_client)" in error.sentence
    assert "eyJ" not in error.sentence


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (None, "--token-url"),
        ({}, "not usable"),
        ({"token_endpoint": "http://login.example.org/token"}, "plain http"),
        ({"token_endpoint": 7}, "not usable"),
        ({**TOKENS, "token_endpoint_auth_signing_alg_values_supported": ["RS384"]}, "ES384"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_explained(configuration, words):
    service, double = smart()
    double.configuration = configuration
    error = refusal(double, service)
    assert words in error.sentence
    assert not any(request.method == "POST" for request in double.requests), "nothing was sent"


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"[]",
        b"{}",
        b'{"access_token": "a b", "token_type": "bearer"}',
        b'{"access_token": "a\\r\\nX: y", "token_type": "bearer"}',
    ],
)
def test_an_answer_without_a_token_is_refused(told):
    service, double = smart()
    double._token = lambda form: httpx.Response(200, content=told)
    assert isinstance(refusal(double, service), UnexpectedAnswer)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no key",
        "é",
        pem(ec.generate_private_key(ec.SECP256R1())),
        pem(rsa.generate_private_key(65537, 1024)),
        pem(ec.generate_private_key(ec.SECP384R1()), BestAvailableEncryption(b"x")),
    ],
)
def test_a_key_that_cannot_sign_is_refused(text):
    with pytest.raises(ValueError, match="The key is not usable") as raised:
        SigningKey(text)
    assert "PRIVATE" not in str(raised.value)


def test_a_thumbprint_is_that_of_the_standard():
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs"
        "tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1"
        "n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    key = SigningKey(RSA_KEY)
    key._public_fields = lambda: {"kty": "RSA", "n": modulus, "e": "AQAB"}  # the example of RFC 7638
    assert key._thumbprint() == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
