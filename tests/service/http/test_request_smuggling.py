"""Requests that two servers may read differently are refused on both ports, and nothing behind them is read."""

import re
import socket
from urllib.parse import urlsplit

import pytest

from patience import HANGS_S
from vbdesk.service.http.malformed_requests import MAX_CHUNK_EXTENSION_BYTES

SECOND = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def request(*lines: bytes, body: bytes = b"", end: bytes = b"\r\n") -> bytes:
    return end.join([b"POST /v2/groups HTTP/1.1", b"Host: x", *lines, b"", body])


CHUNKED = b"Transfer-Encoding: chunked"
JSON = b'{"group_id": "g"}'
IN_CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(JSON), JSON)
LONG = b"a" * 1000

REFUSED = {
    "a length beside chunks": request(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n"),
    "chunks beside a length": request(CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n"),
    "chunks beside a length of 0": request(CHUNKED, b"Content-Length: 0", body=b"0\r\n\r\n"),
    "chunks in HTTP/1.0": request(CHUNKED, body=IN_CHUNKS).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "two lengths": request(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!"),
    "two lengths in one header": request(b"Content-Length: 5, 6", body=b"hello!"),
    "a length with a sign": request(b"Content-Length: +5", body=b"hello"),
    "a negative length": request(b"Content-Length: -5", body=b"hello"),
    "a length in another base": request(b"Content-Length: 0x5", body=b"hello"),
    "a length without end": request(b"Content-Length: " + b"1" * 5000),
    "chunks and another coding": request(b"Transfer-Encoding: chunked, identity", body=IN_CHUNKS),
    "another coding and chunks": request(b"Transfer-Encoding: gzip, chunked", body=IN_CHUNKS),
    "chunks twice": request(b"Transfer-Encoding: chunked, chunked", body=IN_CHUNKS),
    "two codings": request(CHUNKED, b"Transfer-Encoding: identity", body=IN_CHUNKS),
    "another coding": request(b"Transfer-Encoding: identity", body=IN_CHUNKS),
    "a coding behind a control character": request(b"Transfer-Encoding: \x0bchunked", body=IN_CHUNKS),
    "line feeds alone": request(b"Content-Length: 0", end=b"\n"),
    "a line feed behind the request line": request(b"Content-Length: 0").replace(b"HTTP/1.1\r\n", b"HTTP/1.1\n"),
    "a line feed behind a header": request(b"A: b", b"Content-Length: 0").replace(b"A: b\r\n", b"A: b\n"),
    "a line feed as the empty line": request(b"Content-Length: 0")[:-2] + b"\n",
    "a line feed before the request": b"\n" + request(b"Content-Length: 0"),
    "a carriage return in a header": request(b"A: b\rContent-Length: 0"),
    "two carriage returns": request(b"A: b", b"Content-Length: 0").replace(b"A: b\r\n", b"A: b\r\r\n"),
    "a folded header": request(b"A: b", b" Content-Length: 5", body=b"hello"),
    "a header folded by a tab": request(b"A: b", b"\tc", b"Content-Length: 0"),
    "a folded coding": request(b"Transfer-Encoding:", b" chunked", body=IN_CHUNKS),
    "a first header that is folded": request(b"A: b").replace(b"Host", b" Host"),
    "a space before the colon": request(b"Content-Length : 5", body=b"hello"),
    "a tab before the colon": request(b"Transfer-Encoding\t: chunked", body=IN_CHUNKS),
    "a header without a name": request(b": b", b"Content-Length: 0"),
    "a header without a colon": request(b"Content-Length 5", body=b"hello"),
    "two hosts": request(b"Host: y", b"Content-Length: 0"),
    "a null character": request(b"A: b\0c", b"Content-Length: 0"),
    "two spaces in the request line": request(b"Content-Length: 0").replace(b"POST ", b"POST  "),
    "a chunk size that ends with a line feed": request(CHUNKED, body=IN_CHUNKS.replace(b"\r\n", b"\n", 1)),
    "an extension that ends with a line feed": request(CHUNKED, body=IN_CHUNKS.replace(b"\r\n", b";a\n", 1)),
    "a chunk that ends with a line feed": request(CHUNKED, body=IN_CHUNKS.replace(b"}\r\n", b"}\n")),
    "a chunk longer than it says": request(CHUNKED, body=b"1\r\nab\r\n0\r\n\r\n"),
    "a chunk size in another base": request(CHUNKED, body=b"0x2\r\nab\r\n0\r\n\r\n"),
    "a chunk size with a sign": request(CHUNKED, body=b"+2\r\nab\r\n0\r\n\r\n"),
    "a chunk size behind a space": request(CHUNKED, body=b" 2\r\nab\r\n0\r\n\r\n"),
    "a last chunk that ends with a line feed": request(CHUNKED, body=IN_CHUNKS[:-4] + b"\n\r\n"),
    "trailers that end with line feeds": request(CHUNKED, body=IN_CHUNKS[:-2] + b"A: b\n\n"),
    "an empty trailer that is a line feed": request(CHUNKED, body=IN_CHUNKS[:-2] + b"\n"),
    "a folded trailer": request(CHUNKED, body=IN_CHUNKS[:-2] + b"A: b\r\n c\r\n\r\n"),
    "one long chunk extension": request(
        CHUNKED, body=b"1;" + b"a" * (MAX_CHUNK_EXTENSION_BYTES + 1) + b"\r\n{\r\n0\r\n\r\n"
    ),
    "many chunk extensions": request(
        CHUNKED, body=b"1;%s\r\n \r\n" % LONG * (MAX_CHUNK_EXTENSION_BYTES // 1000 + 1) + IN_CHUNKS
    ),
}


def statuses_of(origin: str, sent: bytes) -> list[bytes]:
    parts = urlsplit(origin)
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as caller:
        caller.sendall(sent)
        answer = b"".join(iter(lambda: caller.recv(65_536), b""))
        return re.findall(rb"HTTP/1.1 (\d+)", answer)


@pytest.mark.parametrize("port", ["base_url", "storage_url"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_request_that_can_be_read_in_two_ways_is_refused_with_all_that_follows(service, port: str, kind: str):
    assert statuses_of(getattr(service, port), REFUSED[kind] + SECOND) == [b"400"]


@pytest.mark.parametrize(
    "body",
    [
        IN_CHUNKS,
        b"2;a=b\r\n  \r\n" + IN_CHUNKS,
        IN_CHUNKS[:-2] + b"A: b\r\n\r\n",
        b"1;%s\r\n \r\n" % LONG * (MAX_CHUNK_EXTENSION_BYTES // 1001) + IN_CHUNKS,
    ],
    ids=["chunks", "an extension", "a trailer", "extensions up to the bound"],
)
def test_what_every_server_reads_alike_is_read(service, account, body: bytes):
    credentials = [f"{name}: {value}".encode() for name, value in account.headers.items()]
    lines = [*credentials, b"Content-Type: application/json", CHUNKED]
    last = request(*lines, b"Connection: close", body=body)
    statuses = statuses_of(service.base_url, request(*lines, body=body) + last)
    assert statuses == [b"201", b"409"], "the second request on a connection counts its extensions anew"


def test_an_upload_with_a_broken_chunk_leaves_nothing_and_may_be_tried_again(service, client):
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    url = urlsplit(grant["upload_url"])
    head = [f"PUT {url.path}?{url.query} HTTP/1.1", f"Host: {url.netloc}", "Transfer-Encoding: chunked"]
    head += [f"{name}: {value}" for name, value in grant["required_headers"].items()]
    start = "\r\n".join([*head, "", ""]).encode()
    assert statuses_of(service.storage_url, start + b"5\r\nsound\r\n5\nsound\r\n0\r\n\r\n" + SECOND) == [b"400"]
    assert not service.context.storage.exists(f"uploads/{grant['upload_ref']}")
    closing = start.replace(b"Host:", b"Connection: close\r\nHost:")
    assert statuses_of(service.storage_url, closing + b"5\r\nsound\r\n0\r\n\r\n") == [b"200"]
