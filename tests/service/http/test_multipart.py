"""Forms are read as they arrive, up to their limits and no further."""

import contextlib
import hashlib
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request

from patience import HANGS_S, until
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.encryption.recording_files import RecordingFiles
from vbdesk.service.http.error_responses import install_error_handlers
from vbdesk.service.http.multipart import received_form

MIB = 1024 * 1024
_DIARIZE = b'--b\r\nContent-Disposition: form-data; name="diarize"\r\n\r\ntrue'


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def url(serve_app, folder) -> str:
    app = FastAPI()
    install_error_handlers(app)

    @app.post("/form")
    async def form(request: Request) -> dict:
        async with received_form(request, RecordingFiles(folder)) as form:
            if form.audio is None or form.audio.too_large:
                return {"fields": form.fields, **({"too_large": True} if form.audio else {})}
            with form.audio.recording.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            return {
                "fields": form.fields,
                "size": form.audio.size,
                "type": form.audio.content_type,
                "sha256": digest,
            }

    return serve_app(app) + "/form"


def post(url: str, **options) -> httpx.Response:
    return httpx.post(url, trust_env=False, timeout=HANGS_S, **options)


def wait_until_empty(folder) -> None:
    until(lambda: not list(folder.iterdir()), "the last file to go")


def test_a_file_and_fields_arrive_whole(url, folder):
    audio = bytes(range(256)) * 5000
    answer = post(
        url, files={"audio": ("jane.wav", audio, "audio/wav")}, data={"diarize": "true", "recorded_at": "2026-03-01é"}
    ).json()
    assert answer["sha256"] == hashlib.sha256(audio).hexdigest()
    assert (answer["size"], answer["type"]) == (len(audio), "audio/wav")
    assert answer["fields"] == {"diarize": "true", "recorded_at": "2026-03-01é"}
    wait_until_empty(folder)


def test_fields_alone_are_a_form_without_a_file(url):
    answer = post(url, files={"audio_upload_ref": (None, "ref")}).json()
    assert answer == {"fields": {"audio_upload_ref": "ref"}}


def test_unknown_fields_and_files_are_ignored_however_long(url):
    answer = post(url, files={"audio": b"sound", "cover": bytes(500_000)}, data={"note": "x" * 100_000})
    assert answer.json()["fields"] == {}
    assert answer.json()["size"] == 5


def test_a_file_of_exactly_the_limit_is_taken(url):
    assert post(url, files={"audio": bytes(MAX_AUDIO_BYTES)}).json()["size"] == MAX_AUDIO_BYTES


def test_a_file_one_byte_over_the_limit_is_told_with_the_fields_behind_it(url, folder):
    parts = [("audio", bytes(MAX_AUDIO_BYTES + 1)), ("diarize", (None, "true"))]
    assert post(url, files=parts).json() == {"fields": {"diarize": "true"}, "too_large": True}
    wait_until_empty(folder)


def test_a_body_announced_too_long_is_413_before_it_is_sent(url):
    parts = urlsplit(url)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {200 * MIB}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode())
        answer = connection.makefile("rb").read()  # ends: the service closed the connection
    assert b"413" in answer.split(b"\r\n")[0]
    assert b"AUDIO_TOO_LARGE" in answer


def test_a_body_without_end_is_not_read_past_the_limit(url, folder):
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nTransfer-Encoding: chunked\r\n"
    head += "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    start = b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\n'
    chunk = b"%x\r\n%s\r\n" % (MIB, bytes(MIB))
    sent = 0
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(start), start))
        with contextlib.suppress(OSError):
            for _ in range(200):
                connection.sendall(chunk)
                sent += 1
    assert 32 <= sent < 60  # the limit and what fits into the buffers of the connection
    wait_until_empty(folder)


@pytest.mark.parametrize("step", [1, 7, 20_000])
def test_what_stands_before_the_first_boundary_is_passed_over_however_it_arrives(url, step: int):
    whole = b"A note.\r\n--note\r\n-\r\n" + _DIARIZE.replace(b"--b", b"--bo") + b"\r\n--bo--\r\nand an end"
    pieces = (whole[at : at + step] for at in range(0, len(whole), step))
    answer = post(url, content=pieces, headers={"Content-Type": "multipart/form-data; boundary=bo"})
    assert answer.json() == {"fields": {"diarize": "true"}}


@pytest.mark.parametrize(("length", "status"), [(8192, 200), (8193, 400)])
def test_what_stands_before_the_first_boundary_may_be_8_kib_long(url, length: int, status: int):
    body = b"\r\n".rjust(length, b"n") + _DIARIZE + b"\r\n--b--\r\n"
    answer = post(url, content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"--b--\r\n"),
        ("multipart/form-data; boundary=b", b"nonsense"),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", _DIARIZE),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="diarize"\r\n\r\ntrue\r\n--b',
        ),
        ("multipart/form-data; boundary=b", b"--b\r\nbad header\r\n\r\n\r\n--b--\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"X: y\r\n" * 5000 + b"\r\n\r\n--b--\r\n"),
    ],
)
def test_what_is_not_a_whole_form_is_400_in_shape(url, folder, content_type: str, body: bytes):
    answer = post(url, content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    wait_until_empty(folder)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ([("audio", b"one"), ("audio", b"two")], "too_many_files"),
        ([("webhook_url", (None, "x" * 9000))], "string_too_long"),
        ([("diarize", (None, b"\xff\xfe"))], "string_unicode"),
    ],
)
def test_fields_that_do_not_fit_are_422_and_named(url, folder, files, kind: str):
    answer = post(url, files=files)
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, kind)
    assert answer.json()["detail"][0]["loc"] == ["body", files[0][0]]
    wait_until_empty(folder)


def test_a_form_that_breaks_off_leaves_nothing(url, folder):
    parts = urlsplit(url)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        'Content-Length: 1000000\r\n\r\n--b\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\n'
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as connection:
        connection.sendall(head.encode() + bytes(200_000))
    wait_until_empty(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told elsewhere by other means")
def test_twenty_large_uploads_at_once_stay_out_of_memory(url):
    def form() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\n'
        for _ in range(31):
            yield bytes(MIB)
        yield b"\r\n--b--\r\n"

    def send(_: int) -> int:
        answer = post(url, content=form(), headers={"Content-Type": "multipart/form-data; boundary=b"})
        return answer.json()["size"]

    status = Path("/proc/self/status")

    def mib(name: str) -> float:
        return int(status.read_text().split(f"{name}:")[1].split()[0]) / 1024

    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = mib("VmRSS")
    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(send, range(20))) == {31 * MIB}
    assert mib("VmHWM") - before < 200  # client and service share this process; the uploads together are 620 MiB
