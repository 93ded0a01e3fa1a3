"""The head of a request has one bound, however it arrives."""

import re
import socket
import time
from urllib.parse import urlsplit

import pytest

from patience import HANGS_S

LONGEST = 64 * 1024


def head_of(length: int) -> bytes:
    start = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: "
    return start + b"a" * (length - len(start) - 4) + b"\r\n\r\n"


def statuses_of(origin: str, sent: list[bytes], pause_s: float = 0.0) -> list[bytes]:
    parts = urlsplit(origin)
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as caller:
        for piece in sent:
            caller.sendall(piece)
            time.sleep(pause_s)
        return re.findall(rb"HTTP/1.1 (\d+)", b"".join(iter(lambda: caller.recv(65_536), b"")))


@pytest.mark.parametrize(("length", "status"), [(LONGEST, b"200"), (LONGEST + 1, b"400"), (130_000, b"400")])
def test_a_head_sent_at_once_may_be_64_kib_long(service, length: int, status: bytes):
    assert statuses_of(service.base_url, [head_of(length)]) == [status]


@pytest.mark.parametrize(("length", "status"), [(LONGEST, b"200"), (LONGEST + 1, b"400")])
@pytest.mark.parametrize("last", [1, 3, 30_000])
def test_a_head_sent_in_pieces_may_be_as_long(service, length: int, status: bytes, last: int):
    head = head_of(length)
    assert statuses_of(service.base_url, [head[:-last], head[-last:]], pause_s=0.05) == [status]


def test_each_head_on_a_connection_has_the_bound_to_itself(service):
    first = head_of(LONGEST).replace(b"Connection: close", b"Connection: keep-")
    assert statuses_of(service.base_url, [first + head_of(LONGEST)]) == [b"200", b"200"]
    assert statuses_of(service.base_url, [first, head_of(LONGEST + 1)]) == [b"200", b"400"]


def test_a_body_does_not_count_as_head(service):
    start = b"POST /v2/groups HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n"
    assert statuses_of(service.base_url, [start + bytes(100_000)]) == [b"401"]
