"""Resources: the requests sent, and the decoded answers."""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from threading import Event

import pytest

from vbdesk.client import read_delivery
from vbdesk.client.errors import BadSignature, Cancelled, UnexpectedAnswer
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import TrajectoryRunning

GROUP = {
    "group_id": "a",
    "job_count": 1,
    "done_job_count": 1,
    "earliest_recorded_at": None,
    "latest_recorded_at": None,
    "created_at": "2026-03-01T09:30:00Z",
    "updated_at": "2026-03-01T09:30:00Z",
}


def test_the_catalog_is_read(client, service):
    service.will_answer(service.json({"models": [{"name": "breath", "signs": ["allergy"]}]}))
    assert [model.name for model in client.models.list()] == ["breath"]
    service.will_answer(service.json({"name": "stress", "label": "Stress", "condition": "acute-stress", "new": 1}))
    assert client.signs.get("stress").condition == "acute-stress"


def test_the_webhook_is_set_with_its_secret_in_the_body(client, service):
    service.will_answer(service.json({"success": True, "message": "Saved."}))
    assert client.account.set_webhook("https://me.test/hook", "s3cret").success
    assert json.loads(service.request.content) == {"url": "https://me.test/hook", "secret_key": "s3cret"}


def test_all_groups_are_read_page_by_page(client, service):
    pages = [{"groups": [GROUP | {"group_id": name}], "page": k, "total_pages": 2} for k, name in enumerate("ab")]
    service.will_answer(*(service.json(page) for page in pages))
    assert [group.group_id for group in client.groups.all()] == ["a", "b"]
    assert [request.url.params["page"] for request in service.requests] == ["0", "1"]


def test_group_jobs_are_filtered(client, service):
    service.will_answer(service.json({"group_id": "a", "total_jobs": 0, "jobs": [], "page": 0, "total_pages": 1}))
    bound = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    client.groups.jobs("a", from_=bound, to=bound, status=JobStatus.DONE)
    moment = "2026-03-01T09:30:00.000000Z"
    assert dict(service.request.url.params) == {"page": "0", "from": moment, "to": moment, "status": "done"}


def test_a_trajectory_may_still_be_running(client, service):
    service.will_answer(
        service.json({"status": "running", "group_id": "a", "retry_after_seconds": 2, "done_job_count": 3})
    )
    answer = client.groups.trajectory("a", signs=["stress", "fatigue"])
    assert isinstance(answer, TrajectoryRunning)
    assert service.request.url.params.get_list("sign") == ["stress", "fatigue"]


def test_membership_is_edited(client, service):
    service.will_answer(
        service.json({"status": "accepted", "added": ["x"], "skipped": {}, "not_found": [], "not_yet_done": []})
    )
    assert client.groups.add_jobs("a", ["x"]).added == ["x"]
    service.will_answer(service.json({"status": "accepted", "removed": "x"}))
    assert client.groups.remove_job("a", "x").removed == "x"
    assert service.requests[-1].method == "DELETE"


def test_waiting_asks_every_two_to_five_seconds_and_tells_of_changes(client, service, clock):
    states = ["queued", "queued", "running", "running", "running", "running", "failed"]
    service.will_answer(*(service.job(status=status) for status in states))
    seen = []
    job = client.jobs.wait("0198c0de-0000-7000-8000-000000000001", on_change=lambda job: seen.append(job.status.value))
    assert job.status is JobStatus.FAILED
    assert seen == ["running", "failed"]
    assert clock.waits[0] == 2
    assert max(clock.waits) == 5
    assert clock.waits == sorted(clock.waits)


def test_waiting_ends_when_its_time_is_over_or_the_caller_asks(client, service):
    service.will_answer(service.job())
    with pytest.raises(TimeoutError, match="within 20 seconds"):
        client.jobs.wait("0198c0de-0000-7000-8000-000000000001", timeout_s=20)
    stop = Event()
    stop.set()
    with pytest.raises(Cancelled):
        client.jobs.wait("0198c0de-0000-7000-8000-000000000001", cancel=stop)


def test_an_answer_about_something_else_is_no_answer(client, service):
    """A faulty cache may return another person's answer."""
    service.will_answer(service.job(job_id="another"))
    with pytest.raises(UnexpectedAnswer):
        client.jobs.get("job-of-this-person")
    running = {"status": "running", "group_id": "another", "retry_after_seconds": 2, "done_job_count": 1}
    service.will_answer(service.json(running))
    with pytest.raises(UnexpectedAnswer):
        client.groups.trajectory("this-subject")


def test_a_delivery_is_read_when_its_signature_fits(service):
    body = service.job(status="timed-out").content
    signature = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert read_delivery(body, signature, "s3cret").status is JobStatus.TIMED_OUT
    for wrong in (None, "", signature[:-1] + "x", "é"):
        with pytest.raises(BadSignature):
            read_delivery(body, wrong, "s3cret")
    with pytest.raises(BadSignature):
        read_delivery(body + b" ", signature, "s3cret")
    with pytest.raises(UnexpectedAnswer):
        read_delivery(b"{}", hmac.new(b"s3cret", b"{}", hashlib.sha256).hexdigest(), "s3cret")
