import io
import json
import re
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.parser import BytesParser
from email.policy import HTTP
from email.utils import format_datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
import pytest
import soundfile as sf

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.clock import ManualClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import REQUESTS_PER_WINDOW, Bucket, Plan
from vbdesk.contract.timestamps import format_timestamp, parse_timestamp
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.sync_worker import SyncWorker
from vbdesk.service.limits.rate_windows import MemoryRateWindows

KEY = bytes(range(32))
MOMENT = datetime(2026, 3, 1, 8, 0, 12, 345678, tzinfo=UTC)
QUICK = Path("/dev/shm")


@pytest.fixture
def clock():
    return ManualClock(datetime(2026, 3, 1, 9, 0, tzinfo=UTC))


@pytest.fixture
def folder_in_memory(tmp_path_factory):
    """A temporary folder, in memory where the system has such a place."""
    if not QUICK.is_dir():
        yield tmp_path_factory.mktemp("folder")
        return
    with TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder)


@pytest.fixture
def library(tmp_path, clock):
    opened = Library(tmp_path / "library", KEY, clock)
    yield opened
    opened.close()


@pytest.fixture
def reopen(tmp_path, clock):
    """Open the library again, as after a restart."""
    opened = []

    def again():
        opened.append(Library(tmp_path / "library", KEY, clock))
        return opened[-1]

    yield again
    for other in opened:
        other.close()


@pytest.fixture
def meanwhile(monkeypatch):
    """Let another thread act between what the next operation on a library reads and the change that it begins."""

    def let(library, act):
        changing = library.store.changing

        def begin():
            monkeypatch.setattr(library.store, "changing", changing)
            act()
            return changing()

        monkeypatch.setattr(library.store, "changing", begin)

    return let


@pytest.fixture
def new_take(library):
    """Write an encrypted take and add it to the library; returns its take id."""

    def make(group_id="ward4-0172", seconds=20, rate=8000, **more):
        path = write_take(library.recording_folder / f"{new_id()}.take", seconds, rate)
        facts = {
            "recorded_at": datetime(2026, 3, 1, 8, 30, tzinfo=UTC),
            "target": RecordingTarget("model", "pulse"),
            **more,
        }
        return library.add_take(path, TakeMetadata(group_id=group_id, **facts))

    return make


@pytest.fixture
def waiting(library, new_take):
    """A short recording in the queue."""

    def make(*args, **more):
        take_id = new_take(*args, **{"seconds": 15, "rate": 1000, "recorded_at": MOMENT, **more})
        library.queue(take_id)
        return take_id

    return make


@pytest.fixture
def waiting_line(waiting):
    """Many short recordings in the queue, a minute apart, of forty subjects."""

    def make(count, first=0):
        for number in range(first, first + count):
            waiting(f"ward4-{number % 40}", recorded_at=MOMENT + timedelta(minutes=number))

    return make


@pytest.fixture
def all_done(library):
    """Whether every recording has its result."""
    return lambda: {item.state for item in library.list()} == {OutboxState.DONE}


def write_take(path: Path, seconds: float = 20, rate: int = 8000) -> Path:
    writer = EncryptedTakeWriter(path, KEY, rate)
    samples = np.random.default_rng(1).normal(0, 3000, round(seconds * rate)).astype(np.int16)
    writer.append(samples)
    writer.close()
    return path


@pytest.fixture
def service(clock):
    return FakeService(clock)


@pytest.fixture
def new_sync_worker(library, service, clock):
    """A sync worker of a library, with a client on the fake service."""
    made = []

    def make(of=None, on_connect=lambda service: None, **more):
        def connect():
            on_connect(service)
            credentials = Credentials("account", more.pop("key", "right-key"))
            client = Client("http://service.test", credentials, retries=RetryRule.NEVER, transport=service)
            made.append(client)
            return client

        factory = more.pop("client_factory", connect)
        plan = more.pop("plan", Plan.ENTERPRISE)
        return SyncWorker(of or library, factory, more.pop("clock", clock), plan=plan, **more)

    yield make
    for client in made:
        client.close()


@pytest.fixture
def sync_worker(new_sync_worker):
    return new_sync_worker()


@pytest.fixture
def drive(clock):
    """Run a sync worker on the manual clock until a condition holds or a limit has passed."""

    def work(sync_worker, until=lambda: False, seconds=120.0):
        end = clock.monotonic() + seconds
        while not until() and clock.monotonic() < end:
            clock.advance(max(sync_worker.step(), 0.001))

    return work


RESULT = {
    "signal": {"name": "fatigue", "label": "Fatigue", "score": 0.2, "level": "none", "flagged": False},
    "audio_quality": {"issues": [], "voice_percentage": 60.0, "audio_clarity": 70.0},
}

OURS = ("group_id", "recorded_at", "done_at")


KINDS = {
    "mint": Bucket.ANALYZE,
    "put": None,
    "analyze": Bucket.ANALYZE,
    "job": Bucket.POLLING,
    "jobs": Bucket.GENERAL,
    "group": Bucket.GENERAL,
    "longitudinal": Bucket.GENERAL,
    "credits": Bucket.GENERAL,
}


class FakeService(httpx.BaseTransport):
    """Scripted faults: `faults[kind]` is a queue; each request of that kind uses up one entry.

    Kinds are those of KINDS. An entry is an HTTP status, "lost" (done, but the answer never comes), "late" (the same,
    but done ten seconds later), "unreachable" (never arrived), an exception that ends the caller afterwards, or a
    function of the request.
    """

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.online = True
        self.credits = 1000
        self.key = "right-key"
        self.polls_until_done = 1
        self.analysis_s: float | None = None  # jobs end in sequence by time instead of by polls
        self.ends_as = "done"
        self.plan: Plan | None = None  # enforces its limits
        self.clock_ahead: timedelta | None = None  # error of its clock; None: no Date header
        self.slips: deque[timedelta] = deque()  # clock errors of the next answers
        self.digits = 6  # of recorded_at
        self.reads_refs = False  # reads references of submissions, and says so
        self.reads_language = False  # reads the fields of the language, and says so; else it refuses unknown fields
        self.asked_fields: list[dict[str, str]] = []
        self.refs: dict[str, tuple[bytes, dict]] = {}
        self.recomputes = 0  # number of trajectory reads answered with "running"
        self.latency_s = 0.0
        self.upload_bytes_per_s = float("inf")
        self.faults: dict[str, deque] = {kind: deque() for kind in KINDS}
        self.requests: list[tuple[float, str]] = []
        self.refused_by_rate: list[str] = []
        self.uploads: dict[str, bytes | None] = {}
        self.jobs: dict[str, dict] = {}
        self.polls: dict[str, int] = {}
        self._windows = MemoryRateWindows()
        self._late: list[tuple[float, Callable[[], httpx.Response]]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        kind, action = self._route(request)
        self.requests.append((self.clock.monotonic(), kind))
        if not self.online:
            raise httpx.ConnectError("no network")
        self._let_pass(self.latency_s / 2)
        fault = self.faults[kind].popleft() if self.faults[kind] else None
        answer = self._answer(request, kind, action, fault)
        self._let_pass(self.latency_s / 2)
        if fault in ("lost", "late"):
            raise httpx.ReadTimeout("no answer")
        if isinstance(fault, BaseException):
            raise fault
        if self.clock_ahead is not None:
            told = self.clock.now() + (self.slips.popleft() if self.slips else self.clock_ahead)
            answer.headers["Date"] = format_datetime(told.replace(microsecond=0), usegmt=True)
        names = ["language", "second_language"] if self.reads_language else []
        names += ["client_ref"] if self.reads_refs else []
        if names and kind != "put" and answer.status_code != 401:
            answer.headers["X-Vbdesk-Fields"] = ", ".join(names)
        return answer

    def count(self, kind: str) -> int:
        return sum(1 for _, each in self.requests if each == kind)

    def _let_pass(self, seconds: float) -> None:
        if seconds:
            self.clock.advance(seconds)

    def _answer(self, request: httpx.Request, kind: str, action: Callable[[], httpx.Response], fault) -> httpx.Response:
        due = [deed for at, deed in self._late if at <= self.clock.monotonic()]
        self._late = [entry for entry in self._late if entry[0] > self.clock.monotonic()]
        for deed in due:
            deed()
        if fault == "unreachable":
            raise httpx.ConnectError("no network")
        if isinstance(fault, int):
            return self._refusal(fault)
        if kind != "put" and request.headers["X-API-Key"] != self.key:
            return self._refusal(401)
        if self.plan is not None and KINDS[kind] is not None:
            bucket = KINDS[kind]
            retry_after_s = self._windows.hit(
                "account", bucket, REQUESTS_PER_WINDOW[self.plan][bucket], self.clock.now()
            )
            if retry_after_s:
                self.refused_by_rate.append(kind)
                return self._refusal(429)
        if fault == "late":
            self._late.append((self.clock.monotonic() + 10, action))
            return httpx.Response(200)
        return fault(request) if callable(fault) else action()

    def _route(self, request: httpx.Request) -> tuple[str, Callable[[], httpx.Response]]:
        path = request.url.path
        if path == "/v2/audio/uploads":
            return "mint", self._mint
        if path.startswith("/storage/"):
            return "put", lambda: self._put(path.rsplit("/", 1)[1], self._arriving(request))
        if "/analyze" in path:
            content = request.read()
            return "analyze", lambda: self._analyze(request, content)
        if path.startswith("/v2/jobs/"):
            return "job", lambda: self._job(path.rsplit("/", 1)[1])
        if path == "/v2/jobs":
            return "jobs", self._job_list
        if path.endswith("/longitudinal"):
            return "longitudinal", lambda: self._trajectory(path.split("/")[3])
        if path.startswith("/v2/groups/"):
            return "group", lambda: self._group(request)
        return "credits", lambda: httpx.Response(200, json={"credits": self.credits})

    def _mint(self) -> httpx.Response:
        ref = new_id()
        self.uploads[ref] = None
        told = self.clock.now() + (self.clock_ahead or timedelta())
        return httpx.Response(
            200,
            json={
                "upload_url": f"http://service.test/storage/{ref}",
                "upload_ref": ref,
                "expires_at": format_timestamp(told + timedelta(minutes=15)),
                "required_headers": {"Content-Type": "audio/flac"},
            },
        )

    def _arriving(self, request: httpx.Request) -> bytes:
        content = b""
        for chunk in request.stream:
            self._let_pass(len(chunk) / self.upload_bytes_per_s)
            content += chunk
        return content

    def _put(self, ref: str, content: bytes) -> httpx.Response:
        if self.uploads[ref] is not None:
            return httpx.Response(412, text="<Error><Code>PreconditionFailed</Code></Error>")
        self.uploads[ref] = content
        return httpx.Response(200)

    def _analyze(self, request: httpx.Request, content: bytes) -> httpx.Response:
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + content).iter_parts()
        fields = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True).decode()
            for part in parts
        }
        self.asked_fields.append(fields)
        if not self.reads_language and {"language", "second_language"} & fields.keys():
            return self._refusal(422, "VALIDATION_ERROR", "Unknown field")
        audio = self.uploads.get(fields["audio_upload_ref"])
        if audio is None:
            return self._refusal(400, "INVALID_REQUEST", "Invalid audio_upload_ref")
        ref = fields.get("client_ref") if self.reads_refs else None
        if ref in self.refs:
            sound, first = self.refs[ref]
            return httpx.Response(200, json=first) if sound == audio else self._refusal(409, "CONFLICT")
        if self.credits < 10:
            return self._refusal(402)
        self.credits -= 10
        kind, name, group_id = re.match(r"/v2/(model|sign)s/([^/]+)/groups/([^/]+)/", request.url.path).groups()
        recorded_at = parse_timestamp(fields["recorded_at"])
        unit = 10 ** (6 - self.digits)
        recorded_at = recorded_at.replace(microsecond=recorded_at.microsecond // unit * unit)
        job = {
            "job_id": new_id(),
            "status": "queued",
            "created_at": format_timestamp(self.clock.now()),
            "completed_at": None,
            "job_type": kind,
            "api_version": "v2",
            "audio_content_type": "audio/flac",
            "audio_size_bytes": len(audio),
            "audio_duration_seconds": sf.info(io.BytesIO(audio)).duration,
            "audio_sample_rate": 8000,
            f"{kind}_name": name,
            "result": None,
        }
        kept = {"group_id": group_id, "recorded_at": recorded_at, "done_at": self._done_at()}
        self.jobs[job["job_id"]] = job | kept
        answer = job | {"group_id": group_id, "recorded_at": fields["recorded_at"]}
        if ref is not None:
            self.refs[ref] = (audio, answer)
        return httpx.Response(200, json=answer)

    def _done_at(self) -> float:
        busy_until = max((job["done_at"] for job in self.jobs.values()), default=0.0)
        return max(busy_until, self.clock.monotonic()) + (self.analysis_s or 0.0)

    def _job(self, job_id: str) -> httpx.Response:
        if job_id not in self.jobs:
            return self._refusal(404)
        self.polls[job_id] = self.polls.get(job_id, 0) + 1
        job = {name: value for name, value in self.jobs[job_id].items() if name not in OURS}
        by_time = self.clock.monotonic() >= self.jobs[job_id]["done_at"]
        if self.polls[job_id] > self.polls_until_done if self.analysis_s is None else by_time:
            job["status"] = self.ends_as
            job["result"] = RESULT if self.ends_as == "done" else None
        else:
            job["status"] = "running"
        return httpx.Response(200, json=job)

    def _job_list(self) -> httpx.Response:
        listed = [{name: job[name] for name in ("job_id", "status", "created_at")} for job in self.jobs.values()]
        return httpx.Response(200, json={"jobs": listed[::-1], "page": 0, "total_pages": 1})

    def _trajectory(self, group_id: str) -> httpx.Response:
        done = [job for job in self.jobs.values() if job["group_id"] == group_id]
        if not done:
            return self._refusal(404)
        if self.recomputes:
            self.recomputes -= 1
            body = {"status": "running", "group_id": group_id, "retry_after_seconds": 20, "done_job_count": len(done)}
            return httpx.Response(200, json=body)
        now = format_timestamp(self.clock.now())
        window = {"days": 270, "from": now, "to": now, "max_jobs": 1000, "jobs_used": len(done)}
        body = {
            "status": "done",
            "group_id": group_id,
            "as_of": now,
            "computed_at": now,
            "method": "test",
            "interval_level": 0.9,
            "window": window | {"truncated": False, "future_excluded": 0},
            "done_job_count": len(done),
            "pending_job_count": 0,
            "signs": [],
            "data_points": [],
        }
        return httpx.Response(200, json=body)

    def _group(self, request: httpx.Request) -> httpx.Response:
        group_id = request.url.path.split("/")[3]
        first, last = (parse_timestamp(request.url.params[name]) for name in ("from", "to"))
        mine = [job for job in self.jobs.values() if job["group_id"] == group_id]
        if not mine:
            return self._refusal(404)
        inside = [job for job in mine if first <= job["recorded_at"] <= last]
        items = [
            {
                "job_id": job["job_id"],
                "status": job["status"],
                "recorded_at": format_timestamp(job["recorded_at"]),
                "created_at": job["created_at"],
                "use_case": None,
                "condition": None,
                "audio_duration_seconds": job["audio_duration_seconds"],
            }
            for job in inside
        ]
        body = {"group_id": group_id, "total_jobs": len(items), "jobs": items, "page": 0, "total_pages": 1}
        return httpx.Response(200, json=body)

    def _refusal(self, status: int, code: str | None = None, message: str = "No.") -> httpx.Response:
        codes = {401: "UNAUTHORIZED", 402: "INSUFFICIENT_CREDITS", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED"}
        body = {"code": code or codes.get(status, "PROCESSING_ERROR"), "message": message, "status": status}
        headers = {"Retry-After": "7"} if status == 429 else {}
        return httpx.Response(status, content=json.dumps(body), headers=headers)
