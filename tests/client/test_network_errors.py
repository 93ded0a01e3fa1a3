"""Causes of an unreachable service, on real connections to this computer."""

import datetime as dt
import errno
import ipaddress
import json
import socket
import ssl
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from vbdesk.client import (
    AudioSource,
    CaptivePortal,
    Client,
    ConnectionFailed,
    Credentials,
    ErrorKind,
    FailureCause,
    RetryRule,
)
from vbdesk.client.errors import ServiceUnavailable, UnexpectedAnswer
from vbdesk.client.fhir import BearerToken, FhirServer
from vbdesk.client.network_errors import cause_of
from vbdesk.contract.uploads import UploadGrant

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
PAGE = b"<!DOCTYPE html><html><form>Room number</form></html>"


class Authority:
    """Issues certificates for this computer."""

    def __init__(self, folder):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        own = self._builder(self._name, self._key.public_key(), NOW - 99 * DAY, NOW + 99 * DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def context(self, begins, ends):
        """A server's side of TLS whose certificate is valid between two moments."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
        certificate = self._builder(name, key.public_key(), begins, ends).add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        path = self._folder / "server.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _builder(self, subject, public_key, begins, ends):
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(public_key)
        return builder.serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(ends)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


class Answering(BaseHTTPRequestHandler):
    """Gives everything the same answer, like a portal."""

    status, headers_sent, body = 200, {}, b""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        for name, value in {"Content-Length": str(len(self.body)), **self.headers_sent}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_PUT = do_GET

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    """Ignores callers that disconnect."""

    def handle_error(self, request, client_address):
        pass


@contextmanager
def server_of(handler, context=None):
    with Server(("127.0.0.1", 0), handler) as running:
        if context is not None:
            running.socket = context.wrap_socket(running.socket, server_side=True)
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"{'http' if context is None else 'https'}://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join()


def answering(status, body=b"", **headers):
    return type("Scripted", (Answering,), {"status": status, "body": body, "headers_sent": headers})


def failure_at(address, transport=None):
    """The error of a request to an address."""
    with (
        Client(address, Credentials("acc-1", "key"), retries=RetryRule.NEVER, transport=transport) as client,
        pytest.raises((ConnectionFailed, CaptivePortal, UnexpectedAnswer, ServiceUnavailable)) as raised,
    ):
        client.account.credits()
    return raised.value


def put_failure_at(address):
    """The error of an upload to an address."""
    grant = UploadGrant(upload_url=f"{address}/put", upload_ref="r", expires_at=NOW, required_headers={})
    with (
        Client("http://127.0.0.1:9", Credentials("acc-1", "key"), retries=RetryRule.NEVER) as client,
        pytest.raises((ConnectionFailed, CaptivePortal, ServiceUnavailable)) as raised,
    ):
        client.uploads.put(grant, AudioSource.from_bytes(b"sound", "audio/flac"))
    return raised.value


@pytest.mark.parametrize(
    ("begins", "ends", "trusted", "cause"),
    [
        (NOW - 9 * DAY, NOW - DAY, True, FailureCause.TLS_CLOCK),
        (NOW + DAY, NOW + 9 * DAY, True, FailureCause.TLS_CLOCK),
        (NOW - DAY, NOW + DAY, False, FailureCause.TLS),
    ],
)
def test_a_certificate_out_of_its_time_is_told_from_an_unknown_one(
    authority, monkeypatch, begins, ends, trusted, cause
):
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with server_of(Answering, authority.context(begins, ends)) as address:
        error = failure_at(address)
    assert (error.cause, error.maybe_delivered) == (cause, False)


def test_a_fhir_server_gets_nothing_before_its_certificate_is_known(authority, monkeypatch):
    got = []

    class Fhir(answering(200, b'{"type": "transaction-response", "entry": []}')):
        def do_POST(self):
            got.append(self.headers["Authorization"])
            self.do_GET()

    transaction = b'{"resourceType": "Bundle", "type": "transaction", "entry": []}'
    with server_of(Fhir, authority.context(NOW - DAY, NOW + DAY)) as address:
        with FhirServer(address, BearerToken(token="t")) as server, pytest.raises(ConnectionFailed) as raised:
            server.send(transaction)
        assert (raised.value.cause, raised.value.maybe_delivered, got) == (FailureCause.TLS, False, [])
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
        with FhirServer(address, BearerToken(token="t")) as server:
            server.send(transaction)
    assert got == ["Bearer t"]


def test_a_server_without_tls_behind_an_https_address_is_no_secure_connection():
    with server_of(Answering) as address:
        assert failure_at(address.replace("http:", "https:")).cause is FailureCause.TLS


def test_a_closed_port_is_a_service_that_does_not_run():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = failure_at(f"http://127.0.0.1:{port}")
    assert (error.cause, error.maybe_delivered, error.at_storage) == (FailureCause.REFUSED, False, False)


def test_a_storage_that_cannot_be_reached_is_told_from_the_service():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = put_failure_at(f"http://127.0.0.1:{port}")
    assert (error.cause, error.at_storage) == (FailureCause.REFUSED, True)
    assert error.sentence.startswith("The service's storage cannot be reached: ")


def test_a_name_that_is_not_found_is_told_as_such():
    too_long_to_be_asked_for = ".".join(["x" * 60] * 5)  # too long for a DNS query
    error = failure_at(f"http://{too_long_to_be_asked_for}")
    assert (error.cause, error.maybe_delivered) == (FailureCause.NAME, False)


def test_a_name_that_nobody_can_ask_for_is_refused_at_once():
    with pytest.raises(ValueError, match="Give the service's address"):
        Client(f"http://{'x' * 64}.test", Credentials("acc-1", "key"))


def test_a_service_that_hangs_up_has_broken_off():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up():
            listening.accept()[0].close()

        thread = Thread(target=hang_up)
        thread.start()
        error = failure_at(f"http://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
    assert (error.cause, error.maybe_delivered) == (FailureCause.BROKEN_OFF, True)


def test_a_service_that_keeps_silent_is_timed_out():
    class Impatient(httpx.HTTPTransport):
        def handle_request(self, request):
            request.extensions["timeout"] = {"connect": 5.0, "read": 0.05, "write": 5.0, "pool": 5.0}
            return super().handle_request(request)

    with socket.create_server(("127.0.0.1", 0)) as listening:  # the system accepts, nobody answers
        error = failure_at(f"http://127.0.0.1:{listening.getsockname()[1]}", Impatient())
    assert (error.cause, error.maybe_delivered) == (FailureCause.TIMED_OUT, True)


@pytest.mark.parametrize(
    ("below", "cause"),
    [
        (OSError(errno.ENETUNREACH, "Network is unreachable"), FailureCause.OFFLINE),
        (OSError(errno.EHOSTUNREACH, "No route to host"), FailureCause.OFFLINE),
        (TimeoutError(errno.ETIMEDOUT, "Connection timed out"), FailureCause.TIMED_OUT),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), FailureCause.BROKEN_OFF),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), FailureCause.BROKEN_OFF),
    ],
)
def test_the_systems_own_words_are_understood(below, cause):
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = below
    assert cause_of(error) is cause


def test_a_proxy_that_refuses_is_told_as_such():
    assert cause_of(httpx.ProxyError("403 Forbidden")) is FailureCause.PROXY


PORTALS = [
    answering(200, PAGE, **{"Content-Type": "text/html; charset=utf-8"}),
    answering(200, PAGE),
    answering(403, PAGE),
    answering(302, Location="http://login.hotel.test/?from=x"),
    answering(511, b"Log in."),
]


@pytest.mark.parametrize("portal", PORTALS)
def test_a_portal_is_told_from_the_service_and_from_the_storage(portal):
    with server_of(portal) as address:
        for error in (failure_at(address), put_failure_at(address)):
            assert isinstance(error, CaptivePortal)
            assert error.kind is ErrorKind.RETRYABLE
            assert "log in" in error.sentence


def test_a_gateway_with_a_page_for_a_service_that_is_down_is_no_portal():
    with server_of(answering(502, PAGE)) as address:
        assert isinstance(failure_at(address), ServiceUnavailable)
        assert isinstance(put_failure_at(address), ServiceUnavailable)


def test_a_service_that_wants_https_is_a_wrong_address():
    location = "https://127.0.0.1/v2/account/credits"
    with server_of(answering(308, Location=location)) as address:
        error = failure_at(address)
    assert isinstance(error, UnexpectedAnswer)
    assert "begins with https" in error.sentence


def test_an_answer_of_the_storage_that_is_no_page_is_a_success():
    with server_of(answering(200, json.dumps({}).encode(), **{"Content-Type": "application/json"})) as address:
        grant = UploadGrant(upload_url=f"{address}/put", upload_ref="r", expires_at=NOW, required_headers={})
        with Client("http://127.0.0.1:9", Credentials("acc-1", "key"), retries=RetryRule.NEVER) as client:
            client.uploads.put(grant, AudioSource.from_bytes(b"sound", "audio/flac"))


def test_every_cause_has_words_of_its_own_for_a_person():
    sentences = {cause.sentence for cause in FailureCause}
    assert len(sentences) == len(FailureCause)
    assert all(sentence.endswith(".") and len(sentence) < 200 for sentence in sentences)
