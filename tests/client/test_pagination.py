"""Reading all pages of a list, and waiting for many jobs."""

import subprocess
import sys
from collections import Counter

import httpx
import pytest

from vbdesk.client import RequestBudget
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.limits import Bucket


def listed(name):
    return {"job_id": name, "status": "done", "created_at": "2026-03-01T09:30:00Z"}


class GrowingList:
    """A list of jobs, newest first, that grows after each page that was read."""

    def __init__(self, jobs, new):
        self.jobs, self.new = list(jobs), list(new)

    def __call__(self, request):
        page, size = int(request.url.params["page"]), 3
        total = -(-len(self.jobs) // size)
        answer = {
            "jobs": [listed(name) for name in self.jobs[page * size :][:size]],
            "page": page,
            "total_pages": total,
        }
        if self.new:
            self.jobs.insert(0, self.new.pop(0))
        return httpx.Response(200, json=answer)


def test_every_job_is_given_once_while_new_ones_arrive(client, service):
    old = [f"old-{number}" for number in range(8)]
    service.will_answer(GrowingList(old, ["new-1", "new-2", "new-3", "new-4"]))
    assert [job.job_id for job in client.jobs.all()] == old


def test_an_empty_list_is_one_request(client, service):
    service.will_answer(service.json({"jobs": [], "page": 0, "total_pages": 0}))
    assert list(client.jobs.all()) == []
    assert len(service.requests) == 1


def test_all_jobs_of_a_group_keep_to_the_filters_on_every_page(client, service):
    job = {
        "job_id": "a", "status": "done", "recorded_at": None, "created_at": "2026-03-01T09:30:00Z",
        "use_case": None, "condition": None, "audio_duration_seconds": 20,
    }  # fmt: skip
    answer = {"group_id": "s", "total_jobs": 2, "total_pages": 2}
    service.will_answer(
        *(service.json(answer | {"page": k, "jobs": [job | {"job_id": name}]}) for k, name in enumerate("ab"))
    )
    assert [item.job_id for item in client.groups.all_jobs("s", status=JobStatus.DONE)] == ["a", "b"]
    assert [request.url.params["status"] for request in service.requests] == ["done", "done"]


class Analyses:
    """Jobs that end one after the other, a few seconds apart."""

    def __init__(self, clock, names, each_s):
        self.clock = clock
        self.ends = {name: (number + 1) * each_s for number, name in enumerate(names)}
        self.asked = Counter()

    def __call__(self, request):
        name = request.url.path.rsplit("/", 1)[-1]
        self.asked[name] += 1
        done = self.clock.monotonic() >= self.ends[name]
        return httpx.Response(200, json=JOB | {"job_id": name, "status": "done" if done else "queued"})


JOB = {
    "job_id": "x", "status": "queued", "created_at": "2026-03-01T09:30:00Z", "completed_at": None, "job_type": "model",
    "api_version": "v2", "audio_content_type": "audio/flac", "audio_size_bytes": 1, "audio_duration_seconds": 20.0,
    "audio_sample_rate": 48000, "model_name": "pulse", "result": None,
}  # fmt: skip


def test_waiting_for_many_gives_each_once_and_keeps_within_the_budget(make_client, service, clock):
    names = [f"job-{number:02}" for number in range(60)]
    analyses = Analyses(clock, names, each_s=4)
    service.will_answer(analyses)
    client = make_client(budget=RequestBudget({Bucket.POLLING: 30}))
    ended = [job.job_id for job in client.jobs.wait_each([*names, names[0]])]
    assert sorted(ended) == names
    assert clock.monotonic() < 60 * 4 + 30, "the wait is that of the analyses"
    assert analyses.asked.total() <= 30 * (clock.monotonic() / 60 + 1)


def test_jobs_that_ended_long_ago_are_read_without_a_wait_in_between(client, service, clock):
    service.will_answer(Analyses(clock, [f"job-{number}" for number in range(50)], each_s=0))
    assert len(list(client.jobs.wait_each(f"job-{number}" for number in range(50)))) == 50
    assert clock.monotonic() == 2


def test_waiting_for_many_tells_how_many_are_left_when_the_time_is_over(client, service, clock):
    service.will_answer(Analyses(clock, ["a", "b", "c"], each_s=10))
    with pytest.raises(TimeoutError, match="2 of 3 analyses have not ended within 15 seconds"):
        list(client.jobs.wait_each(["a", "b", "c"], timeout_s=15))


def test_the_client_alone_needs_nothing_of_the_other_rooms():
    program = "import sys, vbdesk.client; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "'httpx'" in loaded
    for foreign in ("numpy", "PySide6", "sqlalchemy", "fastapi", "keyring", "cryptography", "typer"):
        assert f"'{foreign}'" not in loaded
