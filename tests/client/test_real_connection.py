"""The client on a real connection to this computer."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from vbdesk.client import AudioSource, Client, Credentials, RetryRule
from vbdesk.client.errors import ConnectionFailed

DATA = bytes(300_000)


class Handler(BaseHTTPRequestHandler):
    """Credits, a mint, and a storage in one."""

    def do_GET(self):
        self._answer({"credits": 7})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        url = f"http://127.0.0.1:{self.server.server_port}/put"
        headers = {"Content-Type": "audio/flac"}
        self._answer(
            {"upload_url": url, "upload_ref": "r", "expires_at": "2026-03-01T00:00:00Z", "required_headers": headers}
        )

    def do_PUT(self):
        self.server.stored = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({})

    def log_message(self, *arguments):
        pass

    def _answer(self, body):
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def client_of(port):
    return Client(f"http://127.0.0.1:{port}", Credentials("acc-1", "key"), retries=RetryRule.NEVER)


def test_a_proxy_does_not_stand_before_a_service_on_this_computer(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with client_of(server.server_port) as client:
        assert client.account.credits() == 7


def test_bytes_arrive_as_they_are(server):
    with client_of(server.server_port) as client:
        client.uploads.send(AudioSource.from_bytes(DATA, "audio/flac"))
    assert server.stored == DATA


def test_nobody_there_is_a_failed_connection_that_delivered_nothing(server):
    server.shutdown()
    server.server_close()
    with client_of(server.server_port) as client, pytest.raises(ConnectionFailed) as raised:
        client.account.credits()
    assert not raised.value.maybe_delivered
