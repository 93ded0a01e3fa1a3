"""Running one job in a slot: good ends, bad ends, and shutdowns in between."""

import errno
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sample_results import result_json
from sqlalchemy.exc import OperationalError
from worker_tasks import (
    AnalyseAtTheSecondTry,
    analyse_and_die,
    analyse_at_once,
    analyse_badly,
    analyse_in_a_loop,
    analyse_into_nonsense,
    analyse_never,
    die_preparing,
    nothing_to_prepare,
)

from patience import HANGS_S, until
from vbdesk.service.engine import executors, job_runner
from vbdesk.service.engine.job_engine import HandedBack
from vbdesk.service.engine.job_runner import STORE_WAIT, JobRunner
from vbdesk.service.engine.slot import Slot
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.jobs import repository
from vbdesk.service.storage.store import StoreFull, StoreUnavailable


@contextmanager
def runner(bench, analysis, prepare=nothing_to_prepare, context=None, **patience):
    slots = SlotPool(1, prepare)
    made = JobRunner(context or bench.service.context, slots, analysis, "test", **patience)
    try:
        yield made
    finally:
        made.stop()


@pytest.mark.parametrize(
    ("analysis", "status"),
    [
        (analyse_at_once, "done"),
        (analyse_badly, "failed"),
        (analyse_and_die, "failed"),
        (analyse_into_nonsense, "failed"),
        (AnalyseAtTheSecondTry(), "done"),
    ],
)
def test_a_job_ends_as_its_analysis_does(bench, analysis, status):
    job_id = bench.submit()
    with runner(bench, analysis) as jobs:
        jobs.run(job_id)
    assert bench.status(job_id) == status
    assert bench.credits() == 100_000 - (60 if status == "done" else 0)


@pytest.mark.parametrize("analysis", [analyse_never, analyse_in_a_loop])
def test_a_stuck_analysis_is_timed_out_and_the_next_job_runs(make_bench, analysis):
    bench = make_bench(job_timeout_s=2)
    stuck, next_one = bench.submit(), bench.submit("/v2/signs/stress/analyze")
    with runner(bench, analysis) as jobs:
        jobs.run(stuck)
        assert bench.status(stuck) == "timed-out"
        patient = bench.service.context.settings.model_copy(update={"job_timeout_s": HANGS_S})
        jobs._context = replace(bench.service.context, settings=patient)
        jobs.run(next_one)
    assert bench.status(next_one) == "done"
    assert bench.credits() == 100_000 - 10


def test_a_child_that_cannot_prepare_itself_fails_the_job_in_the_end(bench):
    job_id = bench.submit()
    with runner(bench, analyse_at_once, prepare=die_preparing, child_wait_s=0) as jobs:
        jobs.run(job_id)
    assert bench.status(job_id) == "failed"
    assert bench.credits() == 100_000


def test_a_child_that_cannot_prepare_itself_does_not_end_the_run_of_a_job_that_another_has(bench):
    job_id = bench.submit()
    with bench.service.context.database.writing() as connection:
        executors.sign_on(connection, "bench", 1, bench.service.context.clock.now())
    assert bench.start(job_id)
    ended = []
    with runner(bench, analyse_at_once, prepare=die_preparing, child_wait_s=0) as jobs:
        thread = threading.Thread(target=_run, args=(jobs, job_id, ended))
        thread.start()
        thread.join(1.5)
        assert ended == []
    thread.join()
    assert ended == ["handed back"]


def test_a_computer_that_starts_no_child_costs_a_job_no_start_while_others_may_take_it(bench):
    job_id = bench.submit()
    ended = []
    with runner(bench, analyse_at_once, prepare=die_preparing) as broken:
        thread = threading.Thread(target=_run, args=(broken, job_id, ended))
        thread.start()
        until(lambda: not broken.children_start)
        assert (ended, bench.status(job_id), broken.children_start) == ([], "queued", False)
        with runner(bench, analyse_at_once) as sound:
            sound.run(job_id)
    thread.join()
    assert bench.status(job_id) == "done"


def test_running_a_job_again_changes_nothing(bench):
    job_id = bench.submit()
    with runner(bench, analyse_at_once) as jobs:
        jobs.run(job_id)
        before = bench.read(job_id)
        jobs.run(job_id)
    assert bench.read(job_id) == before
    assert bench.credits() == 100_000 - 60


def test_two_runs_of_a_job_in_one_process_do_not_drop_each_others_results(bench, monkeypatch):
    job_id = bench.submit()
    slots = SlotPool(2, nothing_to_prepare)
    jobs = JobRunner(bench.service.context, slots, analyse_at_once, "test")
    start, analyse = jobs._start, jobs._analyse
    starts, turned_away, runs = [], [], []
    changed = threading.Condition()

    def note(events):
        with changed:
            events.append(True)
            changed.notify_all()

    def start_and_tell(attempt):
        run = start(attempt)
        note(starts)
        return run

    def pause_and_tell():
        while True:
            note(turned_away)
            yield 0.05

    def analyse_until_the_other_has_tried(slot, run, stages):
        if not runs:
            runs.append(others.submit(jobs.run, job_id))  # the queue hands the job out a second time
        analysed = analyse(slot, run, stages)
        with changed:
            assert changed.wait_for(
                lambda: len(starts) > run.hold.starts or (turned_away and len(starts) == 1), HANGS_S
            )
        return analysed

    monkeypatch.setattr(jobs, "_start", start_and_tell)
    monkeypatch.setattr(jobs, "_analyse", analyse_until_the_other_has_tried)
    monkeypatch.setattr(job_runner, "_growing_pauses", pause_and_tell)
    try:
        with ThreadPoolExecutor(1) as others:
            jobs.run(job_id)
            runs[0].result(HANGS_S)
    finally:
        jobs.stop()
    assert bench.status(job_id) == "done"
    assert bench.credits() == 100_000 - 60


def test_a_job_whose_audio_is_gone_fails(bench):
    job_id = bench.submit()
    bench.service.context.storage.delete(f"audio/{job_id}")
    with runner(bench, analyse_at_once) as jobs:
        jobs.run(job_id)
    assert bench.status(job_id) == "failed"


def test_a_shutdown_hands_the_job_back_without_counting_the_start(bench):
    job_id = bench.submit()
    for _ in range(4):  # more often than a job may be started
        with runner(bench, analyse_never) as jobs:
            outcome: list[str] = []
            thread = threading.Thread(target=_run, args=(jobs, job_id, outcome))
            thread.start()
            until(lambda: bench.status(job_id) != "queued")
            time.sleep(0.2)
        thread.join()
        assert outcome == ["handed back"]
    with runner(bench, analyse_at_once) as jobs:
        jobs.run(job_id)
    assert bench.status(job_id) == "done"


def _run(jobs, job_id, outcome):
    try:
        jobs.run(job_id)
        outcome.append("ended")
    except HandedBack:
        outcome.append("handed back")


def test_a_job_that_ends_within_the_grace_is_waited_for(bench):
    job_id = bench.submit()
    slots = SlotPool(1, nothing_to_prepare)
    jobs = JobRunner(bench.service.context, slots, analyse_at_once, "test")
    outcome: list[str] = []
    thread = threading.Thread(target=_run, args=(jobs, job_id, outcome))
    thread.start()
    until(lambda: bench.status(job_id) != "queued")
    jobs.drain(120, threading.Event())
    jobs.stop()
    thread.join()
    assert (outcome, bench.status(job_id)) == (["ended"], "done")


class AbsentStore:
    """A store that cannot be reached for its first calls."""

    error = StoreUnavailable

    def __init__(self, store, refusals):
        self._store = store
        self.refusals = refusals

    def local_copy(self, key):
        if self.refusals:
            self.refusals -= 1
            raise self.error("The store is away.")
        return self._store.local_copy(key)


def test_a_job_waits_for_a_store_that_is_away_and_no_start_counts(bench):
    context = bench.service.context
    away = replace(context, storage=AbsentStore(context.storage, refusals=2))
    job_id = bench.submit()
    with runner(bench, analyse_at_once, context=away) as jobs:
        jobs.run(job_id)
    with context.database.reading() as connection:
        assert repository.find(connection, job_id).starts == 1
    assert bench.status(job_id) == "done"


def test_a_job_that_waited_for_its_recording_for_a_day_fails(make_bench):
    bench = make_bench()
    context = bench.service.context
    job_id = bench.submit()
    context.clock.advance(STORE_WAIT.total_seconds() + 1)
    away = replace(context, storage=AbsentStore(context.storage, refusals=10))
    with runner(bench, analyse_at_once, context=away) as jobs:
        jobs.run(job_id)
    assert (bench.status(job_id), bench.credits()) == ("failed", 100_000)


class FullStore(AbsentStore):
    """Says that there is no disk space to fetch a recording to."""

    error = StoreFull


def test_a_job_waits_for_disk_space_as_long_as_it_takes(make_bench):
    bench = make_bench()
    context = bench.service.context
    job_id = bench.submit()
    context.clock.advance(STORE_WAIT.total_seconds() + 1)
    full = replace(context, storage=FullStore(context.storage, refusals=2))
    with runner(bench, analyse_at_once, context=full) as jobs:
        jobs.run(job_id)
    assert (bench.status(job_id), starts_of(bench, job_id)) == ("done", 1)


@pytest.mark.parametrize("where", ["borrow", "run"])
def test_a_disk_without_room_for_the_analysis_itself_does_not_fail_the_job(make_bench, monkeypatch, where):
    bench = make_bench()
    job_id = bench.submit()
    owner = SlotPool if where == "borrow" else Slot
    whole, refusals = getattr(owner, where), iter(range(5))

    def first_fail(*args, **more):
        if next(refusals, None) is not None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(*args, **more)

    monkeypatch.setattr(owner, where, first_fail)
    monkeypatch.setattr("vbdesk.service.engine.job_runner.FIRST_RETRY_S", 0.01)
    with runner(bench, analyse_at_once) as jobs:
        jobs.run(job_id)
    assert (bench.status(job_id), starts_of(bench, job_id)) == ("done", 1)


def starts_of(bench, job_id):
    with bench.service.context.database.reading() as connection:
        return repository.find(connection, job_id).starts


class BrokenDatabase:
    """A database that breaks off when the end of a run is to be written, for the first times."""

    def __init__(self, database, breaks):
        self._database = database
        self.breaks = breaks

    def __getattr__(self, name):
        return getattr(self._database, name)

    def write(self, work):
        if self.breaks:
            self.breaks -= 1
            raise OperationalError("COMMIT", {}, ConnectionError())
        return self._database.write(work)


def test_a_result_outlives_an_outage_of_the_database(bench):
    context = bench.service.context
    broken = BrokenDatabase(context.database, breaks=2)
    job_id = bench.submit()
    with runner(bench, analyse_at_once, context=replace(context, database=broken)) as jobs:
        jobs.run(job_id)
    with context.database.reading() as connection:
        row = repository.find(connection, job_id)
    assert (row.status, row.starts, broken.breaks) == ("done", 1, 0)


def test_a_run_whose_job_was_given_away_meanwhile_does_not_end_before_the_job_does(bench):
    context = bench.service.context
    job_id = bench.submit()
    with context.database.writing() as connection:
        executors.sign_on(connection, "other", 1, context.clock.now())
        assert bench._lifecycle.start(connection, job_id, "other", 120) is not None
    with runner(bench, analyse_at_once) as jobs:
        outcome: list[str] = []
        thread = threading.Thread(target=_run, args=(jobs, job_id, outcome))
        thread.start()
        time.sleep(0.3)
        assert (outcome, bench.status(job_id)) == ([], "running")
        bench.conclude(job_id, result_json("model", "pulse", 0.4))
        thread.join(HANGS_S)
    assert (outcome, bench.status(job_id)) == (["ended"], "done")
