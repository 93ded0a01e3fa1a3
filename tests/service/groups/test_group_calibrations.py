"""Which calibration made the readings of a trajectory, and readings made again after it changed."""

import json

import pytest
import sqlalchemy as sa
from worker_tasks import (
    NEWER_CALIBRATION,
    analyse_anew,
    analyse_at_once,
    analyse_badly,
    nothing_to_prepare,
    pulse_made_by,
)

from vbdesk.service.engine.recomputed_readings import ReadingRecomputer, RecomputedCount
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.storage.quarantine import delete_everywhere

OLD, NEW = "1.0.0", NEWER_CALIBRATION


def recorded(bench, day, version, group_id="g"):
    job_id = bench.submit_to(group_id, recorded_at=f"2026-02-{day:02d}T08:00:00Z")
    assert bench.start(job_id)
    bench.conclude(job_id, pulse_made_by(version))
    return job_id


def stress_readings(bench, group_id="g"):
    """Score and calibration of every reading of stress, in time order."""
    points = bench.get(f"/v2/groups/{group_id}/longitudinal")["data_points"]
    found = [next(signal for signal in point["signals"] if signal["name"] == "stress") for point in points]
    return [(signal["score"], signal.get("sign_version")) for signal in found]


def recompute(bench, analysis=analyse_anew, **chosen):
    context, slots = bench.service.context, SlotPool(1, nothing_to_prepare)
    try:
        recomputer = ReadingRecomputer(context.database, context.storage, context.settings, slots, analysis)
        return recomputer.recompute(NEW, **({"account_id": bench.account.account_id} | chosen))
    finally:
        slots.close()


def without_versions(bench):
    """Make the stored readings those of a release that did not note the calibration."""
    with bench.service.context.database.writing() as connection:
        mine = jobs.c.account_id == bench.account.account_id
        for row in connection.execute(sa.select(jobs.c.job_id, jobs.c.reading).where(mine)).all():
            older = json.loads(row.reading)
            del older["versions"]
            change = sa.update(jobs).where(jobs.c.job_id == row.job_id)
            connection.execute(change.values(reading=json.dumps(older)))


def test_every_reading_of_a_trajectory_names_its_calibration(bench):
    recorded(bench, 1, OLD)
    recorded(bench, 8, NEW)
    assert stress_readings(bench) == [(0.4, OLD), (0.4, NEW)]


def test_a_result_without_a_calibration_names_none(bench):
    bench.finish(bench.submit_to("g"), 0.4)
    assert stress_readings(bench) == [(0.4, None)]


def test_readings_that_an_older_release_stored_name_the_calibration_of_their_result(bench):
    recorded(bench, 1, OLD)
    recorded(bench, 8, NEW)
    without_versions(bench)
    assert stress_readings(bench) == [(0.4, OLD), (0.4, NEW)]


def test_kept_recordings_are_read_again_for_the_trajectory_and_results_stay(bench):
    first, second = recorded(bench, 1, OLD), recorded(bench, 8, NEW)
    results, credits = [bench.read(job) for job in (first, second)], bench.credits()
    assert stress_readings(bench) == [(0.4, OLD), (0.4, NEW)]
    assert recompute(bench) == RecomputedCount(recomputed=1, current=1)
    assert stress_readings(bench) == [(0.6, NEW), (0.4, NEW)], "the next read shows it, without waiting for a minute"
    assert [bench.read(job) for job in (first, second)] == results
    assert bench.credits() == credits
    assert recompute(bench) == RecomputedCount(current=2)


def test_a_reading_whose_recording_is_gone_stays_and_keeps_its_calibration(bench):
    job_id = recorded(bench, 1, OLD)
    with bench.service.context.database.writing() as connection:
        connection.execute(sa.update(jobs).where(jobs.c.job_id == job_id).values(audio_key=None))
    assert recompute(bench) == RecomputedCount(without_audio=1)
    assert stress_readings(bench) == [(0.4, OLD)]
    assert bench.status(job_id) == "done"


def test_a_recording_that_the_store_has_lost_counts_as_gone(bench):
    job_id = recorded(bench, 1, OLD)
    with bench.service.context.database.reading() as connection:
        key = connection.execute(sa.select(jobs.c.audio_key).where(jobs.c.job_id == job_id)).scalar_one()
    delete_everywhere(bench.service.context.storage, key)
    assert recompute(bench) == RecomputedCount(without_audio=1)


def test_an_analysis_that_fails_leaves_the_reading(bench):
    recorded(bench, 1, OLD)
    assert recompute(bench, analyse_badly) == RecomputedCount(failed=1)
    assert stress_readings(bench) == [(0.4, OLD)]


def test_a_reading_that_was_widened_for_its_language_is_current(bench):
    recorded(bench, 1, f"{NEW}+widened")
    assert recompute(bench) == RecomputedCount(current=1)


def test_only_the_chosen_groups_are_read_again(bench):
    recorded(bench, 1, OLD, "g")
    recorded(bench, 1, OLD, "other")
    assert recompute(bench, group_id="other") == RecomputedCount(recomputed=1)
    assert recompute(bench, account_id="nobody") == RecomputedCount()
    assert (stress_readings(bench, "g"), stress_readings(bench, "other")) == ([(0.4, OLD)], [(0.6, NEW)])


def test_a_job_that_is_erased_meanwhile_does_not_come_back(bench, monkeypatch):
    job_id = recorded(bench, 1, OLD)
    run = ReadingRecomputer.recompute_one

    def erase_first(self, row, *more):
        with bench.service.context.database.writing() as connection:
            connection.execute(sa.delete(jobs).where(jobs.c.job_id == row.job_id))
        return run(self, row, *more)

    monkeypatch.setattr(ReadingRecomputer, "recompute_one", erase_first)
    recompute(bench)
    assert bench.client.get(f"/v2/jobs/{job_id}").status_code == 404
    assert stress_readings(bench) == []


@pytest.mark.parametrize("kind", ["model", "sign"])
def test_jobs_without_a_group_are_left_alone(bench, kind):
    job_id = bench.submit("/v2/models/pulse/analyze" if kind == "model" else "/v2/signs/stress/analyze")
    bench.finish(job_id, 0.4)
    assert recompute(bench, analyse_at_once) == RecomputedCount()
