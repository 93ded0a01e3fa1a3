"""A bench for the older forms: one account with clients of both versions, and real analyses where no worker runs."""

import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from vbdesk.contract.catalog import ModelName
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.tables import webhook_deliveries
from vbdesk.signs.analysis import RecordingMeasurements, ScoringTarget, measure_recording, score_recording
from vbdesk.voice.decode import decode

DATA = Path(__file__).parents[2] / "data"
SPEECH = (DATA / "speech_kathleen_20s.flac").read_bytes()


@pytest.fixture(scope="session")
def heard() -> dict[bool, RecordingMeasurements]:
    """What was heard in one recording without, and in one with speakers told apart."""
    return {
        False: measure_recording(decode(DATA / "speech_kathleen_20s.flac")),
        True: measure_recording(decode(DATA / "dialogue_two_speakers_40s.flac"), diarize=True),
    }


@dataclass
class Bench:
    service: Any
    account: Any
    client: httpx.Client
    v1: httpx.Client
    heard: dict[bool, RecordingMeasurements]
    files_before: frozenset[Path] = frozenset()

    def __post_init__(self) -> None:
        self.files_before = frozenset(self._stored_files())

    def post(self, path: str, audio: bytes | None = SPEECH, headers: Any = None, **fields: str) -> httpx.Response:
        """A multipart form to v2."""
        return _post_form(self.client, path, audio, headers, fields)

    def post_v1(self, path: str, audio: bytes | None = SPEECH, headers: Any = None, **fields: str) -> httpx.Response:
        """A multipart form to v1."""
        return _post_form(self.v1, f"/api/v1/{path}", audio, headers, fields)

    def post_url(
        self, url: str, path: str = "wellness/analyze-audio-url", headers: Any = None, **fields: Any
    ) -> httpx.Response:
        return self.v1.post(f"/api/v1/{path}", json={"url": url, **fields}, headers=headers)

    def job(self, path: str, **fields: str) -> Any:
        answer = self.post(path, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def job_v1(self, path: str = "wellness/analyze-audio") -> str:
        answer = self.post_v1(path)
        assert answer.status_code == 200, answer.text
        job_id: str = answer.json()["job_id"]
        return job_id

    def get(self, path: str, **query: Any) -> Any:
        return _get(self.client, path, query)

    def get_v1(self, path: str, **query: Any) -> Any:
        return _get(self.v1, f"/api/v1/{path}", query)

    def credits(self) -> int:
        credits: int = self.get("/v2/account/credits")["credits"]
        return credits

    def start(self, job_id: str) -> None:
        with self.service.context.database.writing() as connection:
            JobLifecycle.of(self.service.context).start(connection, job_id, "bench", 120)

    def finish(self, job_id: str) -> None:
        """The worker's part, with a real analysis."""
        context = self.service.context
        with context.database.writing() as connection:
            run = JobLifecycle.of(context).start(connection, job_id, "bench", 120)
            assert run is not None
            kind = "model" if isinstance(run.target.analysed, ModelName) else "sign"
            result = score_recording(self.heard[run.diarize], ScoringTarget(kind, str(run.target.analysed)))
            JobLifecycle.of(context).analysed(connection, job_id, result.model_dump_json())

    def fail(self, job_id: str) -> None:
        with self.service.context.database.writing() as connection:
            JobLifecycle.of(self.service.context).fail(connection, job_id)

    def time_out(self, job_id: str) -> None:
        with self.service.context.database.writing() as connection:
            JobLifecycle.of(self.service.context).time_out(connection, job_id)

    def deliveries(self) -> list[Any]:
        with self.service.context.database.reading() as connection:
            return list(connection.execute(webhook_deliveries.select()).all())

    @property
    def _objects(self) -> Path:
        return self.service.context.settings.data_dir / "objects"

    def read_kept(self, path: Path) -> bytes:
        """A file of the object store, decrypted where the service encrypts."""
        with self.service.context.storage.open(path.relative_to(self._objects).as_posix()) as file:
            return file.read()

    def kept_files(self) -> list[Path]:
        """What this bench brought into the object store, half-received files too."""
        return [path for path in self._stored_files() if path not in self.files_before]

    def _stored_files(self) -> list[Path]:
        return [path for path in self._objects.rglob("*") if path.is_file()]

    def assert_nothing_happened(self) -> None:
        """A refusal leaves no job, no charge and no file."""
        assert self.get("/v2/jobs")["jobs"] == []
        assert self.credits() == 100_000
        assert self.kept_files() == []


@pytest.fixture
def make_bench(start_service: Callable[..., Any], heard: dict[bool, RecordingMeasurements]) -> Callable[..., Bench]:
    """`make_bench(credits=20, allow_private_addresses=True)`: a service of its own with one account."""

    def make(*, credits: int = 100_000, **settings: Any) -> Bench:
        return _bench(start_service(**settings), credits, heard)

    return make


@pytest.fixture
def bench(service: Any, heard: dict[bool, RecordingMeasurements]) -> Bench:
    """A new account on the service that the tests of a module share."""
    return _bench(service, 100_000, heard)


def _bench(service: Any, credits: int, heard: dict[bool, RecordingMeasurements]) -> Bench:
    account = service.add_account(credits=credits)
    v1 = service.client()
    v1.headers.update(account.v1_headers)
    return Bench(service, account, service.client(account), v1, heard)


@dataclass
class AudioHost:
    """A web server with recordings on it; `requests` are the heads it got, `release` ends answers held back."""

    origin: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def audio_host() -> Iterator[AudioHost]:
    host = AudioHost()
    handler = type("Handler", (_AudioHandler,), {"host": host})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    host.origin = f"http://127.0.0.1:{server.server_port}"
    yield host
    host.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


class _AudioHandler(http.server.BaseHTTPRequestHandler):
    host: AudioHost

    def do_GET(self) -> None:
        self.host.requests.append((self.path, dict(self.headers)))
        try:
            getattr(self, f"answer_{self.path.strip('/').partition('?')[0]}")()
        except OSError:
            self.close_connection = True  # the caller has gone, as it may

    def answer_speech(self) -> None:
        self.answer(SPEECH)

    def answer_page(self) -> None:
        self.answer(b"<html>not a recording</html>")

    def answer_missing(self) -> None:
        self.send_error(404)

    def answer_moved(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/speech")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer_announced(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(32 * 1024 * 1024 + 1))
        self.end_headers()

    def answer_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(bytes(1 << 20))

    def answer_broken(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(SPEECH)))
        self.end_headers()
        self.wfile.write(SPEECH[:1000])
        self.close_connection = True

    def answer_dripping(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.host.release.wait(0.05):
            self.wfile.write(b"x")
        self.close_connection = True

    def answer_nonsense(self) -> None:
        self.wfile.write(b"this is not HTTP\r\n\r\n")
        self.close_connection = True

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "audio/flac")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _post_form(
    client: httpx.Client, path: str, audio: bytes | None, headers: Any, fields: dict[str, str]
) -> httpx.Response:
    parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
    if audio is not None:
        parts["audio"] = ("take.flac", audio, "audio/flac")
    return client.post(path, files=parts or {"nothing": (None, "")}, headers=headers)


def _get(client: httpx.Client, path: str, query: dict[str, Any]) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()
