"""What a group's reads are made of: every kind of job, and the account's other groups."""

import json

import pytest
import sqlalchemy as sa
from sample_results import result_json

from vbdesk.contract.levels import Level
from vbdesk.contract.results import ModelResult, SpeakerResult
from vbdesk.longitudinal import cohort_reference, snapshot
from vbdesk.longitudinal.account_fit import fit_account
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.groups.cohort_snapshots import CohortSnapshots
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs.history_record import record_of
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.tables import cohort_snapshots, groups

SUBJECTS = 32
DAYS = (3, 10, 17)


def moment(day):
    return f"2026-02-{day:02d}T08:00:00Z"


@pytest.fixture
def cohort_bench(make_bench):
    """An account with 32 subjects of three weekly recordings, on eight levels."""
    bench = make_bench()
    for level in range(8):
        jobs = [bench.submit("/v2/signs/stress/groups/all/analyze", recorded_at=moment(day)) for day in DAYS]
        for job in jobs:
            bench.finish(job, 0.15 + 0.08 * level)
        for number in range(level, SUBJECTS, 8):  # the same recordings stand for more subjects
            bench.client.post("/v2/groups", json={"group_id": f"s{number}"}).raise_for_status()
            bench.client.post(f"/v2/groups/s{number}/jobs", json={"job_ids": jobs}).raise_for_status()
    bench.client.delete("/v2/groups/all").raise_for_status()
    return bench


def snapshots(bench):
    return CohortSnapshots(bench.service.context.database, bench.service.clock, bench.service.context.parameters)


def stress(bench, group_id):
    bench.service.clock.advance(61)  # what is cached has gone
    (sign,) = bench.get(f"/v2/groups/{group_id}/longitudinal", sign="stress")["signs"]
    return sign


def stored_levels(bench):
    with bench.service.context.database.reading() as connection:
        (row,) = connection.execute(cohort_snapshots.select()).all()
    return [signs["stress"] for signs in json.loads(row.body).values()], row.taken_at


def test_a_subject_stands_where_the_others_put_it(cohort_bench):
    assert stress(cohort_bench, "s0")["population_z"] is None  # no snapshot yet
    assert snapshots(cohort_bench).take_due() == 1
    levels, taken_at = stored_levels(cohort_bench)
    assert len(levels) == SUBJECTS
    for number, own in ((0, min(levels)), (SUBJECTS - 1, max(levels))):
        others = sorted(levels)
        others.remove(own)
        told = snapshot(cohort_reference(others), taken_at)
        sign = stress(cohort_bench, f"s{number}")
        assert sign["population_z"] == pytest.approx((own - told.location) / told.scale, abs=1e-3)
        assert (sign["population_reference"]["n_groups"], sign["population_reference"]["source"]) == (
            30,
            "account_cohort",
        )
    positions = [stress(cohort_bench, f"s{number}")["population_z"] for number in (0, 1, 3, 6, 7)]
    assert positions == sorted(positions)
    assert positions[0] < -1 < 1 < positions[-1]


def test_a_longitudinal_job_carries_its_position(cohort_bench):
    snapshots(cohort_bench).take_due()
    job = cohort_bench.submit("/v2/signs/stress/groups/s3/analyze/longitudinal", recorded_at=moment(24))
    cohort_bench.finish(job, 0.9)
    assert cohort_bench.read(job)["result"]["signal"]["population_z"] > 0


def test_a_group_that_goes_changes_nothing_until_the_next_snapshot_while_thirty_are_left(cohort_bench):
    snapshots(cohort_bench).take_due()
    before = stress(cohort_bench, "s0")["population_z"]
    cohort_bench.client.delete(f"/v2/groups/s{SUBJECTS - 1}").raise_for_status()
    assert stress(cohort_bench, "s0")["population_z"] == before  # 30 others are left
    cohort_bench.client.delete("/v2/groups/s20").raise_for_status()
    assert stress(cohort_bench, "s0")["population_z"] is None  # 29 are


def test_a_snapshot_is_taken_once_a_day(cohort_bench):
    assert [snapshots(cohort_bench).take_due() for _ in range(2)] == [1, 0]
    cohort_bench.service.clock.advance(23 * 3600)
    assert snapshots(cohort_bench).take_due() == 0
    cohort_bench.service.clock.advance(3600)
    assert snapshots(cohort_bench).take_due() == 1


def test_what_is_erased_while_a_snapshot_is_taken_is_not_in_it(cohort_bench, monkeypatch):
    context, account_id = cohort_bench.service.context, cohort_bench.account.account_id
    eraser = Eraser(context.database, context.storage, GroupHistories.of(context), context.clock)
    own = cohort_bench.submit_to("s9", recorded_at=moment(18))
    cohort_bench.finish(own, 0.9)
    with context.database.reading() as connection:
        keys = {row.group_id: row.group_key for row in connection.execute(groups.select())}

    def fit_later(*args):
        """All histories are read, and nothing is stored yet."""
        eraser.erase_group(account_id, "s4")  # its recordings are also in s12, s20 and s28
        eraser.erase_job(account_id, own)
        return fit_account(*args)

    monkeypatch.setattr("vbdesk.service.groups.cohort_snapshots.fit_account", fit_later)
    assert snapshots(cohort_bench).take_due() == 1
    with context.database.reading() as connection:
        stored = json.loads(connection.execute(sa.select(cohort_snapshots.c.body)).scalar_one())
    gone = {keys[name] for name in ("s4", "s12", "s20", "s28", "s9")}
    assert stored.keys() == {keys[f"s{number}"] for number in range(SUBJECTS)} - gone


def test_accounts_are_never_pooled(cohort_bench):
    snapshots(cohort_bench).take_due()
    other = cohort_bench.service.client(cohort_bench.service.add_account())
    other.post("/v2/groups", json={"group_id": "s0"}).raise_for_status()
    read = other.get("/v2/groups/s0/longitudinal", params={"sign": "stress"}).json()
    assert read["signs"][0]["population_z"] is None


def test_failed_and_timed_out_jobs_are_counted_and_not_read(bench):
    jobs = [bench.submit_to("g", recorded_at=moment(day)) for day in range(1, 7)]
    bench.finish(jobs[0], 0.3)
    bench.finish(jobs[1], 0.4)
    bench.fail(jobs[2])
    bench.time_out(jobs[3])
    bench.start(jobs[4])
    trajectory, aggregate = bench.get("/v2/groups/g/longitudinal"), bench.get("/v2/groups/g/aggregate")
    assert aggregate["job_counts"] == {"total": 6, "queued": 1, "running": 1, "done": 2, "failed": 1, "timed_out": 1}
    assert [point["job_id"] for point in trajectory["data_points"]] == jobs[:2]
    assert (trajectory["done_job_count"], trajectory["pending_job_count"]) == (2, 2)
    assert aggregate["recordings"]["n"] == 2


def test_jobs_of_different_models_and_signs_make_one_history(bench):
    targets = ("models/pulse", "models/breath", "signs/stress", "signs/allergy", "models/pulse")
    for day, target in enumerate(targets, 1):
        bench.finish(bench.submit(f"/v2/{target}/groups/g/analyze", recorded_at=moment(day)), 0.3)
    signs = {sign["name"]: sign["n_recordings"] for sign in bench.get("/v2/groups/g/longitudinal")["signs"]}
    assert (signs["stress"], signs["fatigue"], signs["allergy"], signs["airway-obstruction-pattern"]) == (3, 2, 2, 1)
    cohort = {sign["name"]: sign["n"] for sign in bench.get("/v2/groups/g/aggregate")["signs"]}
    assert cohort == signs


def test_a_diarized_recording_counts_with_the_speaker_who_spoke_most(bench):
    job = bench.submit_to("g", longitudinal=True, diarize="true", recorded_at=moment(1))
    whole = ModelResult.model_validate_json(result_json("model", "pulse", 0.4))
    other = ModelResult.model_validate_json(result_json("model", "pulse", 0.9))
    speakers = [
        SpeakerResult(speaker=f"speaker_{k}", speech_seconds=20.0 - k, segments=[(0.0, 9.0)], signals=result.signals)
        for k, result in enumerate((whole, other), 1)
    ]
    with bench.service.context.database.writing() as connection:
        lifecycle = JobLifecycle.of(bench.service.context)
        assert lifecycle.start(connection, job, "bench", 120) is not None
        result = whole.model_copy(update={"speakers": speakers})
        lifecycle.analysed(connection, job, result.model_dump_json())
    (point,) = bench.get("/v2/groups/g/longitudinal")["data_points"]
    assert {signal["score"] for signal in point["signals"]} == {0.4}
    assert len(point["signals"]) == 6


def test_what_was_not_measurable_is_left_out_and_a_scores_interval_is_kept():
    result = ModelResult.model_validate_json(result_json("model", "pulse", 0.4))
    first, *rest = result.signals
    silent = first.model_copy(update={"level": Level.INCONCLUSIVE, "score_interval": None, "score": 0.2})
    signs = json.loads(record_of(result.model_copy(update={"signals": [silent, *rest]})))["signs"]
    assert signs[first.name] == [None, "inconclusive", first.flagged, None]
    assert signs[rest[0].name] == [0.4, "none", False, pytest.approx([0.3, 0.5])]
