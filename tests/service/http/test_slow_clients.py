"""Whoever drips bytes to hold a connection is cut off; whoever is only slow is not."""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from patience import HANGS_S, until
from vbdesk.service.composition.app import create_app
from vbdesk.service.http import slow_clients
from vbdesk.service.http.slow_clients import ClientTimeouts

HASTY = ClientTimeouts(head_s=1.0, body_s=1.0, body_bytes=2000, check_interval_s=0.1)
LEAST_S = 0.9


@pytest.fixture
def address(service, serve_app) -> tuple[str, int]:
    """Another server of the same service, with little patience."""
    url = urlsplit(serve_app(create_app(service.context), HASTY))
    return str(url.hostname), int(url.port or 0)


@contextlib.contextmanager
def connected(address) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=HANGS_S) as caller:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield caller


def seconds_until_cut_off(caller: socket.socket, drip: bytes, began: float, every_s: float = 0.1) -> float:
    """Seconds from `began`, which is before the server could begin to count."""
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
    began = time.monotonic()
    with connected(address) as caller:
        assert seconds_until_cut_off(caller, b"", began) > LEAST_S


def test_a_head_that_drips_is_cut_off(address):
    began = time.monotonic()
    with connected(address) as caller:
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        assert seconds_until_cut_off(caller, b"a", began) > LEAST_S


def test_the_next_head_on_a_connection_that_drips_is_cut_off_too(address):
    with connected(address) as caller:
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert caller.recv(1000).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        assert seconds_until_cut_off(caller, b"a", began) > LEAST_S


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
    began = time.monotonic()
    with connected(address) as caller:
        caller.sendall(form_head(account, 1_000_000))
        caller.sendall(b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n')
        assert seconds_until_cut_off(caller, b"a", began) > LEAST_S
    until(lambda: list(service.context.storage.incoming.iterdir()) == [])
    assert service.client(account).get("/v2/account/credits").json() == {"credits": 100_000}


class Watched:
    """The server's clock, which the test advances; how much it has received, and how often it has looked."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.received, self.looks = 0.0, 0, 0
        data_received, look = slow_clients.CutsOffSlowClients.data_received, slow_clients.CutsOffSlowClients._check

        def receive(protocol, data):
            data_received(protocol, data)
            self.received += len(data)

        def look_once(protocol):
            look(protocol)
            self.looks += 1

        monkeypatch.setattr(slow_clients.CutsOffSlowClients, "data_received", receive)
        monkeypatch.setattr(slow_clients.CutsOffSlowClients, "_check", look_once)
        monkeypatch.setattr(slow_clients, "time", self)

    def monotonic(self) -> float:
        return self.now

    def wait_for_look(self) -> None:
        seen = self.looks
        until(lambda: self.looks > seen + 1)  # one may be under way


def test_a_slow_upload_that_goes_on_is_taken_to_its_end(monkeypatch, address, account):
    watched = Watched(monkeypatch)
    body = b'--b\r\nContent-Disposition: form-data; name="diarize"\r\n\r\nmaybe\r\n--b--\r\n'
    body = b"x" * 12_000 + b"\r\n" + body  # what stands before the first boundary is no one's
    with connected(address) as caller:
        sent = form_head(account, len(body))
        caller.sendall(sent)
        total = len(sent)
        for start in range(0, len(body), HASTY.body_bytes):  # as much as is asked for, for six times as long
            until(lambda total=total: watched.received == total)
            watched.wait_for_look()
            part = body[start : start + HASTY.body_bytes]
            caller.sendall(part)
            total += len(part)
            until(lambda total=total: watched.received == total)
            watched.now += HASTY.body_s
        answer = http.client.HTTPResponse(caller)
        answer.begin()
        assert answer.status == 400


def test_a_connection_at_rest_between_requests_is_not_taken_for_a_dawdler(monkeypatch, address):
    watched = Watched(monkeypatch)
    with connected(address) as caller:
        for _ in range(2):
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):  # head and body may come apart
                received = caller.recv(1000)
                assert received, answer
                answer += received
            assert answer.startswith(b"HTTP/1.1 200")
            watched.now += 1.5 * HASTY.head_s
            watched.wait_for_look()
