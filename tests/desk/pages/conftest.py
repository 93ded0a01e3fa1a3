"""Fixtures: a service that knows a few subjects, and recordings in every state."""

import gc
import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, RetryRule
from vbdesk.clock import utc_now
from vbdesk.contract.jobs import Job
from vbdesk.contract.results import ValueInterpretation, VocalFeature
from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.shell.all_pages import build_account_page
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, write_result
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.library.store import FOLLOW, SEND
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.report.shipped_signs import shipped_signs

sys.path.append(str(Path(__file__).parent))  # known_recordings, by name

ANSWERS = Path(__file__).parents[1] / "data"

WAY_TO = {
    OutboxState.CHECKED: "",
    OutboxState.WAITING: "waiting",
    OutboxState.UPLOADING: "waiting uploading",
    OutboxState.SUBMITTED: "waiting uploading submitted",
    OutboxState.RUNNING: "waiting uploading submitted running",
    OutboxState.DONE: "waiting uploading submitted running done",
    OutboxState.FAILED: "waiting uploading submitted failed",
    OutboxState.TIMED_OUT: "waiting uploading submitted timed_out",
    OutboxState.NEEDS_ATTENTION: "waiting needs_attention",
    OutboxState.HANDED_OVER: "waiting handed_over",
}


def answer_file(name: str) -> dict:
    return json.loads((ANSWERS / name).read_text())


@dataclass
class KnowingService:
    """The service's answers; can be cut off."""

    api_key: str = "right-key"
    up: bool = True
    jobs: dict[str, dict] = field(default_factory=dict)
    trajectories: dict[str, list[dict]] = field(default_factory=dict)
    groups: list[dict] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    webhooks: list[dict] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")
        self.asked.append(request.url.path)
        if not self.up:
            raise httpx.ConnectError("cut", request=request)
        if request.headers["X-API-Key"] != self.api_key:
            return httpx.Response(401, json={"code": "UNAUTHORIZED", "message": "Unknown key.", "status": 401})
        if parts[-1] == "credits":
            return httpx.Response(200, json={"credits": 412})
        if parts[-1] == "webhook":
            self.webhooks.append(json.loads(request.content))
            return httpx.Response(200, json={"success": True, "message": "Jobs will be reported."})
        if parts[-1] == "longitudinal" and parts[-2] in self.trajectories:
            answers = self.trajectories[parts[-2]]
            return httpx.Response(200, json=answers.pop(0) if len(answers) > 1 else answers[0])
        if parts[-2] == "jobs" and parts[-1] in self.jobs:
            return httpx.Response(200, json=self.jobs[parts[-1]])
        if parts[-1] == "groups":
            page = int(request.url.params.get("page", 0))
            here = self.groups[50 * page : 50 * page + 50]
            pages = max(1, -(-len(self.groups) // 50))
            return httpx.Response(200, json={"groups": here, "page": page, "total_pages": pages})
        return httpx.Response(404, json={"code": "NOT_FOUND", "message": "There is no such thing.", "status": 404})

    def connect(self, base_url, credentials, budget=None) -> Client:
        transport = httpx.MockTransport(self.answer)
        return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget, transport=transport)

    def add_group(self, group_id: str, jobs: int = 1, latest: datetime | None = None) -> None:
        moment = (latest or datetime(2026, 3, 1, tzinfo=UTC)).isoformat()
        self.groups.append(
            {
                "group_id": group_id,
                "job_count": jobs,
                "done_job_count": jobs,
                "earliest_recorded_at": moment,
                "latest_recorded_at": moment,
                "created_at": moment,
                "updated_at": moment,
            }
        )


@pytest.fixture(autouse=True)
def collected_on_the_right_thread():
    """Collect garbage after each test, so that no worker of the next test destroys Qt objects."""
    yield
    gc.collect()


@pytest.fixture
def network() -> KnowingService:
    """Replaces the network of the other tests."""
    return KnowingService()


@pytest.fixture
def pulse_job() -> Job:
    """A finished job of this release's calibration."""
    job = Job.model_validate(answer_file("job_pulse_moderate.json"))
    signals = [
        signal.model_copy(update={"sign_version": shipped_signs()[signal.name].version})
        for signal in job.result.signals
    ]
    return job.model_copy(update={"result": job.result.model_copy(update={"signals": signals})})


@pytest.fixture
def stress_job() -> Job:
    return Job.model_validate(answer_file("job_sign_stress.json"))


@pytest.fixture
def trajectory_answer() -> dict:
    return answer_file("trajectory_pulse.json")


@dataclass
class Shelf:
    """Puts recordings into the library, in any state."""

    workspace: object

    def put(
        self, group_id, state=OutboxState.CHECKED, *, hours_ago=1.0, job=None, sent=None,
        seconds=16, device=None, protocol="", **columns,
    ) -> str:  # fmt: skip
        library = self.workspace.library
        path = library.recording_folder / f"{len(library.list())}.take"
        writer = EncryptedTakeWriter(path, library.store.key, 8000, {"device": device})
        writer.append((np.sin(np.arange(seconds * 8000) / 20) * 9000).astype(np.int16))
        writer.close()
        recorded_at = utc_now() - timedelta(hours=hours_ago)
        metadata = TakeMetadata(group_id, recorded_at, RecordingTarget("model", "pulse"), protocol=protocol)
        take_id = library.add_take(path, metadata)
        for step in WAY_TO[state].split():
            with library.store.changing():
                library.store.move(take_id, OutboxState(step))
        if state in ON_THEIR_WAY:
            with library.store.changing():
                library.store.add_event(
                    take_id, SEND if state in (OutboxState.WAITING, OutboxState.UPLOADING) else FOLLOW
                )
        if job is not None:
            with library.store.changing():
                library.store.store_result(take_id, write_result(job.result), job.completed_at)
            columns |= {"job_id": job.job_id}
        if columns:
            with library.store.changing():
                library.store.update(take_id, columns)
        if sent is not None:
            library.store._progress[take_id] = sent
        return take_id


@pytest.fixture
def shelf(workspace) -> Shelf:
    return Shelf(workspace)


@pytest.fixture
def course(shelf, pulse_job):
    """Eight weekly recordings of one subject; the pitch of the last one is far higher."""

    def put(number, pitch, **columns):
        summary = pulse_job.result.summary
        feature = VocalFeature(
            feature="pitch_mean",
            label="Mean speaking pitch",
            value=pitch,
            unit="Hz",
            value_interpretation=ValueInterpretation.WITHIN_RANGE,
        )
        description = summary.description.model_copy(update={"vocal_features": [feature]})
        summary = summary.model_copy(update={"description": description})
        result = pulse_job.result.model_copy(update={"summary": summary})
        job = pulse_job.model_copy(update={"job_id": f"{number:08d}-0000-4000-8000-000000000000", "result": result})
        return shelf.put("ward4-0172", OutboxState.DONE, job=job, hours_ago=24.0 * 7 * (8 - number), **columns)

    return [put(number, pitch) for number, pitch in enumerate([120.0, 118.0, 123.0, 121.0, 117.0, 122.0, 119.0, 171.0])]


@pytest.fixture
def asked(workspace) -> list[tuple[str, object]]:
    """Pages that were requested."""
    pages: list[tuple[str, object]] = []
    workspace.navigator.asked.connect(lambda key, argument: pages.append((key, argument)))
    return pages


@pytest.fixture
def open_listed(workspace, qtbot):
    """Open a page that holds a table, by its builder, and wait until it shows `count` rows."""
    opened = []  # a page that only Qt knows could be collected while it is shown

    def make(build, count: int):
        page = build(workspace.flow)
        opened.append(page)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(None)
        qtbot.waitUntil(lambda: page.view_model.table.rowCount() == count)
        return page

    return make


@pytest.fixture
def open_outbox(open_listed):
    """Open the Outbox and wait until it shows `count` recordings."""
    return partial(open_listed, OutboxPage)


@pytest.fixture
def account(workspace, ports, profile, qtbot) -> AccountPage:
    """The Account page, with a second profile that is not in use."""
    store = ProfileStore(ports.config_dir)
    store.save(profile)
    store.save(Profile("p2", "This computer", "local", None, "acc-2"))
    ports.keyring.set("profile/p2/api-key", "other")
    page = build_account_page(workspace)
    qtbot.addWidget(page)
    page.show()
    page.opened(None)
    qtbot.waitUntil(lambda: page.built and page.findChild(QAbstractButton, "switch-p2") is not None)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    return page


@pytest.fixture
def service(network, pulse_job, stress_job, trajectory_answer):
    """Two subjects with a job each; other subjects are unknown."""
    jobs = {"a-1": pulse_job, "b-1": stress_job}
    known = network.answer

    def answer(request):
        parts = request.url.path.split("/")
        if parts[-1] == "jobs" and parts[-2] in jobs:
            job = jobs[parts[-2]]
            item = {
                "job_id": job.job_id,
                "status": "done",
                "recorded_at": job.created_at.isoformat(),
                "created_at": job.created_at.isoformat(),
                "use_case": None,
                "condition": None,
                "audio_duration_seconds": 41.5,
                "model_name": "pulse",
            }
            page = {"group_id": parts[-2], "total_jobs": 1, "jobs": [item], "page": 0, "total_pages": 1}
            return httpx.Response(200, json=page)
        return known(request)

    network.answer = answer
    for group_id, job in jobs.items():
        network.trajectories[group_id] = [trajectory_answer | {"group_id": group_id}]
        network.jobs[job.job_id] = json.loads(job.model_dump_json())
    return network
