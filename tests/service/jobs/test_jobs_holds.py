"""Which run of a job counts, and what the sweeps find of jobs."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sample_results import result_json

from vbdesk.contract.ids import new_id
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.jobs import executors, jobs

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def write(bench):
    return bench.service.context.database.write


@pytest.fixture
def start(bench, write):
    """Start a job for an executor; its hold, None if there is nothing to start."""
    lifecycle = JobLifecycle.of(bench.service.context)

    def make(job_id, executor_id="a", timeout_s=120):
        run = write(lambda connection: lifecycle.start(connection, job_id, executor_id, timeout_s))
        return None if run is None else run.hold

    return make


@pytest.fixture
def analysed(bench, write):
    lifecycle, result = JobLifecycle.of(bench.service.context), result_json("model", "pulse", 0.4)
    return lambda job_id, hold: write(lambda connection: lifecycle.analysed(connection, job_id, result, hold))


@pytest.fixture
def sign_on(write):
    """Sign on an executor; its id."""

    def make():
        executor_id = new_id()
        row = sa.insert(executors).values(executor_id=executor_id, seen_at=NOON, slots=1)
        write(lambda connection: connection.execute(row))
        return executor_id

    return make


@pytest.fixture
def given(write):
    """Set columns of a job as a time long ago left them."""
    return lambda job_id, **values: write(
        lambda connection: connection.execute(sa.update(jobs).where(jobs.c.job_id == job_id).values(**values))
    )


def test_a_job_is_not_started_by_another_while_its_executor_is_signed_on(bench, start, sign_on, write):
    own, job_id = sign_on(), bench.submit()
    assert start(job_id, own).starts == 1
    assert start(job_id, "b") is None
    assert start(job_id, own).starts == 2, "it may start its own again"
    write(lambda connection: connection.execute(sa.delete(executors).where(executors.c.executor_id == own)))
    assert start(job_id, "b").starts == 3, "nobody else has it any more"


def test_what_an_earlier_run_says_counts_no_more(bench, start, analysed, write):
    lifecycle, job_id = JobLifecycle.of(bench.service.context), bench.submit()
    earlier, later = start(job_id), start(job_id)
    for end in (lifecycle.fail, lifecycle.time_out):
        write(lambda connection, end=end: end(connection, job_id, earlier))
    analysed(job_id, earlier)
    assert bench.status(job_id) == "running"
    write(lambda connection: lifecycle.hand_back(connection, job_id, earlier))
    analysed(job_id, later)
    assert bench.status(job_id) == "done"


def test_a_start_that_was_handed_back_leaves_the_job_to_any_executor(bench, start, sign_on, write):
    job_id = bench.submit()
    hold = start(job_id, sign_on())
    write(lambda connection: JobLifecycle.of(bench.service.context).hand_back(connection, job_id, hold))
    assert start(job_id, "b").starts == 1


def test_what_is_taken_from_dead_executors_is_free_and_the_rest_stays_theirs(bench, start, analysed, sign_on, write):
    dead, alive = sign_on(), sign_on()
    lost, other, waiting, ended = (bench.submit() for _ in range(4))
    holds = {lost: start(lost, dead), other: start(other, alive)}
    analysed(ended, start(ended, dead))
    write(lambda connection: repository.take_from(connection, [dead]))
    for job_id, hold in holds.items():
        analysed(job_id, hold)
    assert [bench.status(job_id) for job_id in (lost, other, waiting, ended)] == ["running", "done", "queued", "done"]
    unheld = write(lambda connection: repository.list_unheld(connection, [lost, other, waiting, ended]))
    assert set(unheld) == {lost, waiting}
    assert start(lost, alive).starts == 2


def test_a_run_is_overdue_only_after_its_deadline_and_for_its_executor(bench, start, write):
    job_id, deadline = bench.submit(), bench.service.clock.now() + timedelta(seconds=120)
    own = new_id()
    hold = start(job_id, own, timeout_s=120)

    def overdue(before, executor_id=own):
        return write(lambda connection: repository.list_overdue(connection, before, [executor_id]))

    assert overdue(deadline) == []
    assert overdue(deadline + MICROSECOND) == [(job_id, hold)]
    assert overdue(deadline + MICROSECOND, new_id()) == []
    bench.conclude(job_id, result_json("model", "pulse", 0.4))
    assert overdue(deadline + MICROSECOND) == []


def test_an_analysis_waits_for_the_earlier_one_of_its_group_and_is_not_made_again(bench, start, analysed, write):
    before = set(write(repository.list_set_aside))
    first = bench.submit_to("ward4", longitudinal=True)
    bench.service.clock.advance(1)
    second = bench.submit_to("ward4", longitudinal=True)
    holds = [start(first), start(second)]
    analysed(second, holds[1])
    assert bench.status(second) == "running"
    assert len(set(write(repository.list_set_aside)) - before) == 1
    assert start(second) is None, "it is analysed already"
    assert write(lambda connection: repository.list_unheld(connection, [first, second])) == []
    late = write(lambda connection: repository.list_overdue(connection, NOON + timedelta(days=400), ["a"]))
    assert {job_id for job_id, _ in late} & {first, second} == {first}
    analysed(first, holds[0])
    assert [bench.status(job_id) for job_id in (first, second)] == ["done", "done"]
    assert set(write(repository.list_set_aside)) == before


def test_old_sound_is_that_of_ended_jobs_from_before_a_moment(bench, given, write):
    ended, later, waiting = (bench.submit() for _ in range(3))

    def old():
        rows = write(lambda connection: repository.list_old_audio(connection, NOON, 1000))
        return {row.job_id for row in rows} & {ended, later, waiting}

    for job_id in (ended, later):
        bench.finish(job_id)
    for job_id in (ended, waiting):
        given(job_id, created_at=NOON - MICROSECOND)
    given(later, created_at=NOON)
    assert old() == {ended}
    given(later, created_at=NOON - MICROSECOND)
    assert old() == {ended, later}
    assert len(write(lambda connection: repository.list_old_audio(connection, NOON, 1))) == 1
    write(lambda connection: repository.forget_audio(connection, [ended]))
    assert old() == {later}


def test_what_waits_keeps_its_place_and_one_of_an_older_release_is_first(bench, given, write):
    waiting, older, ended = (bench.submit() for _ in range(3))
    given(waiting, queue_tag=77)
    given(older, queue_tag=None)
    bench.finish(ended)
    tags = write(lambda connection: repository.list_queue_tags(connection, [waiting, older, ended]))
    assert tags == {waiting: 77, older: 1}


def test_keys_of_submits_from_before_a_moment_are_forgotten(bench, write):
    account = bench.service.add_account()
    job_id, kept = bench.submit(), {}
    for name, moment in (("old", NOON - MICROSECOND), ("now", NOON)):
        values = {
            "account_id": account.account_id,
            "idempotency_key": name,
            "job_id": job_id,
            "request": "",
            "created_at": moment,
        }
        write(lambda connection, values=values: repository.remember_idempotency_key(connection, **values))
    write(lambda connection: repository.forget_idempotency_keys(connection, NOON))
    for name in ("old", "now"):
        kept[name] = write(
            lambda connection, name=name: repository.find_by_idempotency_key(connection, account.account_id, name, NOON)
        )
    assert kept["old"] is None
    assert kept["now"].job_id == job_id
