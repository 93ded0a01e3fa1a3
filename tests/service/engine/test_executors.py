"""Executors that are taken for dead and come back: what they still do must change nothing."""

import threading
from datetime import timedelta

import pytest
from bench import NoRuns
from sample_results import result_json

from patience import until
from vbdesk.service.engine import executors
from vbdesk.service.engine.executors import DEAD_AFTER
from vbdesk.service.engine.heartbeat import Heartbeat
from vbdesk.service.engine.leases import DURATION
from vbdesk.service.engine.shared_clock import DatabaseTime, ProcessTime
from vbdesk.service.engine.supervisor import RuntimeSupervisor
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.repository import Hold

RESULT = result_json("model", "pulse", 0.4)


class Watch:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def database(bench):
    return bench.service.context.database


def start(bench, job_id, executor_id):
    lifecycle = bench._lifecycle
    with bench.service.context.database.writing() as connection:
        return lifecycle.start(connection, job_id, executor_id, 120)


def sign_on(bench, *executor_ids):
    context = bench.service.context
    with context.database.writing() as connection:
        for executor_id in executor_ids:
            executors.sign_on(connection, executor_id, 1, context.clock.now())


def strike_out(bench, executor_id):
    with bench.service.context.database.writing() as connection:
        executors.sign_off(connection, executor_id)
        repository.take_from(connection, [executor_id])


def test_what_an_executor_does_to_a_job_that_was_given_away_changes_nothing(bench, database):
    sign_on(bench, "slow", "other")
    job_id = bench.submit()
    lost = start(bench, job_id, "slow")
    strike_out(bench, "slow")
    held = start(bench, job_id, "other")
    assert (lost.hold, held.hold) == (Hold("slow", 1), Hold("other", 2))
    lifecycle = bench._lifecycle
    for outcome in (lifecycle.fail, lifecycle.time_out, lifecycle.hand_back):
        database.write(lambda connection, outcome=outcome: outcome(connection, job_id, lost.hold))
    database.write(lambda connection: lifecycle.analysed(connection, job_id, RESULT, lost.hold))
    with database.reading() as connection:
        row = repository.find(connection, job_id)
    assert (row.status, row.executor_id, row.starts) == ("running", "other", 2)
    database.write(lambda connection: lifecycle.analysed(connection, job_id, RESULT, held.hold))
    assert (bench.status(job_id), bench.credits()) == ("done", 100_000 - 60)


def test_an_outcome_between_being_struck_out_and_the_next_start_does_not_count_either(bench, database):
    sign_on(bench, "slow")
    job_id = bench.submit_to("g", longitudinal=True)
    lost = start(bench, job_id, "slow")
    strike_out(bench, "slow")
    database.write(lambda connection: bench._lifecycle.analysed(connection, job_id, RESULT, lost.hold))
    assert bench.status(job_id) == "running"


def test_a_job_is_not_taken_from_an_executor_that_is_signed_on(bench):
    sign_on(bench, "one", "two")
    job_id = bench.submit()
    assert start(bench, job_id, "one") is not None
    assert start(bench, job_id, "two") is None
    strike_out(bench, "one")
    assert start(bench, job_id, "one") is not None  # taken for dead, and does not know it yet
    assert start(bench, job_id, "two") is not None


def test_a_heartbeat_learns_that_it_was_taken_for_dead(bench, database):
    heartbeat = Heartbeat(database, "slow", 1, ProcessTime(bench.service.clock))
    heartbeat.sign_on()
    heartbeat.beat()
    assert not heartbeat.taken_for_dead
    strike_out(bench, "slow")
    heartbeat.beat()
    assert heartbeat.taken_for_dead
    heartbeat.sign_off()


def test_only_a_sweeper_that_sees_steadily_judges_who_is_dead(bench, database):
    clock, watch = bench.service.clock, Watch()
    clock.advance(DURATION.total_seconds())  # whoever swept in another test is gone
    sign_on(bench, "silent")
    job_id = bench.submit()
    start(bench, job_id, "silent")
    sweeper = Sweeper(bench.service.context, NoRuns(), monotonic=watch)

    def rounds(seconds):
        for _ in range(int(seconds / 5)):
            watch.time += 5
            clock.advance(5)
            assert sweeper.sweep()

    def is_struck_out():
        with database.reading() as connection:
            return "silent" not in executors.list_signed_on(connection)

    rounds(DEAD_AFTER.total_seconds())
    assert not is_struck_out()
    watch.time += 60  # the database was away: everybody looks silent
    clock.advance(60)
    rounds(DEAD_AFTER.total_seconds())
    assert not is_struck_out()
    clock.advance(3600)  # this computer slept, which its monotonic clock does not count
    rounds(DEAD_AFTER.total_seconds())
    assert not is_struck_out()
    rounds(5)
    assert is_struck_out()
    assert start(bench, job_id, "another").hold.starts == 2


def test_a_clock_that_is_ahead_takes_no_work_from_anybody(make_bench, postgresql):
    bench = make_bench(**postgresql.make(None))
    context = bench.service.context
    with context.database.writing() as connection:
        executors.sign_on(connection, "right", 1, DatabaseTime().now(connection))
    right, ahead = (Sweeper(context, NoRuns(), DatabaseTime(), Watch()) for _ in range(2))
    assert right.sweep()
    context.clock.advance(timedelta(days=1000).total_seconds())
    assert not ahead.sweep()
    with context.database.writing() as connection:
        assert executors.remove_dead(connection, DatabaseTime().now(connection)) == []


class Work:
    """A runtime's outside."""

    def __init__(self, executor_id, log):
        self.executor_id, self._log = executor_id, log
        self.taken_for_dead = False

    def start(self):
        self._log.append(f"start {self.executor_id}")
        if len(self._log) == 3:
            raise ConnectionError

    def drain(self, grace_s, stop_now):
        self._log.append(f"drain {self.executor_id}")

    def stop(self):
        self._log.append(f"stop {self.executor_id}")


def test_work_that_was_taken_for_dead_begins_anew_under_another_name_until_it_succeeds():
    log, made = [], []

    def make():
        made.append(Work(f"name-{len(made)}", log))
        return made[-1]

    supervisor = RuntimeSupervisor(make, pause_s=0.01)
    supervisor.start()
    made[0].taken_for_dead = True
    until(lambda: supervisor.executor_id == "name-2")
    supervisor.drain(1, threading.Event())
    supervisor.stop()
    expected = ["start name-0", "stop name-0", "start name-1", "stop name-1", "start name-2"]
    assert log == [*expected, "drain name-2", "stop name-2"]
