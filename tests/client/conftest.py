"""A scripted service, the real one in process, and clients that never really wait."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from vbdesk.client import Client, Credentials, ManualClock

sys.path.append(str(Path(__file__).parent))

from in_process import Desk

API_KEY = "vbk_do-not-show-me"
JOB = {
    "job_id": "0198c0de-0000-7000-8000-000000000001",
    "status": "queued",
    "created_at": "2026-03-01T09:30:00.000000Z",
    "completed_at": None,
    "job_type": "model",
    "api_version": "v2",
    "audio_content_type": "audio/flac",
    "audio_size_bytes": 100,
    "audio_duration_seconds": 20.0,
    "audio_sample_rate": 48000,
    "model_name": "pulse",
    "result": None,
}

Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


class ScriptedService:
    """Answers requests from `answers`, one after the other, and repeats the last one.

    Attributes:
        requests: the received requests, with bodies read.
    """

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    def will_answer(self, *answers: Answer) -> None:
        self.answers = list(answers)

    @property
    def request(self) -> httpx.Request:
        """The only request."""
        assert len(self.requests) == 1
        return self.requests[0]

    @staticmethod
    def json(body: Any, status: int = 200, **headers: str) -> httpx.Response:
        return httpx.Response(status, content=json.dumps(body), headers=headers)

    @staticmethod
    def error(status: int, code: str, message: str = "No.", **headers: str) -> httpx.Response:
        body = {"code": code, "message": message, "status": status}
        return httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    @staticmethod
    def job(**changes: Any) -> httpx.Response:
        return httpx.Response(200, json=JOB | changes)


@pytest.fixture
def service() -> ScriptedService:
    return ScriptedService()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def make_client(service, clock):
    """Make clients of the scripted service."""
    clients: list[Client] = []

    def make(**options: Any) -> Client:
        options = {"clock": clock, "transport": httpx.MockTransport(service)} | options
        clients.append(Client("https://service.test/", Credentials("acc-1", API_KEY), **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(make_client) -> Client:
    return make_client()


@pytest.fixture
def desk(tmp_path) -> Iterator[Desk]:
    """The real service in process, and one account on it."""
    running = Desk(tmp_path / "service")
    yield running
    running.close()
