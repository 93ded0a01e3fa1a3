"""Time and large numbers over HTTP; the tests set the service's clock and act as its worker.

They run on an own service only, without real waiting times.
"""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from examination import ADDRESS, SPEECH, assert_error, post_form, read, submit
from receiver import Receiver

from patience import HANGS_S
from vbdesk.contract.limits import Plan
from vbdesk.service.groups.cohort_snapshots import CohortSnapshots
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.maintenance.retention import remove_old_audio
from vbdesk.service.uploads.service import UploadService
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

sys.path.append(str(Path(__file__).parents[1] / "support"))

from sample_results import result_json

pytestmark = pytest.mark.skipif(bool(ADDRESS), reason="needs a clock of its own")

DAY_S = 86_400.0
SIGN = "/v2/signs/stress"


def finish(service: Any, job_id: str, score: float = 0.4) -> None:
    """Store what a worker stores after a successful analysis."""
    lifecycle = JobLifecycle.of(service.context)
    with service.context.database.writing() as connection:
        run = lifecycle.start(connection, job_id, "examiner", 120)
        kind = "model" if run.target.sign_count > 1 else "sign"
        lifecycle.analysed(connection, job_id, result_json(kind, run.target.analysed, score))


def ago(service: Any, days: float) -> str:
    moment: datetime = service.clock.now() - timedelta(days=days)
    return moment.isoformat()


@pytest.fixture
def standard(service: Any) -> httpx.Client:
    client: httpx.Client = service.client(service.add_account(Plan.STANDARD, 1000))
    return client


@pytest.mark.parametrize(
    ("plan", "bucket", "limit"),
    [
        (Plan.STANDARD, "general", 10),
        (Plan.STANDARD, "analyze", 5),
        (Plan.STANDARD, "polling", 30),
        (Plan.ENTERPRISE, "general", 1000),
        (Plan.ENTERPRISE, "analyze", 500),
        (Plan.ENTERPRISE, "polling", 1000),
    ],
)
def test_rate_limit_of_the_plan_and_bucket_is_met_exactly(service: Any, plan: Plan, bucket: str, limit: int) -> None:
    caller = service.client(service.add_account(plan))
    ask = {
        "general": lambda: caller.get("/v2/models/none"),
        "analyze": lambda: caller.post("/v2/audio/uploads", json={}),
        "polling": lambda: caller.get("/v2/jobs/none"),
    }[bucket]
    assert all(ask().status_code in (404, 422) for _ in range(limit))
    refused = ask()
    assert_error(refused, 429, "RATE_LIMIT_EXCEEDED")
    assert refused.headers["retry-after"] == "60"


def test_window_of_the_rate_limit_slides(service: Any, standard: httpx.Client) -> None:
    """Send three requests, and seven 40 s later: three slots are free at 60 s, the others at 100 s."""

    def statuses(count: int) -> list[int]:
        return [standard.get("/v2/models").status_code for _ in range(count)]

    assert statuses(3) == [200] * 3
    service.clock.advance(40)
    assert statuses(8) == [200] * 7 + [429]
    assert standard.get("/v2/models").headers["retry-after"] == "20"
    service.clock.advance(19.5)
    assert standard.get("/v2/models").headers["retry-after"] == "1"
    service.clock.advance(0.5)
    assert statuses(4) == [200] * 3 + [429]
    assert standard.get("/v2/models").headers["retry-after"] == "40"
    service.clock.advance(40)
    assert statuses(8) == [200] * 7 + [429]


def test_upload_may_be_analysed_for_a_day_after_its_address_expired(service: Any, client: httpx.Client) -> None:
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    put = httpx.put(
        grant["upload_url"], content=SPEECH, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    assert put.is_success
    service.clock.advance(900 + DAY_S)
    submit(client, f"{SIGN}/analyze", None, audio_upload_ref=grant["upload_ref"])
    service.clock.advance(1)
    answer = post_form(client, f"{SIGN}/analyze", None, audio_upload_ref=grant["upload_ref"])
    assert assert_error(answer, 400, "INVALID_REQUEST")["message"] == "Invalid audio_upload_ref"


def test_idempotency_key_is_remembered_for_a_day(service: Any, client: httpx.Client) -> None:
    def job_id() -> str:
        answer = client.post(f"{SIGN}/analyze", files={"audio": SPEECH}, headers={"Idempotency-Key": "take 7"})
        identifier: str = answer.json()["job_id"]
        return identifier

    first = job_id()
    service.clock.advance(DAY_S)
    assert job_id() == first
    service.clock.advance(1)
    assert job_id() != first


def test_raw_audio_is_removed_after_its_time_and_results_stay(start_service: Callable[..., Any]) -> None:
    service = start_service()
    client = service.client(service.add_account())
    job_id = submit(client, f"{SIGN}/analyze")["job_id"]
    finish(service, job_id)
    before = read(client, f"/v2/jobs/{job_id}")
    service.clock.advance(30 * DAY_S)
    assert remove_old_audio(service.context) == 0
    service.clock.advance(1)
    assert remove_old_audio(service.context) == 1
    assert not service.context.storage.exists(f"audio/{job_id}")
    assert read(client, f"/v2/jobs/{job_id}") == before


def test_history_window_ends_after_270_days(service: Any, client: httpx.Client) -> None:
    ids = {}
    for days in (271, 269, 1):
        ids[days] = submit(client, f"{SIGN}/groups/window/analyze", recorded_at=ago(service, days))["job_id"]
        finish(service, ids[days])
    trajectory = read(client, "/v2/groups/window/longitudinal")
    assert trajectory["window"]["days"] == 270
    assert [point["job_id"] for point in trajectory["data_points"]] == [ids[269], ids[1]]
    assert trajectory["done_job_count"] == 3
    assert read(client, "/v2/groups/window/aggregate")["window"]["jobs_used"] == 2
    service.clock.advance(2 * DAY_S)
    later = read(client, "/v2/groups/window/longitudinal")
    assert [point["job_id"] for point in later["data_points"]] == [ids[1]]


def test_history_window_holds_the_1000_most_recent_jobs(service: Any, client: httpx.Client) -> None:
    """Submit one job and insert a thousand copies into the database, each a minute older than the last."""
    newest = submit(client, f"{SIGN}/groups/many/analyze", recorded_at=ago(service, 1))["job_id"]
    finish(service, newest)
    older = [f"{newest[:-6]}{number:06}" for number in range(1001)]
    with service.context.database.writing() as connection:
        row = dict(connection.execute(sa.select(jobs).where(jobs.c.job_id == newest)).one()._mapping)
        earlier = [row["recorded_at"] - timedelta(minutes=number + 1) for number in range(1001)]
        copies = [{**row, "job_id": i, "recorded_at": at} for i, at in zip(older, earlier, strict=True)]
        connection.execute(sa.insert(jobs), copies)
    for start in range(0, 1001, 100):
        added = client.post("/v2/groups/many/jobs", json={"job_ids": older[start : start + 100]})
        assert added.json()["not_found"] == []
    trajectory = read(client, "/v2/groups/many/longitudinal")
    assert trajectory["done_job_count"] == 1002
    assert (trajectory["window"]["max_jobs"], trajectory["window"]["truncated"]) == (1000, True)
    assert [point["job_id"] for point in trajectory["data_points"]] == [*older[998::-1], newest]
    assert read(client, "/v2/groups/many/aggregate")["window"]["jobs_used"] == 1000


def test_population_z_is_null_until_thirty_other_subjects_are_known(service: Any) -> None:
    client = service.client(service.add_account())

    def reading(group: str, days: float, score: float, form: str = "analyze") -> str:
        path = f"{SIGN}/groups/{group}/{form}"
        job_id: str = submit(client, path, recorded_at=ago(service, days))["job_id"]
        finish(service, job_id, score)
        return job_id

    def population_z() -> Any:
        job_id = reading("subject-0", 1, 0.9, "analyze/longitudinal")
        return read(client, f"/v2/jobs/{job_id}")["result"]["signal"]["population_z"]

    for level in range(3):  # three kinds of subjects; those of one kind share recordings
        ids = [reading(f"subject-{level}", days, 0.2 + 0.05 * level) for days in (19, 12, 5)]
        for number in range(level + 3, 31, 3):
            client.post("/v2/groups", json={"group_id": f"subject-{number}"})
            client.post(f"/v2/groups/subject-{number}/jobs", json={"job_ids": ids})
    assert population_z() is None
    CohortSnapshots(service.context.database, service.clock, service.context.parameters).take_due()
    assert population_z() > 0
    (sign,) = read(client, "/v2/groups/subject-0/longitudinal")["signs"]
    assert sign["population_z"] > 0
    reference = sign["population_reference"]
    assert (reference["source"], reference["n_groups"]) == ("account_cohort", 30)
    client.delete("/v2/groups/subject-30")
    assert population_z() is None


def test_deliveries_are_tried_again_on_the_schedule_and_given_up_after_it(start_service: Callable[..., Any]) -> None:
    service, receiver = start_service(allow_private_addresses=True), Receiver()
    client, context = service.client(service.add_account()), service.context
    sender = WebhookSender(AddressGuard(allow_private=True))
    delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, sender)
    try:
        hook = {"webhook_url": f"{receiver.origin}/moved", "webhook_secret_key": "whsec"}
        job_id = submit(client, f"{SIGN}/analyze", **hook)["job_id"]
        finish(service, job_id)
        assert delivery_worker.deliver_due() == 1
        for attempt, pause_s in enumerate((1, 5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200), start=2):
            service.clock.advance(pause_s - 0.001)
            assert delivery_worker.deliver_due() == 0
            service.clock.advance(0.001)
            assert delivery_worker.deliver_due() == 1
            assert len(receiver.to("/moved")) == attempt
        service.clock.advance(100 * DAY_S)
        assert delivery_worker.deliver_due() == 0
        assert len({delivery.headers["x-webhook-delivery"] for delivery in receiver.to("/moved")}) == 1
        assert all(delivery.is_signed_with("whsec") for delivery in receiver.to("/moved"))
    finally:
        receiver.close()


def test_cached_group_state_moves_updated_at_when_it_is_recomputed(service: Any, client: httpx.Client) -> None:
    submit(client, f"{SIGN}/groups/cached/analyze")
    (before,) = read(client, "/v2/groups")["groups"]
    service.clock.advance(3600)
    read(client, "/v2/groups/cached/longitudinal")
    (after,) = read(client, "/v2/groups")["groups"]
    assert datetime.fromisoformat(after["updated_at"]) - datetime.fromisoformat(before["updated_at"]) == timedelta(
        hours=1
    )


def test_membership_moves_through_the_states_of_its_job(service: Any, client: httpx.Client) -> None:
    def status_of(job_id: str) -> str:
        (item,) = read(client, "/v2/groups/moves/jobs")["jobs"]
        assert read(client, f"/v2/jobs/{job_id}")["status"] == item["status"]
        assert read(client, "/v2/groups/moves/jobs", status=item["status"])["total_jobs"] == 1
        status: str = item["status"]
        return status

    for end, ended in (("done", None), ("failed", "fail"), ("timed-out", "time_out")):
        job_id = submit(client, "/v2/models/pulse/groups/moves/analyze")["job_id"]
        assert status_of(job_id) == "queued"
        lifecycle = JobLifecycle.of(service.context)
        with service.context.database.writing() as connection:
            lifecycle.start(connection, job_id, "examiner", 120)
        assert status_of(job_id) == "running"
        if ended is None:
            finish(service, job_id)
        else:
            with service.context.database.writing() as connection:
                getattr(lifecycle, ended)(connection, job_id)
        assert status_of(job_id) == end
        assert read(client, "/v2/groups")["groups"][0]["done_job_count"] == (1 if end == "done" else 0)
        assert len(read(client, "/v2/groups/moves/longitudinal")["data_points"]) == (1 if end == "done" else 0)
        client.delete("/v2/groups/moves")


def test_past_uploads_are_removed_from_the_store(service: Any, client: httpx.Client) -> None:
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    httpx.put(grant["upload_url"], content=SPEECH, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S)
    context = service.context
    service.clock.advance(900 + DAY_S + 1)
    UploadService.of(context).remove_past()
    assert not context.storage.exists(f"uploads/{grant['upload_ref']}")
