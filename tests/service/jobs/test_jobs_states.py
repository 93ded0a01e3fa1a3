"""The job's way from state to state, its money, and its reads."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from sample_results import result_json

from vbdesk.service.jobs import repository
from vbdesk.service.jobs.history_record import (
    history_entry,
    parse_result,
    reading_versions,
    record_of,
    versions_of,
)
from vbdesk.service.jobs.repository import Hold


def test_a_done_job_carries_its_result_and_captures_its_price(bench):
    job_id = bench.submit()
    bench.start(job_id)
    assert bench.status(job_id) == "running"
    assert bench.read(job_id)["completed_at"] is None
    bench.finish(job_id, score=0.7)
    job = bench.read(job_id)
    assert (job["status"], job["completed_at"]) == ("done", "2026-03-01T09:30:00.000000Z")
    assert job["result"]["signals"][0]["score"] == 0.7
    assert "latest_score" not in job["result"]["signals"][0]
    assert bench.credits() == 100_000 - 60


def test_a_failed_job_is_given_back_its_price(bench):
    job_id = bench.submit()
    bench.fail(job_id)
    job = bench.read(job_id)
    assert (job["status"], job["result"]) == ("failed", None)
    assert job["completed_at"] is not None
    assert bench.credits() == 100_000


def test_a_timed_out_job_never_completed(bench):
    job_id = bench.submit()
    bench.start(job_id)
    bench.time_out(job_id)
    job = bench.read(job_id)
    assert (job["status"], job["completed_at"], job["result"]) == ("timed-out", None, None)
    assert bench.credits() == 100_000


@pytest.mark.parametrize("first", ["finish", "fail", "time_out"])
@pytest.mark.parametrize("then", ["fail", "time_out"])
def test_a_terminal_state_is_the_last(bench, first, then):
    job_id = bench.submit()
    getattr(bench, first)(job_id)
    before = bench.read(job_id), bench.credits()
    getattr(bench, then)(job_id)
    assert (bench.read(job_id), bench.credits()) == before


def test_a_job_that_was_started_three_times_without_an_end_fails(bench):
    job_id = bench.submit()
    assert [bench.start(job_id) for _ in range(4)] == [True, True, True, False]
    assert bench.status(job_id) == "failed"
    assert bench.credits() == 100_000


def test_jobs_are_listed_newest_first_in_pages(make_bench):
    bench = make_bench(page_size=2)
    assert bench.get("/v2/jobs") == {"jobs": [], "page": 0, "total_pages": 1}
    jobs = []
    for _ in range(5):
        jobs.insert(0, bench.submit())
        bench.service.clock.advance(1)
    pages = [bench.get("/v2/jobs", page=page) for page in range(3)]
    assert [item["job_id"] for page in pages for item in page["jobs"]] == jobs
    assert {page["total_pages"] for page in pages} == {3}
    assert pages[0]["jobs"][0].keys() == {"job_id", "status", "created_at"}
    assert bench.get("/v2/jobs", page=3) == {"jobs": [], "page": 3, "total_pages": 3}
    assert bench.get("/v2/jobs", page=10**30)["jobs"] == []


def test_pages_of_many_days_have_every_job_once(make_bench):
    bench = make_bench(page_size=2)
    jobs = []
    for hours in (1, 1, 13, 30, 1, 1, 50):
        jobs.insert(0, bench.submit())
        bench.service.clock.advance(3600 * hours)
    pages = [bench.get("/v2/jobs", page=page)["jobs"] for page in range(5)]
    assert [item["job_id"] for page in pages for item in page] == jobs
    assert [len(page) for page in pages] == [2, 2, 2, 1, 0]


@pytest.mark.parametrize("page", ["-1", "one", "1.5"])
def test_a_page_that_is_none_is_a_validation_error(bench, page):
    assert bench.client.get("/v2/jobs", params={"page": page}).status_code == 422


def test_another_accounts_job_is_not_found(bench):
    job_id = bench.submit()
    stranger = bench.service.client(bench.service.add_account())
    for path in (f"/v2/jobs/{job_id}", "/v2/jobs/nothing"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert stranger.get("/v2/jobs").json()["jobs"] == []


def test_a_start_cut_short_by_a_shutdown_does_not_count(bench):
    job_id = bench.submit()
    for _ in range(5):
        bench.start(job_id)
        with bench.service.context.database.writing() as connection:
            repository.hand_back(connection, job_id, Hold("bench", 1))
    bench.finish(job_id)
    assert bench.status(job_id) == "done"


@pytest.mark.parametrize(("kind", "name", "signs"), [("model", "pulse", 6), ("sign", "stress", 1)])
def test_a_record_keeps_the_calibration_of_each_sign_of_its_result(kind, name, signs):
    result = json.loads(result_json(kind, name, 0.4))
    for number, signal in enumerate(result.get("signals") or [result["signal"]]):
        signal["sign_version"] = f"1.{number}"
    text = json.dumps(result)
    versions = versions_of(text)
    assert sorted(versions.values()) == [f"1.{number}" for number in range(signs)]
    record = record_of(parse_result(text))
    assert reading_versions(record) == versions
    row = SimpleNamespace(job_id="j", recorded_at=datetime(2026, 3, 1, tzinfo=UTC), audio_duration_seconds=60.0)
    entry = history_entry(row, record, "done")
    assert {sign: reading.version for sign, reading in entry.signs.items()} == versions
    assert {reading.score for reading in entry.signs.values()} == {0.4}
    assert (entry.voice_percentage, entry.audio_clarity) == (70.0, 90.0)
    assert history_entry(row, None, "queued").signs == reading_versions(None) == {}
