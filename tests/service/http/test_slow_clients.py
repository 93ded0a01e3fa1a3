"""Whoever drips bytes to hold a connection is cut off; whoever is only slow is not."""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from vbdesk.service.composition.app import create_app
from vbdesk.service.http.slow_clients import ClientTimeouts

HASTY = ClientTimeouts(head_s=1.0, body_s=1.0, body_bytes=2000, look_every_s=0.1)
LEAST_S = 0.9


@pytest.fixture
def address(service, serve_app) -> tuple[str, int]:
    """Another server of the same service, with little patience."""
    url = urlsplit(serve_app(create_app(service.context), HASTY))
    return str(url.hostname), int(url.port or 0)


@contextlib.contextmanager
def connected(address) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=10) as caller:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield caller


def seconds_until_cut_off(caller: socket.socket, drip: bytes, every_s: float = 0.1) -> float:
    began = time.monotonic()
    caller.settimeout(every_s)
    for _ in range(600):
        try:
            caller.sendall(drip)
            if caller.recv(1000) == b"":
                return time.monotonic() - began
        except TimeoutError:
            continue
        except OSError:
            return time.monotonic() - began
    pytest.fail("the caller was never cut off")


def test_a_caller_who_says_nothing_is_cut_off(address):
    with connected(address) as caller:
        assert seconds_until_cut_off(caller, b"") > LEAST_S


def test_a_head_that_drips_is_cut_off(address):
    with connected(address) as caller:
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        assert seconds_until_cut_off(caller, b"a") > LEAST_S


def test_the_next_head_on_a_connection_that_drips_is_cut_off_too(address):
    with connected(address) as caller:
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert caller.recv(1000).startswith(b"HTTP/1.1 200")
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        assert seconds_until_cut_off(caller, b"a") > LEAST_S


def form_head(account, length: int) -> bytes:
    headers = {
        **account.headers,
        "Host": "x",
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": str(length),
    }
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return ("POST /v2/signs/stress/analyze HTTP/1.1\r\n" + "".join(lines) + "\r\n").encode()


def test_a_body_that_drips_is_cut_off_and_leaves_nothing(address, service, account):
    with connected(address) as caller:
        caller.sendall(form_head(account, 1_000_000))
        caller.sendall(b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n')
        assert seconds_until_cut_off(caller, b"a") > LEAST_S
    gone_by = time.monotonic() + 60
    while list(service.context.storage.incoming.iterdir()) and time.monotonic() < gone_by:
        time.sleep(0.02)
    assert list(service.context.storage.incoming.iterdir()) == []
    assert service.client(account).get("/v2/account/credits").json() == {"credits": 100_000}


def test_a_slow_upload_that_goes_on_is_taken_to_its_end(address, account):
    body = b'--b\r\nContent-Disposition: form-data; name="diarize"\r\n\r\nmaybe\r\n--b--\r\n'
    body = b"x" * 12_000 + b"\r\n" + body  # what stands before the first boundary is no one's
    with connected(address) as caller:
        caller.sendall(form_head(account, len(body)))
        for start in range(0, len(body), 400):  # three times as much as is asked for, for three times as long
            caller.sendall(body[start : start + 400])
            time.sleep(0.08)
        answer = http.client.HTTPResponse(caller)
        answer.begin()
        assert answer.status == 400


def test_a_connection_at_rest_between_requests_is_not_taken_for_a_dawdler(address):
    with connected(address) as caller:
        for _ in range(2):
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):  # head and body may come apart
                received = caller.recv(1000)
                assert received, answer
                answer += received
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(1.5)
