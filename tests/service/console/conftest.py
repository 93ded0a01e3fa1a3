"""A person at a browser, without the browser: follows redirects, keeps cookies, fills the forms that the pages hold."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile

from vbdesk.service.db.webhooks import webhook_deliveries
from vbdesk.service.jobs.wiring import lifecycle_of
from vbdesk.service.webhooks.courier import WebhookCourier
from vbdesk.service.webhooks.guard import AddressGuard
from vbdesk.service.webhooks.sender import WebhookSender

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "jobs"))

from sample_results import result_json


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given["action"], given["method"]))
        elif tag == "input" and self.forms:
            self.forms[-1].fields[given["name"]] = given.get("value", "")


class Person:
    def __init__(self, client: httpx.Client, service: Any = None) -> None:
        self.client = client
        self.service = service
        self.page = httpx.Response(0)

    def open(self, path: str = "/console") -> httpx.Response:
        self.page = self.client.get(path, follow_redirects=True)
        return self.page

    def send(self, action: str, **fields: str) -> httpx.Response:
        """Fill in and send the form of the present page that goes to `action`."""
        form = self.form(action)
        return self.post(action, {**form.fields, **fields})

    def post(self, path: str, fields: dict[str, str]) -> httpx.Response:
        self.page = self.client.post(path, data=fields, follow_redirects=True)
        return self.page

    def form(self, action: str) -> Form:
        [form] = [form for form in self.forms() if form.action == action]
        return form

    def forms(self) -> list[Form]:
        parser = _Forms()
        parser.feed(self.page.text)
        return parser.forms

    def sign_in(self, account: Any) -> httpx.Response:
        self.open("/console/sign-in")
        return self.send("/console/sign-in", account_id=account.account_id, secret_key=account.secret_key)


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
        lifecycle = lifecycle_of(self.service.context)
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

    def post(self, url: str, body: bytes, headers: Any) -> int:
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
    return WebhookCourier(context.database, context.clock, context.secrets, sender).deliver_due
