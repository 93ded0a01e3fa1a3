"""Round-robin proxy: whole requests alternate, bytes are unchanged, dead servers are skipped."""

import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from round_robin import RoundRobin

from patience import HANGS_S


class Named(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = f"{self.server.server_port} {len(body)}".encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def servers() -> Iterator[list[http.server.ThreadingHTTPServer]]:
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Named) for _ in range(2)]
    threads = [threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}) for server in servers]
    for thread in threads:
        thread.start()
    yield servers
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def proxy(servers: list[http.server.ThreadingHTTPServer]) -> Iterator[RoundRobin]:
    proxy = RoundRobin([("127.0.0.1", server.server_port) for server in servers])
    yield proxy
    proxy.close()


def test_requests_of_one_connection_take_turns(proxy: RoundRobin) -> None:
    with httpx.Client(base_url=proxy.origin, trust_env=False, timeout=HANGS_S) as client:
        answers = [client.post("/", content=b"x" * size).text.split() for size in (0, 5, 300_000, 1)]
    assert [size for _, size in answers] == ["0", "5", "300000", "1"]
    ports = [port for port, _ in answers]
    assert ports[0] != ports[1] and ports == ports[:2] * 2


def test_server_that_takes_no_connections_is_passed_over(proxy: RoundRobin) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy.servers[0] = nobody.getsockname()
        with httpx.Client(base_url=proxy.origin, trust_env=False, timeout=HANGS_S) as client:
            assert len({client.post("/", content=b"").text for _ in range(4)}) == 1


def test_cut_breaks_open_connections_and_takes_new_ones(proxy: RoundRobin) -> None:
    with socket.create_connection(proxy.address) as open_one, httpx.Client(trust_env=False, timeout=HANGS_S) as client:
        assert client.post(proxy.origin, content=b"").is_success
        proxy.cut()
        with pytest.raises(ConnectionError):
            open_one.sendall(b"x")
            assert open_one.recv(1), "closed in order"
        assert client.post(proxy.origin, content=b"").is_success
    assert proxy.cut_connections >= 1
