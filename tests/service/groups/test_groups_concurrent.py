"""Groups that are edited, fed and read by many at once: what was acknowledged is in the next read."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import pytest
from sample_results import result_json

from patience import until

ROUNDS = 8
EDITORS = 4
GROUP = "/v2/groups/g"
PLENTY = {"enterprise": dict.fromkeys(("general", "analyze", "polling"), 10**9)}


@pytest.fixture(params=["sqlite", "postgresql"])
def benches(request, make_bench):
    """Two services over one PostgreSQL database, or one over SQLite, as the bench of the account's owner."""
    if request.param == "sqlite":
        return [make_bench(rate_limits=PLENTY)]
    settings = request.getfixturevalue("postgresql").make(None)
    first = make_bench(**settings, rate_limits=PLENTY)
    second = make_bench(**settings, rate_limits=PLENTY)
    second.account, second.client = first.account, second.service.client(first.account)
    return [first, second]


def done(client, path):
    """The read at `path`, asked for until it is done."""
    return until(lambda: (read := client.get(path).raise_for_status().json())["status"] == "done" and read, path)


def members(client):
    """The recordings that the trajectory and the aggregate rest on."""
    trajectory, aggregate = done(client, f"{GROUP}/longitudinal"), done(client, f"{GROUP}/aggregate")
    assert trajectory["window"]["jobs_used"] == len(trajectory["data_points"])
    return {point["job_id"] for point in trajectory["data_points"]}, aggregate["recordings"]["n"]


def test_no_read_is_older_than_an_acknowledged_change(benches):
    first = benches[0]
    anchor = first.submit_to("g", recorded_at="2026-02-01T08:00:00Z")
    first.finish(anchor)
    own = [first.submit() for _ in range(EDITORS)]
    for job in own:
        first.finish(job)
    over = Event()

    def edit(number):
        bench, job = benches[number % len(benches)], own[number]
        with bench.service.client(first.account) as client:
            for _ in range(ROUNDS):
                added = client.post(f"{GROUP}/jobs", json={"job_ids": [job]}).raise_for_status().json()
                assert added["added"] == [job]
                assert job in members(client)[0]
                client.delete(f"{GROUP}/jobs/{job}").raise_for_status()
                assert job not in members(client)[0]

    def feed(number):
        bench = benches[number % len(benches)]
        with bench.service.client(first.account) as client:
            fed = set()
            for round_ in range(ROUNDS):
                job = bench.submit_to("g", recorded_at=f"2026-02-{2 + round_:02d}T0{number}:00:00Z")
                bench.finish(job)
                fed.add(job)
                assert fed <= members(client)[0]
            return fed

    def watch(number):
        bench = benches[number % len(benches)]
        with bench.service.client(first.account) as client:
            while not over.is_set():
                points, recordings = members(client)
                assert anchor in points
                assert recordings >= 1

    with ThreadPoolExecutor(12) as pool:
        watchers = [pool.submit(watch, number) for number in range(2)]
        changes = [pool.submit(edit, number) for number in range(EDITORS)]
        feeders = [pool.submit(feed, number) for number in range(2)]
        try:
            for change in changes:
                change.result()
            fed = set().union(*(feeder.result() for feeder in feeders))
        finally:
            over.set()
        for watcher in watchers:
            watcher.result()
    for bench in benches:
        with bench.service.client(first.account) as client:
            assert members(client) == (fed | {anchor}, len(fed) + 1)


def test_a_group_deleted_and_made_anew_under_reads_shows_nothing_of_the_old(benches):
    first = benches[0]
    old = first.submit_to("g", recorded_at="2026-02-01T08:00:00Z")
    first.finish(old)
    over = Event()

    def watch(number):
        bench = benches[number % len(benches)]
        answers = set()
        with bench.service.client(first.account) as client:
            while not over.is_set():
                for name in ("longitudinal", "aggregate"):
                    answers.add(client.get(f"{GROUP}/{name}").status_code)
        return answers

    with ThreadPoolExecutor(4) as pool:
        watchers = [pool.submit(watch, number) for number in range(4)]
        try:
            for _ in range(ROUNDS):
                first.client.delete(GROUP).raise_for_status()
                first.client.post("/v2/groups", json={"group_id": "g"}).raise_for_status()
                assert members(first.client) == (set(), 0)
                first.client.post(f"{GROUP}/jobs", json={"job_ids": [old]}).raise_for_status()
                assert members(first.client) == ({old}, 1)
        finally:
            over.set()
        assert set().union(*(watcher.result() for watcher in watchers)) <= {200, 404}


def test_a_job_that_ends_while_it_is_put_into_a_group_is_done_there(make_bench, postgresql):
    bench = make_bench(**postgresql.make(None))
    bench.client.post("/v2/groups", json={"group_id": "g"}).raise_for_status()
    job = bench.submit()
    assert bench.start(job)
    with ThreadPoolExecutor(1) as pool:
        with bench.service.context.database.writing() as connection:
            bench._lifecycle.analysed(connection, job, result_json("model", "pulse", 0.4))
            adding = pool.submit(bench.client.post, f"{GROUP}/jobs", json={"job_ids": [job]})
            wait([adding], 0.5)
        assert adding.result().raise_for_status().json()["not_yet_done"] == []
    assert bench.get("/v2/groups")["groups"][0]["done_job_count"] == 1


def test_what_another_process_erases_is_gone_from_the_next_read(make_bench):
    """The operator's command edits the same database beside the running service."""
    bench = make_bench(rate_limits=PLENTY)
    jobs = [bench.submit_to("g", recorded_at=f"2026-02-{day:02d}T08:00:00Z") for day in (1, 2, 3)]
    for job in jobs:
        bench.finish(job)
    assert members(bench.client) == (set(jobs), 3)
    settings = bench.service.context.settings
    erase = [sys.executable, "-m", "vbdesk", "admin", "job", "delete", "--data-dir", str(settings.data_dir)]
    erase += ["--account", bench.account.account_id, "--job", jobs[1], "--json"]
    environment = {**os.environ, "VBDESK_DATABASE_URL": settings.resolved_database_url}
    with ThreadPoolExecutor(2) as pool:
        over = Event()

        def watch():
            seen = []
            with bench.service.client(bench.account) as client:
                while not over.is_set():
                    seen.append(len(members(client)[0]))
            return seen

        watcher = pool.submit(watch)
        try:
            erased = subprocess.run(erase, env=environment, capture_output=True, text=True, check=False)
            assert erased.returncode == 0, erased.stderr
            assert members(bench.client) == ({jobs[0], jobs[2]}, 2)
        finally:
            over.set()
        seen = watcher.result()
    assert seen == sorted(seen, reverse=True)  # what is gone does not come back
