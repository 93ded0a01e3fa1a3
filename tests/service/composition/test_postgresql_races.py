"""What can go wrong only where many write at once: races on PostgreSQL."""

import http.server
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import ClassVar

import pytest
import sqlalchemy as sa
from sample_audio import noise_wav
from sample_results import result_json
from worker_tasks import analyse_at_once, nothing_to_prepare

from patience import HANGS_S, until
from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.service.composition.eraser import open_eraser
from vbdesk.service.engine import leases
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.engine.runtime import Runtime
from vbdesk.service.groups import repository as groups
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.jobs import jobs as job_table
from vbdesk.service.kernel.errors import NotFound
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender


@pytest.fixture
def make_pg_bench(make_bench, postgresql):
    return lambda **settings: make_bench(**postgresql.make(None), **settings)


@pytest.fixture
def bench(make_pg_bench):
    return make_pg_bench()


def at_once(calls, threads=8):
    """Run the calls side by side; their results in order."""
    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_submits_that_create_one_group_at_once_all_join_it(bench):
    answers = at_once(
        [lambda: bench.post("/v2/signs/stress/groups/new/analyze/longitudinal") for _ in range(8)]
        + [lambda: bench.client.post("/v2/groups", json={"group_id": "new"})]
    )
    assert {answer.status_code for answer in answers[:8]} == {200}
    assert answers[8].status_code in (201, 409)
    assert bench.get("/v2/groups/new/jobs")["total_jobs"] == 8
    assert len(bench.get("/v2/groups")["groups"]) == 1


def test_a_group_made_twice_at_once_is_made_once(bench):
    answers = at_once([lambda: bench.client.post("/v2/groups", json={"group_id": "new"})] * 8)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


def test_a_job_added_twice_at_once_is_added_once(bench):
    jobs = [bench.submit("/v2/signs/stress/analyze") for _ in range(3)]
    bench.client.post("/v2/groups", json={"group_id": "g"}).raise_for_status()
    answers = at_once([lambda: bench.client.post("/v2/groups/g/jobs", json={"job_ids": jobs}).json()] * 6)
    assert sorted(len(answer["added"]) for answer in answers) == [0] * 5 + [3]
    assert sorted(len(answer["skipped"]) for answer in answers) == [0] + [3] * 5


def test_submits_and_deletions_of_their_group_race_without_a_fault(bench):
    def submit():
        return bench.post("/v2/signs/stress/groups/g/analyze").status_code

    def delete():
        return bench.client.delete("/v2/groups/g").status_code

    codes = Counter(at_once([submit, delete, delete, submit] * 5))
    assert codes[200] >= 10
    assert set(codes) <= {200, 404}


def test_jobs_of_one_subject_that_end_at_once_are_read_in_their_order(bench):
    days = range(1, 9)
    jobs = [
        bench.submit("/v2/signs/stress/groups/g/analyze/longitudinal", recorded_at=f"2026-02-{day:02d}T08:00:00Z")
        for day in days
    ]
    at_once([lambda job=job: bench.finish(job) if job != jobs[3] else bench.fail(job) for job in reversed(jobs)])
    assert [bench.status(job) for job in jobs] == ["done"] * 3 + ["failed"] + ["done"] * 4
    baselines = [bench.read(job)["result"]["signal"]["baseline_score"] for job in jobs if job != jobs[3]]
    assert baselines[0] is None
    assert None not in baselines[1:]
    assert bench.credits() == 100_000 - 7 * 10


def test_one_key_submitted_at_once_makes_one_job(bench):
    jobs = at_once([lambda: bench.submit("/v2/signs/stress/analyze", headers={"Idempotency-Key": "k"})] * 6)
    assert len(set(jobs)) == 1
    assert (bench.credits(), bench.stored_audio()) == (100_000 - 10, jobs[:1])


def test_one_reference_submitted_at_once_makes_one_job_of_the_last_credits(make_pg_bench):
    bench = make_pg_bench(credits=10)
    jobs = at_once([lambda: bench.submit("/v2/signs/stress/analyze", client_ref="take-0001-attempt-1")] * 6)
    assert len(set(jobs)) == 1
    assert (bench.credits(), bench.stored_audio()) == (0, jobs[:1])


def test_a_reference_whose_job_is_erased_meanwhile_makes_no_second_job(bench):
    context, path, ref = bench.service.context, "/v2/signs/stress/analyze", {"client_ref": "take-0001-attempt-1"}
    job_id = bench.submit(path, **ref)
    eraser = open_eraser(context.settings, context.database, context.clock)
    calls = [lambda: bench.post(path, **ref).status_code] * 6
    codes = at_once([*calls, lambda: eraser.erase_job(bench.account.account_id, job_id), *calls])
    assert {code for code in codes if isinstance(code, int)} <= {200, 409}
    assert bench.post(path, **ref).status_code == 409
    assert bench.get("/v2/jobs")["jobs"] == []


def test_the_last_credits_are_spent_once(make_pg_bench):
    bench = make_pg_bench(credits=50)
    codes = at_once([lambda: bench.post("/v2/signs/stress/analyze").status_code] * 10)
    assert sorted(codes) == [200] * 5 + [402] * 5
    assert bench.credits() == 0


def test_of_many_processes_one_takes_the_lease(bench):
    context = bench.service.context

    def take():
        with context.database.writing() as connection:
            return leases.take(connection, "task", new_id(), context.clock.now())

    for _ in range(3):
        assert Counter(at_once([take] * 8)) == {True: 1, False: 7}
        context.clock.advance(leases.DURATION.total_seconds())


class Receiver(http.server.BaseHTTPRequestHandler):
    deliveries: ClassVar[Counter[str]] = Counter()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.deliveries[self.headers["X-Webhook-Delivery"]] += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_two_couriers_deliver_each_webhook_once(make_pg_bench):
    bench = make_pg_bench(allow_private_addresses=True)
    context = bench.service.context
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hook = {"url": f"http://127.0.0.1:{server.server_port}/", "secret_key": "secret"}
        bench.client.post("/v2/account/webhook", json=hook).raise_for_status()
        jobs = [bench.submit("/v2/signs/stress/analyze") for _ in range(12)]
        for job in jobs:
            bench.finish(job)
        sender = WebhookSender(AddressGuard(allow_private=True))
        delivery_workers = [DeliveryWorker(context.database, context.clock, context.secrets, sender) for _ in range(2)]
        while any(at_once([delivery_worker.deliver_due for delivery_worker in delivery_workers])):
            pass
        server.shutdown()
    assert sorted(Receiver.deliveries.values()) == [1] * 12
    assert {delivery.state for delivery in bench.deliveries()} == {"sent"}


def test_the_engine_runs_what_was_submitted(make_pg_bench):
    opened = []

    class LateQueue:
        """The database does not exist before the bench does."""

        def enqueue(self, connection, job_id, queue_tag):
            opened[0].enqueue(connection, job_id, queue_tag)

    bench = make_pg_bench(clock=SystemClock(), queue=LateQueue())
    context = bench.service.context
    with closing(DbosQueue(context.settings.resolved_database_url)) as queue:
        opened.append(queue)
        before = bench.submit_to("g", longitudinal=True)
        runtime = Runtime(context, queue, workers=2, analysis=analyse_at_once, prepare_child=nothing_to_prepare)
        runtime.start()
        jobs = [before, *at_once([lambda: bench.submit_to("g", longitudinal=True)] * 6)]
        until(
            lambda: {bench.status(job) for job in jobs} == {"done"}, lambda: f"{[*map(bench.status, jobs)]} to be done"
        )
        runtime.drain(2, threading.Event())
        runtime.stop()
    assert bench.credits() == 100_000 - 7 * 60


def test_the_engine_takes_short_recordings_before_long_ones_and_a_burst_beside_others(make_pg_bench):
    late = []

    class LateQueue:
        def enqueue(self, connection, job_id, queue_tag):
            late[0].enqueue(connection, job_id, queue_tag)

    bench = make_pg_bench(clock=SystemClock(), queue=LateQueue())
    context = bench.service.context
    other = bench.service.client(bench.service.add_account())
    path = "/v2/signs/stress/analyze"
    with closing(DbosQueue(context.settings.resolved_database_url)) as queue:
        late.append(queue)
        long_one = bench.submit(path, audio=noise_wav(200))
        burst = [bench.submit(path) for _ in range(4)]
        answer = other.post(path, files={"audio": ("take.wav", noise_wav(15.5), "audio/wav")}).raise_for_status()
        runtime = Runtime(context, queue, workers=1, analysis=analyse_at_once, prepare_child=nothing_to_prepare)
        runtime.start()
        until(lambda: bench.status(long_one) == "done", "the long one to be done")
        runtime.drain(2, threading.Event())
        runtime.stop()
    with context.database.reading() as connection:
        started = connection.execute(sa.select(job_table.c.job_id).order_by(job_table.c.started_at)).scalars().all()
    assert started == [burst[0], answer.json()["job_id"], *burst[1:], long_one]


def test_groups_that_share_jobs_are_erased_at_once(bench):
    context = bench.service.context
    eraser = open_eraser(context.settings, context.database, context.clock)
    for trial in range(6):
        names = [f"{letter}{trial}" for letter in "abcd"]
        jobs = [bench.submit_to(name, longitudinal=True) for name in names for _ in range(2)]
        for name in names:
            bench.client.post(f"/v2/groups/{name}/jobs", json={"job_ids": jobs}).raise_for_status()
        for job in jobs[::3]:
            bench.start(job)
        ends = [lambda job=job: bench.conclude(job, result_json("model", "pulse", 0.4)) for job in jobs[::3]]
        erasures = [lambda name=name: eraser.erase_group(bench.account.account_id, name) for name in names]
        at_once([refusing_nothing_but_absence(call) for call in [*erasures, *ends]])
        assert bench.get("/v2/groups")["groups"] == []
        assert bench.get("/v2/jobs")["jobs"] == []


def refusing_nothing_but_absence(call):
    def allowing():
        with suppress(NotFound):
            call()

    return allowing


def test_a_transaction_that_met_a_deadlock_is_done_again(bench):
    database = bench.service.context.database
    bench.submit_to("a")
    bench.submit_to("b")
    with database.reading() as connection:
        keys = [groups.find(connection, bench.account.account_id, name).group_key for name in "ab"]
    both_hold_one = threading.Barrier(2)
    tries = Counter()

    def lock_in_order(first, second):
        def work(connection):
            tries[first] += 1
            groups.lock(connection, [first])
            if tries[first] == 1:
                both_hold_one.wait(HANGS_S)
            groups.lock(connection, [second])

        database.write(work)

    at_once([lambda: lock_in_order(*keys), lambda: lock_in_order(*reversed(keys))])
    assert sum(tries.values()) > 2  # the one that is done again may take its first lock before the other wakes up
