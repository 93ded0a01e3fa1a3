"""Admission: who is turned away when too much waits, and for how long."""

import time

import pytest

from vbdesk.service.jobs.admission import CHECK_INTERVAL_S, Load, QueueAdmission
from vbdesk.service.kernel.errors import ServiceBusy


@pytest.mark.parametrize(
    ("waiting", "account", "turned_away"),
    [
        ({"a": 10}, "a", False),  # the limit itself
        ({"a": 11}, "a", True),
        ({"a": 11}, "b", False),  # who fills the queue waits, not who comes to it
        ({"a": 20, "b": 5}, "b", False),
        ({"a": 20, "b": 6}, "b", True),
    ],
)
def test_who_has_more_than_a_fair_share_of_a_full_queue_waits(waiting, account, turned_away):
    load = Load(waiting=waiting)
    assert (load.excess(10) > 0 and load.has_more_than_its_share(account, 10)) is turned_away


def test_the_wait_is_what_it_takes_to_work_off_the_excess_within_bounds():
    assert Load({"a": 20}, work_s=4000, slots=1).drain_s(10) == 100
    assert Load({"a": 20}, work_s=4000, slots=10).drain_s(10) == 10
    assert Load({"a": 20}, work_s=20, slots=10).drain_s(10) == 1
    assert Load({"a": 20}, work_s=1e9, slots=0).drain_s(10) == 300


def test_a_submit_to_a_full_queue_is_refused_before_its_body_is_read_and_leaves_nothing(make_bench):
    bench = make_bench(queue_limit=2)
    for _ in range(3):
        bench.submit("/v2/signs/stress/analyze")
    time.sleep(CHECK_INTERVAL_S + 0.05)
    answer = bench.client.post("/v2/signs/stress/analyze", content=b"no form at all")
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (
        429,
        "RATE_LIMIT_EXCEEDED",
        "2",
    )
    assert "busy" in answer.json()["message"]
    assert bench.client.post("/v2/models/nothing/analyze").status_code == 429  # before names are looked up
    assert (bench.credits(), len(bench.stored_audio())) == (100_000 - 3 * 10, 3)
    assert len(bench.get("/v2/jobs")["jobs"]) == 3  # reading goes on
    other = bench.service.add_account()
    refused = bench.service.client(other).post("/v2/signs/stress/analyze", content=b"no form at all")
    assert refused.status_code == 400  # another may submit, had it sent a form


def test_the_queue_is_looked_at_once_a_second(service):
    class Counted:
        def __init__(self, connection):
            self.queries = 0
            self._connection = connection

        def execute(self, query):
            self.queries += 1
            return self._connection.execute(query)

    now = [0.0]
    admission = QueueAdmission(10, lambda: now[0])
    with service.context.database.reading() as connection:
        counted = Counted(connection)
        for _ in range(100):
            admission.check(counted, "a")
        at_once = counted.queries
        now[0] += CHECK_INTERVAL_S
        admission.check(counted, "a")
    assert counted.queries == 2 * at_once


def test_the_message_of_a_busy_service_says_when_to_come_back():
    assert str(ServiceBusy(7).message) == (
        "The service is busy: many of your recordings wait already. Try again in 7 s."
    )
