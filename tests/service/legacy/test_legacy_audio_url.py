"""v1's audio by URL: what is fetched, from where, and what is refused."""

import asyncio
import datetime
import socket
import ssl
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from patience import HANGS_S, until
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.encryption.recording_files import RecordingFiles
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.address_guard import AddressGuard, AddressNotAllowed
from vbdesk.service.kernel.errors import AudioTooLarge, InvalidRequest
from vbdesk.service.legacy.audio_fetch import AudioFetcher

PRIVATE = [
    "https://127.0.0.1/a.wav",
    "https://localhost/a.wav",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/a.wav",
    "https://[::ffff:10.0.0.1]/a.wav",
    "https://2130706433/a.wav",
    "https://0x7f.1/a.wav",
    "https://192.168.1.1/a.wav",
    "https://user:word@10.0.0.1/a.wav",
]


@pytest.fixture
def open_bench(make_bench):
    """A service whose operator allows private addresses, and so plain HTTP."""
    return make_bench(allow_private_addresses=True)


def refused(answer, code="INVALID_REQUEST", status=400):
    assert (answer.status_code, answer.json()["code"], answer.json()["status"]) == (status, code, status)
    return answer.json()["message"]


@pytest.mark.parametrize(
    ("route", "pipeline", "price"),
    [("analyze-audio-url", "cognitive", 10), ("analyze-and-diarize-audio-url", "cognitive-diarized", 60)],
)
def test_audio_at_an_address_is_analysed(open_bench, audio_host, speech_file, route, pipeline, price):
    answer = open_bench.post_url(f"{audio_host.origin}/speech?signature=abc", f"cognitive/{route}")
    assert answer.status_code == 200
    assert answer.json().keys() == {"job_id"}
    [(path, headers)] = audio_host.requests
    assert path == "/speech?signature=abc"
    assert headers["Accept-Encoding"] == "identity"
    job_id = answer.json()["job_id"]
    open_bench.finish(job_id)
    job = open_bench.get_v1(f"account/jobs/{job_id}")
    assert (job["status"], job["pipeline_type"]) == ("done", pipeline)
    assert (job["audio_content_type"], job["audio_size_bytes"]) == ("audio/flac", speech_file.stat().st_size)
    assert open_bench.credits() == 100_000 - price
    [kept] = open_bench.kept_files()
    assert open_bench.read_kept(kept) == speech_file.read_bytes()


def test_only_https_is_fetched_unless_private_addresses_are_allowed(bench, audio_host):
    for url in (
        "http://93.184.216.34/a.wav",
        f"{audio_host.origin}/speech",
        "ftp://93.184.216.34/a.wav",
        "file:///etc/passwd",
    ):
        assert "https://" in refused(bench.post_url(url))
    assert audio_host.requests == []
    bench.assert_nothing_happened()


def test_other_schemes_are_never_fetched(open_bench):
    for url in ("ftp://127.0.0.1/a.wav", "file:///etc/passwd", "gopher://127.0.0.1/"):
        refused(open_bench.post_url(url))


@pytest.mark.parametrize("route", ["analyze-audio-url", "analyze-and-diarize-audio-url"])
def test_private_addresses_are_refused(bench, route):
    for url in PRIVATE:
        assert "private network" in refused(bench.post_url(url, f"wellness/{route}"))
    bench.assert_nothing_happened()


def test_an_address_that_is_none_is_a_validation_error(bench):
    for body in ({}, {"url": ""}, {"url": "nonsense"}, {"url": 5}, {"url": None}, {"url": "https://x/" + "y" * 2083}):
        answer = bench.v1.post("/api/v1/wellness/analyze-audio-url", json=body)
        refused(answer, "VALIDATION_ERROR", 422)
        assert answer.json()["detail"][0]["loc"] == ["body", "url"]


def test_a_body_that_is_not_json_is_refused(bench):
    for content in (b"", b"{", b"[]", b"null"):
        answer = bench.v1.post(
            "/api/v1/wellness/analyze-audio-url", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (400, 422)
        assert answer.json()["status"] == answer.status_code


@pytest.mark.parametrize(
    ("path", "words"), [("missing", "404"), ("moved", "302"), ("broken", "reached"), ("nonsense", "reached")]
)
def test_an_address_that_does_not_give_the_whole_file_is_refused(open_bench, audio_host, path, words):
    message = refused(open_bench.post_url(f"{audio_host.origin}/{path}?token=hush"))
    assert words in message
    assert "hush" not in message
    assert len(audio_host.requests) == 1, "neither redirects nor retries are followed"
    open_bench.assert_nothing_happened()


def test_an_address_where_nobody_answers_is_refused(open_bench):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused(open_bench.post_url(f"http://127.0.0.1:{closed.getsockname()[1]}/a.wav"))
    refused(open_bench.post_url("https://recordings.invalid/a.wav"))
    open_bench.assert_nothing_happened()


@pytest.mark.parametrize("path", ["announced", "endless"])
def test_a_file_past_the_size_limit_is_not_read_further(open_bench, audio_host, path):
    refused(open_bench.post_url(f"{audio_host.origin}/{path}"), "AUDIO_TOO_LARGE", 413)
    open_bench.assert_nothing_happened()


def test_what_is_no_audio_is_an_unsupported_format(open_bench, audio_host):
    refused(open_bench.post_url(f"{audio_host.origin}/page"), "UNSUPPORTED_FORMAT")
    open_bench.assert_nothing_happened()


def test_without_credits_nothing_is_fetched(make_bench, audio_host):
    bench = make_bench(credits=59, allow_private_addresses=True)
    refused(bench.post_url(f"{audio_host.origin}/speech"), "INSUFFICIENT_CREDITS", 402)
    assert audio_host.requests == []


def test_a_repeat_with_the_same_idempotency_key_fetches_nothing(open_bench, audio_host):
    headers = {"Idempotency-Key": "a"}
    first, again = (open_bench.post_url(f"{audio_host.origin}/speech", headers=headers) for _ in range(2))
    assert first.json() == again.json()
    assert len(audio_host.requests) == 1


def test_a_used_key_does_not_answer_another_address(open_bench, audio_host):
    headers = {"Idempotency-Key": "a"}
    open_bench.post_url(f"{audio_host.origin}/speech", headers=headers)
    refused(open_bench.post_url(f"{audio_host.origin}/speech?other", headers=headers), "CONFLICT", 409)
    assert len(audio_host.requests) == 1


def test_the_language_of_audio_at_an_address_is_kept_and_belongs_to_the_key(open_bench, audio_host):
    url, headers = f"{audio_host.origin}/speech", {"Idempotency-Key": "a"}
    refused(open_bench.post_url(url, language="english"), "VALIDATION_ERROR", 422)
    job_id = open_bench.post_url(url, headers=headers, language="de", second_language=False).json()["job_id"]
    refused(open_bench.post_url(url, headers=headers), "CONFLICT", 409)
    context = open_bench.service.context
    with context.database.writing() as connection:
        run = JobLifecycle.of(context).start(connection, job_id, "bench", 120)
    assert run.spoken == SpokenLanguage("de", second_language=False)


def test_slow_hosts_keep_nobody_else_waiting(open_bench, audio_host):
    threads = [
        threading.Thread(target=open_bench.post_url, args=(f"{audio_host.origin}/dripping",), daemon=True)
        for _ in range(45)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(audio_host.requests) >= 45, "45 requests")
    open_bench.get("/v2/jobs")  # answered while all of them wait
    audio_host.release.set()
    for thread in threads:
        thread.join()


def fetch(url, folder, *, guard=None, timeout_s=HANGS_S, plain=True):
    """The bytes that the fetcher brings."""

    async def bring():
        asked = guard or AddressGuard(allow_private=True)
        fetcher = AudioFetcher(asked, "account", allow_plain_http=plain, timeout_s=timeout_s)
        async with fetcher.fetch(url, RecordingFiles(folder)) as file:
            return file.recording.path.read_bytes()

    return asyncio.run(bring())


def test_a_host_that_drips_bytes_is_left_in_time(audio_host, tmp_path):
    with pytest.raises(InvalidRequest, match=r"within 0\.3 s"):
        fetch(f"{audio_host.origin}/dripping", tmp_path, timeout_s=0.3)
    assert not audio_host.release.is_set(), "it drips on"
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_gone_after_its_block(audio_host, tmp_path, speech_file):
    assert fetch(f"{audio_host.origin}/speech", tmp_path) == speech_file.read_bytes()
    assert list(tmp_path.iterdir()) == []


def test_more_bytes_than_allowed_leave_nothing_behind(audio_host, tmp_path):
    with pytest.raises(AudioTooLarge):
        fetch(f"{audio_host.origin}/endless", tmp_path, timeout_s=20)
    assert list(tmp_path.iterdir()) == []


class NamesOnly(AddressGuard):
    """Takes every name at first, and answers it with the number given."""

    def __init__(self, number):
        super().__init__(allow_private=True)
        self._number = number

    async def check_url(self, url, account_id):
        pass

    async def resolve(self, host, port, account_id):
        if self._number is None:
            raise AddressNotAllowed("The address leads into a private network. Give a publicly reachable one.")
        return [self._number]


def test_the_connection_goes_to_the_number_that_was_checked(audio_host, tmp_path):
    port = urlsplit(audio_host.origin).port
    fetch(f"http://recordings.invalid:{port}/speech", tmp_path, guard=NamesOnly("127.0.0.1"))
    assert audio_host.requests[0][1]["Host"] == f"recordings.invalid:{port}"


def test_a_name_that_turns_private_between_check_and_call_is_not_called(audio_host, tmp_path):
    with pytest.raises(InvalidRequest, match="private network"):
        fetch(f"{audio_host.origin}/speech", tmp_path, guard=NamesOnly(None))
    assert audio_host.requests == []


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    with tls_host(tmp_path) as port, pytest.raises(InvalidRequest, match="cannot be reached"):
        fetch(f"https://localhost:{port}/a.wav", tmp_path / "in")


@contextmanager
def tls_host(folder):
    """A TLS server for `localhost` whose certificate it signed itself."""
    (folder / "in").mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    # OpenSSL compares with the time of the system
    begin, end = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2020, 2100))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begin, end)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "host.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_shake_hands, args=(server, context))
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def _shake_hands(server, context):
    connection, _ = server.accept()
    with connection:
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            return  # refused by the caller, as it should
