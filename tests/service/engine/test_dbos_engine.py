"""The durable engine: what was committed is run, whatever process dies, and nothing is left after a stop."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from dbos import DBOS
from sample_audio import noise_wav
from worker_tasks import analyse_at_once, nothing_to_prepare

from patience import HANGS_S, until
from vbdesk.clock import SystemClock
from vbdesk.service.engine import executors
from vbdesk.service.engine.analysis import analyse_file, prepare
from vbdesk.service.engine.dbos_engine import POLL_EVERY_S, DbosEngine, DbosQueue
from vbdesk.service.engine.job_engine import HandedBack
from vbdesk.service.engine.runtime import Runtime
from vbdesk.service.engine.slot_children import SpawnedChildren
from vbdesk.service.engine.sweeper import FORGOTTEN_AFTER_S, Sweeper
from vbdesk.service.jobs import repository


@pytest.fixture
def engine_bench(make_bench):
    """A bench whose submits go to the real engine."""
    opened = []

    class LateQueue:
        """The database does not exist before the bench does."""

        def enqueue(self, connection, job_id, queue_tag):
            opened[0].enqueue(connection, job_id, queue_tag)

    bench = make_bench(clock=SystemClock(), queue=LateQueue())
    opened.append(DbosQueue(bench.service.context.settings.resolved_database_url))
    bench.queue = opened[0]
    yield bench
    opened[0].close()


@contextmanager
def running(bench, executor_id="local-0", workers=1, analysis=analyse_at_once, prepare_child=nothing_to_prepare):
    runtime = Runtime(
        bench.service.context,
        bench.queue,
        workers=workers,
        executor_id=executor_id,
        analysis=analysis,
        prepare_child=prepare_child,
    )
    runtime.start()
    try:
        yield runtime
    finally:
        runtime.drain(5, threading.Event())
        runtime.stop()


def wait_until_done(bench, jobs):
    def statuses():
        return [bench.status(job) for job in jobs]

    until(lambda: set(statuses()) == {"done"}, lambda: f"the jobs to be done: {statuses()}")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_process_has_the_task_for_earlier_readings_unless_it_is_turned_off(engine_bench, wanted, monkeypatch):
    context = engine_bench.service.context
    settings = context.settings.model_copy(update={"recompute_after_upgrade": wanted})
    monkeypatch.setattr(engine_bench.service, "context", replace(context, settings=settings))
    with running(engine_bench):
        assert ("vbdesk-recompute" in {thread.name for thread in threading.enumerate()}) == wanted
    assert "vbdesk-recompute" not in {thread.name for thread in threading.enumerate()}


def test_jobs_are_run_also_those_from_before_the_start(engine_bench):
    before = engine_bench.submit()
    with running(engine_bench):
        wait_until_done(engine_bench, [before, engine_bench.submit()])


def test_spawned_children_analyse_a_recording_as_on_windows_and_macos(engine_bench, speech_file, monkeypatch):
    monkeypatch.setattr("vbdesk.service.engine.slot.usual_children", SpawnedChildren)
    job_id = engine_bench.submit(audio=speech_file.read_bytes())
    with running(engine_bench, analysis=analyse_file, prepare_child=prepare):
        wait_until_done(engine_bench, [job_id])
    assert engine_bench.read(job_id)["result"]["audio_quality"]["voice_percentage"] > 50


def test_nothing_is_left_after_a_stop_and_it_can_start_again(engine_bench, capfd):
    threads = set(threading.enumerate())
    for _ in range(2):
        with running(engine_bench):
            wait_until_done(engine_bench, [engine_bench.submit()])
    left = {thread.name for thread in set(threading.enumerate()) - threads}
    of_others = ("AnyIO", "asyncio", "vbdesk-uses")  # the service's, which goes on
    assert {name for name in left if not name.startswith(of_others)} == set()
    assert capfd.readouterr().err == ""


def test_an_engine_that_ran_nothing_lately_stops_at_once(engine_bench, monkeypatch):
    waits_s, destroy = [], DBOS.destroy

    def note_wait(workflow_completion_timeout_sec):
        waits_s.append(workflow_completion_timeout_sec)
        destroy(workflow_completion_timeout_sec=workflow_completion_timeout_sec)

    monkeypatch.setattr(DBOS, "destroy", note_wait)
    engine = DbosEngine(engine_bench.service.context.settings.resolved_database_url, engine_bench.queue, "local-0")

    engine.start(lambda job_id: None, at_once=1)
    engine.stop()
    assert waits_s == [0]


def test_a_submit_that_is_rolled_back_is_never_run(engine_bench):
    job_id = engine_bench.submit()
    database = engine_bench.service.context.database
    with pytest.raises(RuntimeError), database.writing() as connection:
        engine_bench.queue.enqueue(connection, "never", 1)
        raise RuntimeError
    assert [workflow.workflow_id for workflow in engine_bench.queue.client.list_workflows()] == [job_id]


@pytest.mark.parametrize("caught", ["queued", "running"])
def test_what_a_dead_executor_left_is_run_by_another(engine_bench, caught):
    job_id = engine_bench.submit()
    url = engine_bench.service.context.settings.resolved_database_url
    dead = DbosEngine(url, engine_bench.queue, "dead-1")
    taken = threading.Event()

    def die(job_id):
        if caught == "running":
            engine_bench.start(job_id)
        taken.set()
        raise SystemExit  # a run that leaves no outcome, as one that was killed

    dead.start(die, at_once=1)
    assert taken.wait(HANGS_S)
    dead.stop()
    assert engine_bench.status(job_id) == caught
    assert engine_bench.credits() == 100_000 - 60
    with running(engine_bench, executor_id="other-2"):
        wait_until_done(engine_bench, [job_id])
    with engine_bench.service.context.database.reading() as connection:
        assert repository.find(connection, job_id).starts == (2 if caught == "running" else 1)
    assert engine_bench.credits() == 100_000 - 60


def test_a_job_that_a_living_executor_took_and_forgot_is_queued_again(engine_bench):
    """As when the connection is lost in the middle of a claim, which is made all the same."""
    job_id = engine_bench.submit()
    context = engine_bench.service.context
    taken = threading.Event()

    def forget(_job_id):
        taken.set()
        raise SystemExit

    passed = 0.0
    forgetful = DbosEngine(context.settings.resolved_database_url, engine_bench.queue, "forgetful")
    sweeper = Sweeper(context, forgetful, monotonic=lambda: passed)
    with context.database.writing() as connection:
        executors.sign_on(connection, "forgetful", 1, context.clock.now())
    forgetful.start(forget, at_once=1)
    assert taken.wait(HANGS_S)
    forgetful.stop()
    assert sweeper.sweep()
    passed = FORGOTTEN_AFTER_S - 1
    assert sweeper.sweep()
    assert states(engine_bench) == {job_id: "PENDING"}
    passed = FORGOTTEN_AFTER_S
    assert sweeper.sweep()
    assert states(engine_bench) == {job_id: "ENQUEUED"}


def test_ended_runs_are_forgotten_after_their_time(engine_bench, monkeypatch):
    with running(engine_bench):
        wait_until_done(engine_bench, [engine_bench.submit()])
    engine = DbosEngine("", engine_bench.queue, "")
    (run,) = engine_bench.queue.client.list_workflows()
    later = datetime.fromtimestamp(run.updated_at / 1000, UTC) + timedelta(minutes=1)  # of the clock of DBOS
    monkeypatch.setattr("vbdesk.service.engine.dbos_engine.utc_now", lambda: later)
    assert engine.purge(timedelta(hours=1)) == 0
    assert engine.purge(timedelta(0)) == 1
    assert engine_bench.queue.client.list_workflows() == []


class Runs:
    """What an engine was given to run; each run lasts until it is let go."""

    def __init__(self, ends=None):
        self.begun: list[str] = []
        self._ends = ends
        self._go = threading.Event()

    def __call__(self, job_id):
        self.begun.append(job_id)
        if self._ends is None:
            assert self._go.wait(HANGS_S)
        else:
            raise self._ends

    def let_go(self):
        self._go.set()

    def wait_for(self, count):
        until(lambda: len(self.begun) >= count, f"{count} jobs to begin")


@contextmanager
def engine_of(bench, run, at_once):
    engine = DbosEngine(bench.service.context.settings.resolved_database_url, bench.queue, "one")
    engine.start(run, at_once=at_once)
    try:
        yield engine
    finally:
        run.let_go()
        engine.stop()


def states(bench):
    return {workflow.workflow_id: workflow.status for workflow in bench.queue.client.list_workflows()}


def test_an_engine_takes_no_more_than_it_can_run_and_nothing_after_a_pause(engine_bench):
    jobs = {engine_bench.submit() for _ in range(4)}
    runs = Runs()
    with engine_of(engine_bench, runs, at_once=2) as engine:
        runs.wait_for(2)
        time.sleep(5 * POLL_EVERY_S)
        assert len(runs.begun) == 2
        engine.pause()
        time.sleep(3 * POLL_EVERY_S)
        runs.let_go()
        time.sleep(5 * POLL_EVERY_S)
        waiting = {job for job, status in states(engine_bench).items() if status == "ENQUEUED"}
        assert (len(runs.begun), waiting) == (2, jobs - set(runs.begun))


def test_jobs_are_taken_in_their_fair_order(engine_bench):
    long_one = engine_bench.submit(audio=noise_wav(120))
    short = [engine_bench.submit() for _ in range(2)]
    runs = Runs()
    runs.let_go()
    with engine_of(engine_bench, runs, at_once=1):
        runs.wait_for(3)
    assert runs.begun == [*short, long_one]


def test_a_job_that_is_handed_back_is_queued_again_at_once(engine_bench):
    job_id = engine_bench.submit()
    runs = Runs(ends=HandedBack())
    with engine_of(engine_bench, runs, at_once=1) as engine:
        runs.wait_for(1)
        engine.pause()
        until(lambda: states(engine_bench) == {job_id: "ENQUEUED"})
