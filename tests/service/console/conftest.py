"""A person at the console of a service."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.tables import webhook_deliveries
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "support"))

from console_person import Person
from sample_results import result_json


@pytest.fixture
def make_person(service: Any) -> Callable[[], Person]:
    """Somebody with a browser of their own at the shared service."""
    return lambda: Person(service.client())


@pytest.fixture
def person(make_person: Callable[[], Person], account: Any) -> Person:
    """The holder of `account`, signed in."""
    holder = make_person()
    assert holder.sign_in(account).status_code == 200
    return holder


@pytest.fixture
def own_person(start_service: Callable[..., Any]) -> Person:
    """Somebody who is signed in at a service of the test's own, which is `own_person.service`."""
    service = start_service()
    holder = Person(service.client(), service)
    assert holder.sign_in(service.add_account()).status_code == 200
    return holder


@dataclass
class Bench:
    """Submits jobs of `account`, and ends them in the worker's stead."""

    service: Any
    account: Any

    def submit(self, **fields: str) -> str:
        parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
        parts["audio"] = ("take.wav", _noise(), "audio/wav")
        answer = self.service.client(self.account).post("/v2/signs/stress/analyze", files=parts)
        assert answer.status_code == 200, answer.text
        job_id: str = answer.json()["job_id"]
        return job_id

    def finish(self, job_id: str, score: float = 0.4) -> None:
        lifecycle = JobLifecycle.of(self.service.context)
        with self.service.context.database.writing() as connection:
            assert lifecycle.start(connection, job_id, "bench", 120) is not None
            lifecycle.analysed(connection, job_id, result_json("sign", "stress", score))

    def deliveries(self) -> list[Any]:
        mine = webhook_deliveries.c.account_id == self.account.account_id
        with self.service.context.database.reading() as connection:
            return list(connection.execute(webhook_deliveries.select().where(mine)).all())


def _noise() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, 0.1 * np.random.default_rng(0).standard_normal(15 * 8000 + 4000), 8000, format="WAV")
    return file.getvalue()


@pytest.fixture
def bench(service: Any, account: Any) -> Bench:
    return Bench(service, account)


class RecordingSender(WebhookSender):
    """Answers with `answers` one after the other, then with 200."""

    def __init__(self) -> None:
        super().__init__(AddressGuard(allow_private=False))
        self.answers: list[int | Exception] = []
        self.urls: list[str] = []

    def post(self, url: str, body: bytes, headers: Any, account_id: str) -> int:
        self.urls.append(url)
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def sender() -> RecordingSender:
    return RecordingSender()


@pytest.fixture
def deliver(service: Any, sender: RecordingSender) -> Callable[[], int]:
    """Carries what the test at hand owes; what others left behind on the shared service is dropped."""
    context = service.context
    with context.database.writing() as connection:
        connection.execute(webhook_deliveries.delete())
    return DeliveryWorker(context.database, context.clock, context.secrets, sender).deliver_due
