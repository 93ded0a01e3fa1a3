"""Clients of a cluster during faults: they submit continuously and retry with the same key."""

import io
import random
import sys
import threading
import time
import uuid
import zlib
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import soundfile

sys.path.append(str(Path(__file__).parents[1] / "conformance"))

from receiver import Delivery, Receiver

__all__ = ["Caller", "CallerAccount", "Delivery", "RefusingReceiver", "Tried", "World"]

TESTS = Path(__file__).parents[2]
SPEECH = (TESTS / "data" / "speech_kathleen_20s.flac").read_bytes()
DIALOGUE = (TESTS / "data" / "dialogue_two_speakers_40s.flac").read_bytes()
LONG_TIMES = 12  # repetitions of the short recording: four minutes
KINDS = ("plain", "longitudinal", "diarized", "long")
TERMINAL = ("done", "failed", "timed-out")
FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
PATIENCE_S = 15.0
PAUSE_S = 0.4  # before a retry
UNSEEN_AT_MOST = 4  # unfinished jobs per client; then it waits for the oldest
REPEATS_WITHIN_S = 240.0


def long_recording() -> bytes:
    """Create a recording that takes long to analyse."""
    samples, rate = soundfile.read(io.BytesIO(SPEECH), dtype="int16")
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", rate, 1, format="FLAC") as longer:
        for _ in range(LONG_TIMES):
            longer.write(samples)
    return file.getvalue()


class RefusingReceiver(Receiver):
    """Webhook receiver that refuses the first attempt of every third job; `taken` counts accepted ones by job."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self._refused: set[str] = set()
        super().__init__()

    def status_for(self, delivery: Delivery) -> int:
        job_id = str(delivery.job["job_id"])
        if zlib.crc32(job_id.encode()) % 3 == 0 and job_id not in self._refused:
            self._refused.add(job_id)
            return 503
        self.taken[job_id] += 1
        return 200


@dataclass(frozen=True)
class CallerAccount:
    """Account shared by clients, with its webhook's secret."""

    account_id: str
    headers: Mapping[str, str]
    webhook_secret: str = field(default_factory=lambda: f"whsec-{uuid.uuid4().hex}")


@dataclass
class Tried:
    """Requests and responses of all clients."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Webhook secret of every accepted job, by its id."""
    submits: Counter[str] = field(default_factory=Counter)
    repeats: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    server_errors: list[str] = field(default_factory=list)


class Caller(threading.Thread):
    """One client with an account; all clients add to `tried`."""

    def __init__(self, number: int, seed: int, base_url: str, account: CallerAccount, world: "World") -> None:
        super().__init__(name=f"caller-{number}", daemon=True)
        self._number, self._account, self._world = number, account, world
        self._base_url = base_url
        self._chance = random.Random(f"{seed}-{number}")
        self._unseen: deque[str] = deque()
        self._days = 0
        self._first = [*KINDS[number % 2 :], *KINDS[: number % 2]]  # every kind once, even in a short run

    def run(self) -> None:
        with httpx.Client(
            base_url=self._base_url, headers=dict(self._account.headers), timeout=PATIENCE_S, trust_env=False
        ) as client:
            while not self._world.stop.is_set():
                self._submit_something(client)
                while len(self._unseen) > UNSEEN_AT_MOST and not self._world.stop.is_set():
                    self._look_at_oldest(client)
                self._world.stop.wait(self._chance.uniform(0.1, 1.5))

    def _submit_something(self, client: httpx.Client) -> None:
        kind = self._first.pop() if self._first else self._chance.choices(KINDS, (35, 45, 15, 5))[0]
        if kind == "plain":
            self._submit(client, kind, self._chance.choice(("/v2/signs/stress/analyze", "/v2/models/pulse/analyze")))
        elif kind == "longitudinal":
            self._submit_batch(client)
        elif kind == "diarized":
            self._submit(client, kind, "/v2/signs/stress/analyze", DIALOGUE, diarize="true")
        else:
            self._submit(client, kind, "/v2/signs/stress/analyze", self._world.long)

    def _submit_batch(self, client: httpx.Client) -> None:
        """Submit a subject's recordings, newest first: the service must order them."""
        path = f"/v2/signs/stress/groups/subject-{self._number}/analyze/longitudinal"
        days = [self._days + later for later in (2, 1, 0)]
        self._days += len(days)
        for day in days:
            self._submit(client, "longitudinal", path, recorded_at=(FIRST_DAY + timedelta(days=day)).isoformat())

    def _submit(self, client: httpx.Client, kind: str, path: str, audio: bytes = SPEECH, **fields: str) -> None:
        self._world.tried.submits[kind] += 1
        secret = self._account.webhook_secret
        if self._chance.random() < 0.3:
            secret = f"whsec-{uuid.uuid4().hex}"
            fields |= {"webhook_url": f"{self._world.receiver.origin}/own", "webhook_secret_key": secret}
            self._world.secrets.append(secret)
        parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
        if self._chance.random() < 0.5:
            reference = self._upload(client, audio)
            if reference is None:
                return
            parts["audio_upload_ref"] = (None, reference)
        else:
            parts["audio"] = ("take.flac", audio, "audio/flac")
        key = {"Idempotency-Key": str(uuid.UUID(int=self._chance.getrandbits(128)))}
        answer = self._until_answered("submit", lambda: client.post(path, files=parts, headers=key))
        if answer is None:
            return
        if answer.status_code != 200:
            self._world.tried.refused.append(f"{kind} {answer.status_code} {answer.text[:300]}")
            return
        job_id = answer.json()["job_id"]
        self._world.tried.accepted[job_id] = secret
        self._unseen.append(job_id)

    def _upload(self, client: httpx.Client, audio: bytes) -> str | None:
        """Upload a recording and return its reference once it is certainly stored."""
        minted = self._until_answered(
            "mint", lambda: client.post("/v2/audio/uploads", json={"content_type": "audio/flac"})
        )
        if minted is None:
            return None
        if minted.status_code != 200:
            self._world.tried.refused.append(f"mint {minted.status_code} {minted.text[:300]}")
            return None
        grant = minted.json()
        put = self._until_answered(
            "put",
            lambda: httpx.put(
                grant["upload_url"],
                content=audio,
                headers=grant["required_headers"],
                timeout=PATIENCE_S,
                trust_env=False,
            ),
            ours=False,
        )
        if put is None:
            return None
        if not put.is_success and put.status_code != 412:  # 412: it is stored, only the response was lost
            self._world.tried.refused.append(f"put {put.status_code} {put.text[:300]}")
            return None
        reference: str = grant["upload_ref"]
        return reference

    def _look_at_oldest(self, client: httpx.Client) -> None:
        job_id = self._unseen[0]
        answer = self._until_answered("poll", lambda: client.get(f"/v2/jobs/{job_id}"))
        if answer is None or answer.status_code != 200:
            self._world.tried.refused.append(f"poll of an accepted job: {answer and answer.status_code}")
            self._unseen.popleft()
        elif answer.json()["status"] in TERMINAL:
            self._unseen.popleft()
        else:
            self._world.stop.wait(1.0)

    def _until_answered(self, what: str, ask: Any, *, ours: bool = True) -> httpx.Response | None:
        """Retry on service errors, as the API documents, and return the first other response."""
        ends_at = time.monotonic() + REPEATS_WITHIN_S
        while time.monotonic() < ends_at:
            try:
                answer: httpx.Response = ask()
            except httpx.HTTPError as error:
                self._world.tried.repeats[f"{what} {type(error).__name__}"] += 1
            else:
                if answer.status_code < 500 and answer.status_code != 429:
                    return answer
                self._world.tried.repeats[f"{what} {answer.status_code}"] += 1
                if ours and answer.status_code >= 500:
                    self._world.tried.server_errors.append(answer.text)
            time.sleep(PAUSE_S)
        self._world.tried.given_up.append(what)
        return None


@dataclass
class World:
    """State shared by all clients."""

    receiver: RefusingReceiver
    long: bytes = field(default_factory=long_recording)
    tried: Tried = field(default_factory=Tried)
    secrets: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
