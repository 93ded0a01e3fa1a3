"""The sweeper: overdue runs, old and orphaned audio, and one sweeper at a time."""

import time
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from bench import NoRuns

from patience import until
from vbdesk.contract.ids import id_timestamp, new_id
from vbdesk.service.engine import executors
from vbdesk.service.engine.leases import DURATION
from vbdesk.service.engine.sweeper import SEARCH_EVERY_S, Sweeper
from vbdesk.service.erasure.service import Eraser, list_erasures
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.jobs import executors as executor_rows
from vbdesk.service.kernel.db.jobs import leases as lease_rows
from vbdesk.service.kernel.db.tables import groups
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.maintenance.orphans import sweep_orphans


def sweeper_of(bench):
    return Sweeper(bench.service.context, NoRuns())


def sign_on(bench, executor_id):
    context = bench.service.context
    with context.database.writing() as connection:
        executors.sign_on(connection, executor_id, 1, context.clock.now())


def forget_other_tests(bench):
    """Whoever worked or swept in them is gone."""
    with bench.service.context.database.writing() as connection:
        connection.execute(sa.delete(executor_rows))
        connection.execute(sa.delete(lease_rows))


def object_at(bench, key: str, content: bytes = b"sound") -> None:
    storage = bench.service.context.storage
    path = storage.incoming / "new"
    path.write_bytes(content)
    storage.adopt(key, path)


def id_made(moment: datetime) -> str:
    """An id as it would have been made at that moment."""
    milliseconds = int(moment.timestamp() * 1000)
    text = f"{milliseconds:012x}" + new_id().replace("-", "")[12:]
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def test_an_id_tells_when_it_was_made(bench):
    now = bench.service.clock.now()
    assert id_timestamp(id_made(now)) == now
    for other in ("some", "f47ac10b-58cc-4372-a567-0e02b2c3d479"):
        with pytest.raises(ValueError, match=r"UUID|does not contain its creation time"):
            id_timestamp(other)


def test_audio_is_removed_after_its_time_and_the_result_stays(make_bench):
    bench = make_bench(audio_retention_days=30)
    finished, waiting = bench.submit(), bench.submit()
    bench.finish(finished)
    sweeper = sweeper_of(bench)
    sweeper.tidy()
    assert len(bench.stored_audio()) == 2
    bench.service.clock.advance(31 * 24 * 3600)
    sweeper.tidy()
    assert bench.stored_audio() == [waiting]
    assert bench.read(finished)["result"] is not None


def test_audio_that_belongs_to_nothing_is_swept_at_a_safe_age(bench):
    now = bench.service.clock.now()
    young, old = id_made(now - timedelta(minutes=59)), id_made(now - timedelta(minutes=61))
    folders = ("audio", "uploads")
    for folder in folders:
        for name in (young, old, "not-ours"):
            object_at(bench, f"{folder}/{name}")
    sweeper_of(bench).tidy()
    storage = bench.service.context.storage
    for folder in folders:
        kept = {name for name in (young, old, "not-ours") if storage.exists(f"{folder}/{name}")}
        assert kept == {young, "not-ours"}


def test_audio_of_jobs_and_uploads_is_not_swept_as_an_orphan(bench):
    job_id = bench.submit()
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    put = bench.service.client().put(grant["upload_url"], content=b"x" * 100, headers=grant["required_headers"])
    assert put.status_code == 200
    bench.service.clock.advance(1000 * 24 * 3600)  # ids come from the real clock: both are old now
    sweeper_of(bench).tidy()
    assert bench.stored_audio() == [job_id]
    assert bench.service.context.storage.exists(f"uploads/{grant['upload_ref']}")


def test_a_run_that_stays_overdue_is_ended_by_the_sweeper_while_its_executor_lives(make_bench):
    bench = make_bench(job_timeout_s=0.2)
    job_id = bench.submit()
    bench.start(job_id)
    bench.service.clock.advance(130)
    for executor_id, status in ((None, "running"), ("bench", "timed-out")):  # a dead one's job is run again
        if executor_id is not None:
            sign_on(bench, executor_id)
        sweeper = sweeper_of(bench)
        assert sweeper.sweep()
        assert bench.status(job_id) == "running"  # the computer may have slept
        time.sleep(0.25)
        sweeper.sweep()
        assert bench.status(job_id) == status
        bench.service.clock.advance(DURATION.total_seconds())


def test_a_run_that_begins_while_an_overdue_one_is_ended_goes_on(make_bench):
    bench = make_bench(job_timeout_s=5)
    job_id = bench.submit()
    bench.start(job_id)
    sign_on(bench, "bench")
    bench.service.clock.advance(130)
    moment = [0.0]

    class StartedAgain(NoRuns):
        """The child of the overdue run has crashed, and the job is started again, just after the look for it."""

        def recover(self, list_live, find_forgotten):
            if moment[0]:
                assert bench.start(job_id)
            return 0

    sweeper = Sweeper(bench.service.context, StartedAgain(), monotonic=lambda: moment[0])
    assert sweeper.sweep()
    moment[0] = 6.0
    assert sweeper.sweep()
    assert bench.status(job_id) == "running"
    bench.finish(job_id)
    assert bench.status(job_id) == "done"


def test_no_run_is_ended_as_overdue_while_its_outcome_may_wait_for_disk_space(make_bench, monkeypatch):
    bench = make_bench(job_timeout_s=0.2)
    job_id = bench.submit()
    bench.start(job_id)
    bench.service.clock.advance(130)
    sign_on(bench, "bench")
    sweeper = sweeper_of(bench)
    disk = bench.service.context.disk
    free = [disk.reserve_bytes - 1]
    full = replace(bench.service.context, disk=replace(disk, measure=lambda _folder: free[0]))
    sweeper._context = full
    for _ in range(3):
        assert sweeper.sweep()
        time.sleep(0.25)
    assert bench.status(job_id) == "running"
    free[0] = 10 * disk.reserve_bytes
    sweeper.sweep()
    assert bench.status(job_id) == "running"  # it gets its time from now on
    time.sleep(0.25)
    sweeper.sweep()
    assert bench.status(job_id) == "timed-out"


def test_a_tidying_goes_on_with_deletions_that_broke_off(make_bench):
    bench = make_bench()
    bench.submit_to("jane-doe")
    context, account_id = bench.service.context, bench.account.account_id
    eraser = Eraser(context.database, context.storage, JobLifecycle.of(context), context.clock)
    context.database.write(lambda connection: eraser._end_account(connection, account_id))
    assert bench.client.get("/v2/jobs").status_code == 401
    assert list(context.storage.keys("audio"))
    sweeper_of(bench).tidy()
    assert list(context.storage.keys("audio")) == []
    with context.database.reading() as connection:
        assert connection.execute(sa.select(groups)).all() == []
        assert [(line.kind, line.jobs) for line in list_erasures(connection)] == [("account", 1)]


def test_one_sweeper_at_a_time_and_the_next_when_it_is_gone(bench):
    forget_other_tests(bench)
    first, second = sweeper_of(bench), sweeper_of(bench)
    assert [first.sweep(), second.sweep(), first.sweep()] == [True, False, True]
    bench.service.clock.advance(DURATION.total_seconds() - 1)
    assert [second.sweep(), first.sweep()] == [False, True]
    bench.service.clock.advance(DURATION.total_seconds())
    assert [second.sweep(), first.sweep()] == [True, False]


def test_a_sweeper_that_stops_leaves_its_place_at_once(make_bench):
    bench = make_bench()
    first, second = sweeper_of(bench), sweeper_of(bench)
    worker = PeriodicWorker(first.jobs())
    worker.start()
    until(lambda: first._ours)
    assert not second.sweep()
    worker.stop()
    assert second.sweep()


def test_a_process_that_runs_no_jobs_leaves_the_sweep_to_those_that_do(bench):
    context = bench.service.context
    forget_other_tests(bench)
    answering, working = Sweeper(context, NoRuns(), runs_jobs=False), sweeper_of(bench)
    assert answering.sweep()  # nobody else is there
    sign_on(bench, "worker")
    assert [answering.sweep(), working.sweep(), answering.sweep()] == [False, True, False]
    context.clock.advance(DURATION.total_seconds())  # the worker fell silent
    assert answering.sweep()


def test_the_store_is_searched_for_orphans_once_a_day(bench):
    passed = 0.0
    sweeper = Sweeper(bench.service.context, NoRuns(), monotonic=lambda: passed)
    orphan = f"audio/{id_made(bench.service.clock.now() - timedelta(hours=2))}"
    sweeper.tidy()
    object_at(bench, orphan)
    passed = SEARCH_EVERY_S - 1
    sweeper.tidy()
    assert bench.service.context.storage.exists(orphan)
    assert sweep_orphans(bench.service.context, is_stopping=lambda: True).quarantined == 0
    passed = SEARCH_EVERY_S
    sweeper.tidy()
    assert not bench.service.context.storage.exists(orphan)
