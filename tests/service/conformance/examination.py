"""Conformance helpers: accounts, requests, and checks of response shapes."""

import os
import re
import socket
import ssl
import sys
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from patience import HANGS_S, until

sys.path.append(str(Path(__file__).parents[1] / "support"))

from served import VbdeskProcess, operate, settings_as_environment

DATA = Path(__file__).parents[2] / "data"
SPEECH = (DATA / "speech_kathleen_20s.flac").read_bytes()
MALE_SPEECH = (DATA / "speech_male_20s.flac").read_bytes()
DIALOGUE = (DATA / "dialogue_two_speakers_40s.flac").read_bytes()
BAD_AUDIO = b"this was a recording"

MODELS = {
    "pulse": ["mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure"],
    "haven": ["mood-disruption", "anxiety", "stress", "hypervigilance", "attention-dysregulation", "fatigue"],
    "apex": [
        "head-impact",
        "cognitive-load",
        "fatigue",
        "dehydration",
        "stress",
        "anxiety",
        "cardiovascular-strain",
    ],
    "aria": [
        "elevated-androgens",
        "iron-deficiency",
        "dehydration",
        "mood-disruption",
        "fatigue",
        "anxiety",
        "elevated-blood-pressure",
    ],
    "breath": ["airway-obstruction-pattern", "allergy"],
    "clarity": ["cognitive-impairment"],
    "harbor": [
        "alcohol-use-pattern",
        "substance-use-pattern",
        "emotional-destabilization",
        "anxiety",
        "stress",
        "fatigue",
    ],
    "tide": ["elevated-blood-pressure", "metabolic-load", "dehydration", "iron-deficiency", "fatigue", "dry-mouth"],
}
INTERNAL_SIGNS = ("cognitive-load", "cardiovascular-strain", "emotional-destabilization", "dry-mouth")
# every standalone sign with its condition
SIGNS = {
    "airway-obstruction-pattern": "airway-obstruction",
    "alcohol-use-pattern": "alcohol-use",
    "allergy": "allergic-rhinitis",
    "anxiety": "anxiety",
    "attention-dysregulation": "adhd",
    "cognitive-impairment": "cognitive-impairment",
    "dehydration": "dehydration",
    "elevated-androgens": "hyperandrogenism",
    "elevated-blood-pressure": "hypertension",
    "fatigue": "fatigue",
    "head-impact": "concussion",
    "hypervigilance": "hypervigilance",
    "iron-deficiency": "anemia",
    "metabolic-load": "metabolic-load",
    "mood-disruption": "depression",
    "stress": "acute-stress",
    "substance-use-pattern": "substance-use",
}
USE_CASES = {
    "behavioral-health": "haven",
    "wellness": "pulse",
    "cognitive": "clarity",
    "womens-health": "aria",
    "respiratory": "breath",
    "performance": "apex",
    "recovery": "harbor",
    "metabolic": "tide",
}
V1_USE_CASES = {"wellness": "wellness", "cognitive": "cognitive", "anemia": "womens-health"}

JOB_FIELDS = {
    "job_id",
    "status",
    "created_at",
    "completed_at",
    "job_type",
    "api_version",
    "audio_content_type",
    "audio_size_bytes",
    "audio_duration_seconds",
    "audio_sample_rate",
    "model_name",
    "sign_name",
    "result",
}
LONGITUDINAL_FIELDS = {
    "latest_score",
    "baseline_score",
    "deviation_from_baseline",
    "anomaly",
    "z_score",
    "population_z",
}
# plan and credits of test accounts by name
ACCOUNTS = {
    "main": ("enterprise", 1_000_000),
    "other": ("enterprise", 1_000_000),
    "full": ("enterprise", 1_000_000),
    "webhooks": ("enterprise", 1_000_000),
    "poor": ("enterprise", 109),
    "broke": ("enterprise", 0),
    "standard": ("standard", 1_000),
    "hundred": ("enterprise", 100),
}
ENDS = ("done", "failed", "timed-out")
UNFAILED = ("queued", "running", "done")
NAMED = {name: value for name, value in os.environ.items() if name.startswith("VBDESK_CONFORMANCE_")}
"""Environment variables that describe the service under test; read now, because tests clear the service's settings."""
ADDRESS = NAMED.get("VBDESK_CONFORMANCE_URL", "")
"""URL of an external service; empty for own services."""
ON_CLUSTERS = NAMED.get("VBDESK_CONFORMANCE_ON", "") == "cluster"
"""Whether own services are clusters, with audio in a Google Cloud Storage emulator."""
LENGTH_RANGE = "X-Goog-Content-Length-Range" if ON_CLUSTERS else "X-Vbdesk-Content-Length-Range"
"""Name of the store's header that limits an upload's length."""
STORES_OWN_HEADERS = {"X-Goog-If-Generation-Match": "0"} if ON_CLUSTERS else {}
"""Further headers for the store; on Google they make the address write-once."""
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")


@dataclass(frozen=True)
class Account:
    """Credentials of an account."""

    account_id: str
    api_key: str
    secret_key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Account-ID": self.account_id, "X-API-Key": self.api_key}

    @property
    def v1_headers(self) -> dict[str, str]:
        return {"X-Account-ID": self.account_id, "X-Secret-Key": self.secret_key}


class OwnService(ABC):
    """Service started by the tests and operated with the documented commands."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    @property
    @abstractmethod
    def base_url(self) -> str:
        """URL for clients."""

    @property
    @abstractmethod
    def data_dir(self) -> Path:
        """Data folder for the operator's commands."""

    @abstractmethod
    def start(self, workers: int | None = None) -> None:
        """Start or restart with this number of workers."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Ask the service to stop."""

    @abstractmethod
    def wait_until_stopped(self) -> None:
        """Wait for the service to stop; fail unless it exits cleanly."""

    @abstractmethod
    def damage(self, recording: bytes) -> int:
        """Damage every stored copy of the recording; return their number."""

    @abstractmethod
    def admin(self, *arguments: str) -> Any:
        """Run an operator's command and return its output."""

    @abstractmethod
    def close(self) -> None:
        """Stop the service and delete its data."""

    def stop(self) -> None:
        self.ask_to_stop()
        self.wait_until_stopped()

    def account(self, name: str = "main") -> Account:
        """Return the account of this name, created on first use."""
        if name not in self._accounts:
            plan, credits = ACCOUNTS[name]
            bought = ["--plan", plan, "--credits", str(credits)]
            made = self.admin("account", "create", "--name", "Examiner", *bought)
            key = self.admin("key", "create", "--account", made["account_id"], "--name", "conformance")
            self._accounts[name] = Account(made["account_id"], key["api_key"], made["secret_key"])
        return self._accounts[name]


class OneMachine(OwnService):
    """Service in one process on one data folder."""

    def __init__(self, folder: Path, *, workers: int, **settings: str) -> None:
        super().__init__()
        self._folder, self._workers = folder, workers
        self._settings = settings_as_environment(**settings)
        self._process: VbdeskProcess | None = None
        self._base_url = ""

    @property
    def base_url(self) -> str:
        return self._base_url

    @property
    def data_dir(self) -> Path:
        return self._folder / "data"

    def start(self, workers: int | None = None) -> None:
        self._workers = self._workers if workers is None else workers
        options = ["--port", 0, "--storage-port", 0, "--workers", self._workers]
        command = ("serve", "--data-dir", self.data_dir, *options)
        self._process = VbdeskProcess(self._folder, *command, environment=self._settings)
        self._process.start()
        self._base_url = self._process.ready["base_url"]

    def ask_to_stop(self) -> None:
        assert self._process is not None
        self._process.ask_to_stop()

    def wait_until_stopped(self) -> None:
        assert self._process is not None
        self._process.wait_until_stopped()

    def close(self) -> None:
        assert self._process is not None
        self._process.kill()

    def damage(self, recording: bytes) -> int:
        copies = [path for path in self.data_dir.rglob("*") if path.is_file() and path.read_bytes() == recording]
        for path in copies:
            path.write_bytes(BAD_AUDIO)
        return len(copies)

    def admin(self, *arguments: str) -> Any:
        return operate(self.data_dir, *arguments, environment=self._settings)


class Examined:
    """Service under test; `own` is None for an external service."""

    def __init__(self, base_url: str, own: OwnService | None) -> None:
        self.base_url, self.own = base_url, own
        self._callers: list[httpx.Client] = []

    def account(self, name: str = "main") -> Account:
        return named_account(name) if self.own is None else self.own.account(name)

    def operated(self) -> OwnService:
        """Return the service for operator commands; skip for an external service."""
        if self.own is None:
            pytest.skip("needs an operator")
        return self.own

    def takes_private_addresses(self) -> bool:
        """Return whether it accepts a webhook at a loopback address."""
        webhook = {"webhook_url": "http://127.0.0.1:9/", "webhook_secret_key": "secret"}
        answer = post_form(self.call(self.account().headers), "/v2/signs/stress/analyze", **webhook)
        assert answer.status_code in (200, 400), answer.text
        return answer.is_success

    def call(self, headers: dict[str, str] | None = None) -> httpx.Client:
        self._callers.append(caller(self.base_url, headers))
        return self._callers[-1]

    def close(self) -> None:
        for client in self._callers:
            client.close()


def named_account(name: str) -> Account:
    """Return an account from the environment; the second one is also used for webhooks."""
    part = {"main": "", "webhooks": "OTHER_"}.get(name, f"{name.upper()}_")
    names = [f"VBDESK_CONFORMANCE_{part}{field}" for field in ("ACCOUNT_ID", "API_KEY", "SECRET_KEY")]
    if part and not all(name in NAMED for name in names):
        pytest.skip(f"needs a further account: {ACCOUNTS[name][0]} plan, {ACCOUNTS[name][1]} credits")
    return Account(*(NAMED[name] for name in names))


def caller(base_url: str, headers: dict[str, str] | None = None) -> httpx.Client:
    return httpx.Client(base_url=base_url, headers=headers or {}, timeout=HANGS_S, trust_env=False)


def new_group() -> str:
    return f"g-{uuid.uuid4()}"


def post_form(api: httpx.Client, path: str, audio: bytes | None = SPEECH, **fields: str) -> httpx.Response:
    """POST a multipart form, with a recording unless `audio` is None."""
    parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
    if audio is not None:
        parts["audio"] = ("take.flac", audio, "audio/flac")
    return api.post(path, files=parts or {"nothing": (None, "")})


def accepted(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def submit(api: httpx.Client, path: str, audio: bytes | None = SPEECH, **fields: str) -> Any:
    return accepted(post_form(api, path, audio, **fields))


def read(api: httpx.Client, path: str, **query: Any) -> Any:
    """Read a resource; a trajectory when it is computed, however long that takes on a busy machine."""
    if not path.endswith("/longitudinal"):
        return accepted(api.get(path, params=query))
    return until(
        lambda: (found := accepted(api.get(path, params=query)))["status"] != "running" and found,
        f"{path} to be computed",
        look_every_s=0.1,
    )


def credits(api: httpx.Client) -> int:
    balance: int = read(api, "/v2/account/credits")["credits"]
    return balance


def ended(api: httpx.Client, job_id: str) -> Any:
    """Wait until the job has ended and return it."""
    return until(
        lambda: (job := read(api, f"/v2/jobs/{job_id}"))["status"] in ENDS and job,
        f"the end of {job_id}",
        look_every_s=0.1,
    )


def done(api: httpx.Client, job_id: str) -> Any:
    job = ended(api, job_id)
    assert job["status"] == "done", job
    return job


def mint(api: httpx.Client, content_type: str = "audio/flac", **more: Any) -> Any:
    return accepted(api.post("/v2/audio/uploads", json={"content_type": content_type, **more}))


def put(grant: Any, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
    """PUT the bytes to storage, with the upload's headers unless others are given."""
    chosen = grant["required_headers"] if headers is None else headers
    return httpx.put(grant["upload_url"], content=body, headers=chosen, timeout=HANGS_S, trust_env=False)


def upload(api: httpx.Client, body: bytes = SPEECH, content_type: str = "audio/flac") -> str:
    grant = mint(api, content_type)
    answer = put(grant, body)
    assert answer.is_success, answer.text
    reference: str = grant["upload_ref"]
    return reference


def connected(address: str) -> socket.socket:
    """Open a connection to the URL's host, with TLS for https."""
    parts = urlsplit(address)
    secure = parts.scheme == "https"
    connection = socket.create_connection((parts.hostname, parts.port or (443 if secure else 80)), timeout=HANGS_S)
    if secure:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=parts.hostname)
    return connection


def exchange(address: str, request: bytes) -> httpx.Response:
    """Send these bytes on a new connection and return the answer."""
    with connected(address) as connection:
        connection.sendall(request)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (field.partition(":") for field in fields)]
    return httpx.Response(int(status.split()[1]), headers=headers, content=body)


def written(method: str, target: str, headers: dict[str, str], body: bytes = b"", version: str = "1.1") -> bytes:
    """Encode a request as sent, with `Connection: close`."""
    host = urlsplit(ADDRESS).netloc or "voice.example"
    fields = {"Host": host, "Connection": "close", "Content-Length": str(len(body)), **headers}
    lines = [f"{method} {target} HTTP/{version}", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def assert_error(answer: httpx.Response, status: int, code: str) -> Any:
    """Check the shape of an error; a 422 may add `detail`."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/json"), answer.text
    body = answer.json()
    assert {**body, "code": code, "status": status} == body, body
    assert isinstance(body["message"], str) and body["message"], body
    assert set(body) - {"detail"} == {"code", "message", "status"}, body
    if "detail" in body:
        assert status == 422, body
        assert all(set(item) == {"loc", "msg", "type"} for item in body["detail"]), body
    return body


def assert_validation_error(answer: httpx.Response) -> Any:
    body = assert_error(answer, 422, "VALIDATION_ERROR")
    assert body["detail"], body
    return body


def instant(text: str) -> datetime:
    """Parse any timestamp that the API allows; without a UTC offset it is UTC."""
    assert RFC_3339.fullmatch(text), text
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
