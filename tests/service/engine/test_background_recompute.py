"""Readings of an earlier calibration are made again without a person, and nothing else suffers from it."""

import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa
from worker_tasks import (
    NEWER_CALIBRATION,
    analyse_and_die,
    analyse_anew,
    analyse_badly,
    analyse_nonsense,
    die_preparing,
    nothing_to_prepare,
    pulse_made_by,
)

from patience import until
from vbdesk.service.engine import outdated_readings
from vbdesk.service.engine.background_recompute import PAUSE_S, SEARCH_INTERVAL_S, TASK, BackgroundRecompute
from vbdesk.service.engine.job_runner import NoChildStarts
from vbdesk.service.engine.outdated_readings import MOST_TRIES
from vbdesk.service.engine.shared_clock import ProcessTime
from vbdesk.service.engine.slot import SlotClosed
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.health.reading_checks import check_readings
from vbdesk.service.kernel.db.jobs import jobs, leases, recomputations
from vbdesk.service.kernel.db.tables import accounts
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.storage.quarantine import delete_everywhere

OLD, NEW = "1.0.0", NEWER_CALIBRATION


@pytest.fixture
def bench(bench):
    """The task looks at every account: recordings of other tests are no longer kept."""
    for change in (sa.update(jobs).values(audio_key=None, status="done"), sa.delete(leases), sa.delete(recomputations)):
        write(bench, change)
    return bench


@pytest.fixture
def made(bench):
    """`made(analyse_anew)`: a task with a pool of one slot, closed after the test."""
    pools = []

    def make(analysis=analyse_anew, prepare=nothing_to_prepare, version=NEW, **more):
        pools.append(SlotPool(1, prepare))
        context = bench.service.context
        return BackgroundRecompute(context, pools[-1], analysis, ProcessTime(context.clock), version=version, **more)

    yield make
    for pool in pools:
        pool.close()


def recorded(bench, day, version=OLD, group_id="g"):
    job_id = bench.submit_to(group_id, recorded_at=f"2026-02-{day:02d}T08:00:00Z")
    assert bench.start(job_id)
    bench.conclude(job_id, pulse_made_by(version))
    return job_id


def stress(bench, group_id="g"):
    points = bench.get(f"/v2/groups/{group_id}/longitudinal")["data_points"]
    found = [next(signal for signal in point["signals"] if signal["name"] == "stress") for point in points]
    return [(signal["score"], signal.get("sign_version")) for signal in found]


def attempts(bench):
    with bench.service.context.database.reading() as connection:
        rows = connection.execute(sa.select(recomputations)).all()
    return {row.job_id: (row.tries, row.outcome) for row in rows}


def write(bench, statement):
    with bench.service.context.database.writing() as connection:
        connection.execute(statement)


def left(bench):
    found = outdated_readings.search(bench.service.context.database, NEW)
    return len(found.due), found.given_up


def metric(bench, name, **labels):
    return bench.service.context.metrics.registry.get_sample_value(name, labels)


def test_readings_are_made_again_and_results_credits_and_webhooks_stay(bench, made):
    first, second = recorded(bench, 1), recorded(bench, 8, NEW)
    before = [bench.read(first), bench.read(second), bench.credits(), bench.deliveries()]
    counted = metric(bench, "vbdesk_readings_recomputed_total", outcome="recomputed")
    assert left(bench) == (1, 0)
    assert made().round() == SEARCH_INTERVAL_S, "the task stops by itself"
    assert stress(bench) == [(0.6, NEW), (0.4, NEW)]
    assert [bench.read(first), bench.read(second), bench.credits(), bench.deliveries()] == before
    assert attempts(bench) == {first: (1, "done")}
    assert left(bench) == (0, 0)
    assert metric(bench, "vbdesk_readings_recomputed_total", outcome="recomputed") == counted + 1
    assert metric(bench, "vbdesk_outdated_readings", state="due") == 0


def test_nothing_happens_while_a_job_waits(bench, made):
    recorded(bench, 1)
    waiting = bench.submit()
    task = made()
    assert task.round() == PAUSE_S
    assert left(bench) == (1, 0)
    bench.finish(waiting)
    task.round()
    assert left(bench) == (0, 0)


def test_nothing_happens_while_every_slot_is_taken(bench, made):
    recorded(bench, 1)
    task = made()
    with task._slots.borrow():
        assert task.round() == PAUSE_S
    assert left(bench) == (1, 0)


def test_a_round_is_short_and_a_restart_goes_on_where_it_was(bench, made, monkeypatch):
    monkeypatch.setattr("vbdesk.service.engine.background_recompute.AT_ONCE", 2)
    monkeypatch.setattr("vbdesk.service.engine.outdated_readings._PAGE", 2)
    for day in range(1, 6):
        recorded(bench, day)
    assert left(bench) == (5, 0)
    first = made()
    assert first.round() == PAUSE_S
    assert left(bench) == (3, 0)
    first.leave()  # releases the lease
    second = made()
    assert [second.round(), second.round()] == [PAUSE_S, SEARCH_INTERVAL_S]
    assert left(bench) == (0, 0)
    assert {tries for tries, _ in attempts(bench).values()} == {1}, "none was analysed twice"


@pytest.mark.parametrize("analysis", [analyse_badly, analyse_and_die, analyse_nonsense])
def test_a_recording_that_always_fails_is_tried_three_times_and_holds_up_no_other(bench, made, analysis):
    bad = recorded(bench, 1)
    for search in range(MOST_TRIES + 2):
        task = made(analysis)
        assert task.round() == SEARCH_INTERVAL_S, search
        task.leave()
    assert attempts(bench) == {bad: (MOST_TRIES, "failed")}
    assert left(bench) == (0, 1)
    assert stress(bench) == [(0.4, OLD)], "trajectories mark it"
    good = recorded(bench, 8)
    made().round()
    assert attempts(bench)[good] == (1, "done")


def test_a_process_that_dies_with_a_recording_has_used_an_attempt(bench, made):
    job_id = recorded(bench, 1)
    context = bench.service.context
    with context.database.writing() as connection:  # the process died after this
        now = context.clock.now()
        assert outdated_readings.claim(connection, job_id, NEW, now, now - timedelta(minutes=5))
    task = made()
    task.round()
    assert left(bench) == (1, 0), "perhaps it still runs"
    context.clock.advance(3600)
    task.round()
    assert attempts(bench) == {job_id: (2, "done")}


def test_another_calibration_has_attempts_of_its_own(bench, made):
    job_id = recorded(bench, 1)
    for _ in range(MOST_TRIES):
        task = made(analyse_badly, version="1.5.0")
        task.round()
        task.leave()
    made().round()
    assert stress(bench) == [(0.6, NEW)]
    assert attempts(bench)[job_id]


def test_two_processes_share_the_work(bench, made):
    recorded(bench, 1)
    first, second = made(), made()
    with bench.service.context.database.writing() as connection:
        connection.execute(sa.insert(leases).values(task=TASK, holder="other", expires_at=_later(bench)))
    assert first.round() == PAUSE_S
    assert left(bench) == (1, 0)
    write(bench, sa.delete(leases))
    assert second.round() == SEARCH_INTERVAL_S
    assert first.round() == PAUSE_S, "the second has the lease now"
    assert {tries for tries, _ in attempts(bench).values()} == {1}


def _later(bench):
    return bench.service.context.clock.now() + timedelta(minutes=1)


def test_only_one_of_two_claims_counts(bench):
    job_id, context = recorded(bench, 1), bench.service.context
    now = context.clock.now()
    with context.database.writing() as connection:
        claims = [outdated_readings.claim(connection, job_id, NEW, now, now - timedelta(minutes=5)) for _ in range(2)]
    assert claims == [True, False]


def test_a_stop_takes_no_attempt_away(bench, made):
    job_id = recorded(bench, 1)
    task = made()
    run = task._slots._slots[0].run

    def closed_meanwhile(*_args, **_kwargs):
        raise SlotClosed("The service is stopping.")

    task._slots._slots[0].run = closed_meanwhile
    with pytest.raises(SlotClosed):
        task.round()
    task._slots._slots[0].run = run
    assert attempts(bench) == {job_id: (0, "failed")}
    assert left(bench) == (1, 0)


def test_a_machine_without_children_blames_no_recording(bench, made):
    recorded(bench, 1)
    with pytest.raises(NoChildStarts):
        made(prepare=die_preparing).round()
    assert attempts(bench) == {}


@pytest.mark.parametrize("state", ["suspended", "deleting", "deleted"])
def test_recordings_of_accounts_that_are_not_active_are_left_alone(bench, made, state):
    recorded(bench, 1)
    own = accounts.c.account_id == bench.account.account_id
    write(bench, sa.update(accounts).where(own).values(state=state))
    made().round()
    assert attempts(bench) == {}
    write(bench, sa.update(accounts).where(own).values(state="active"))
    assert stress(bench) == [(0.4, OLD)]


def test_an_account_that_is_suspended_meanwhile_is_left_alone(bench, made, monkeypatch):
    monkeypatch.setattr("vbdesk.service.engine.background_recompute.AT_ONCE", 1)
    recorded(bench, 1), recorded(bench, 2)
    task = made()
    task.round()
    own = accounts.c.account_id == bench.account.account_id
    write(bench, sa.update(accounts).where(own).values(state="suspended"))
    task.round()
    assert len(attempts(bench)) == 1


def test_erased_and_removed_recordings_do_not_come_back(bench, made, monkeypatch):
    monkeypatch.setattr("vbdesk.service.engine.background_recompute.AT_ONCE", 1)
    erased, alone, gone, last = (recorded(bench, day) for day in range(1, 5))
    task = made()
    task._pass = task._search(NEW)
    write(bench, sa.delete(jobs).where(jobs.c.job_id == erased))
    assert bench.client.delete(f"/v2/groups/g/jobs/{alone}").status_code < 300
    with bench.service.context.database.reading() as connection:
        key = connection.execute(sa.select(jobs.c.audio_key).where(jobs.c.job_id == gone)).scalar_one()
    delete_everywhere(bench.service.context.storage, key)
    for _ in range(4):
        task.round()
    assert attempts(bench) == {last: (1, "done")}
    assert stress(bench) == [(0.4, OLD), (0.6, NEW)]
    assert bench.client.get(f"/v2/jobs/{erased}").status_code == 404


def test_erasing_a_job_erases_its_attempts(bench, made):
    job_id = recorded(bench, 1)
    made().round()
    write(bench, sa.delete(jobs).where(jobs.c.job_id == job_id))
    assert attempts(bench) == {}


def test_readings_of_a_newer_release_are_not_made_older(bench, made):
    recorded(bench, 1, "3.0.0")
    recorded(bench, 2, f"{NEW}+widened")
    assert left(bench) == (0, 0)
    made().round()
    assert attempts(bench) == {}


def test_readings_with_other_norms_of_the_same_release_are_made_again(bench):
    recorded(bench, 1, f"{NEW}+site.1")
    assert left(bench) == (1, 0)


def test_jobs_without_a_group_are_left_alone(bench):
    job_id = bench.submit()
    assert bench.start(job_id)
    bench.conclude(job_id, pulse_made_by(OLD))
    assert left(bench) == (0, 0)


def test_a_draining_process_and_a_full_disk_begin_nothing(bench, made, monkeypatch):
    recorded(bench, 1)
    task = made()
    bench.service.context.draining.set()
    assert task.round() == PAUSE_S
    bench.service.context.draining.clear()
    task.pause()
    assert task.round() == PAUSE_S
    assert attempts(bench) == {}


def test_the_thread_works_without_a_person_and_ends_with_the_process(bench, made):
    recorded(bench, 1)
    task = made(first_after_s=0.0)
    worker = PeriodicWorker([task.job()])
    worker.start()
    until(lambda: left(bench) == (0, 0))
    assert stress(bench) == [(0.6, NEW)]
    worker.stop()
    assert "vbdesk-recompute" not in {thread.name for thread in threading.enumerate()}
    with bench.service.context.database.reading() as connection:
        assert connection.execute(sa.select(leases).where(leases.c.task == TASK)).all() == []


def test_the_doctor_tells_what_is_due_and_what_was_given_up(bench, made):
    database, settings = bench.service.context.database, bench.service.context.settings

    def told():
        return [finding.sentence for finding in check_readings(database, settings)]

    assert told() == ["Every reading whose recording is kept is of the current calibration."]
    recorded(bench, 1)
    assert told() == [
        f"Readings of an earlier calibration than {NEW} whose recording is kept: 1. "
        "The service makes them again while no job waits."
    ]
    off = settings.model_copy(update={"recompute_after_upgrade": False})
    assert "turn on recompute_after_upgrade" in check_readings(database, off)[0].sentence
    for _ in range(MOST_TRIES):
        task = made(analyse_badly)
        task.round()
        task.leave()
    assert told()[0].startswith("Readings that could not be made again in 3 attempts: 1.")
