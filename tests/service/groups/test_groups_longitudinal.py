"""A subject over time: the fields of a job, their order, the trajectory and the aggregate."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from patience import HANGS_S, until
from vbdesk.service.groups import computed_states
from vbdesk.service.groups import repository as groups
from vbdesk.service.groups.cohort_snapshots import CohortSnapshots
from vbdesk.service.groups.computed_states import StateKind
from vbdesk.service.kernel.db.tables import group_states

FIELDS = ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z")


def moment(day):
    return f"2026-02-{day:02d}T08:00:00Z"


def stress(job):
    return next(signal for signal in job["result"]["signals"] if signal["name"] == "stress")


def longitudinal(bench, group_id="g", day=1):
    return bench.submit_to(group_id, longitudinal=True, recorded_at=moment(day))


def test_the_first_longitudinal_job_has_nulls_the_second_has_values(bench):
    first, second = longitudinal(bench, day=1), longitudinal(bench, day=2)
    bench.finish(first, 0.3)
    bench.finish(second, 0.6)
    assert [stress(bench.read(first))[field] for field in FIELDS] == [None] * 6
    later = stress(bench.read(second))
    assert (later["score"], later["level"]) == (0.6, "moderate")
    assert later["latest_score"] > later["baseline_score"] > 0.2
    assert later["deviation_from_baseline"] == pytest.approx(later["latest_score"] - later["baseline_score"])
    assert later["anomaly"] is False
    assert later["population_z"] is None


def test_a_longitudinal_sign_job_carries_the_fields_on_its_signal(bench):
    jobs = [bench.submit("/v2/signs/stress/groups/g/analyze/longitudinal", recorded_at=moment(day)) for day in (1, 2)]
    for job in jobs:
        bench.finish(job, 0.4)
    assert bench.read(jobs[0])["result"]["signal"]["baseline_score"] is None
    assert bench.read(jobs[1])["result"]["signal"]["baseline_score"] is not None


def test_raw_jobs_of_the_group_count_into_the_history(bench):
    raw, scored = bench.submit_to("g", recorded_at=moment(1)), longitudinal(bench, day=2)
    bench.finish(raw)
    bench.finish(scored)
    assert "baseline_score" not in stress(bench.read(raw))
    assert stress(bench.read(scored))["baseline_score"] is not None


def test_longitudinal_jobs_finish_in_the_order_of_their_recordings(bench):
    third, first, second = (longitudinal(bench, day=day) for day in (3, 1, 2))
    bench.finish(third, 0.9)
    bench.finish(second, 0.5)
    assert [bench.status(job) for job in (first, second, third)] == ["queued", "running", "running"]
    bench.service.clock.advance(1000)  # waiting does not count against the time-out
    bench.finish(first, 0.1)
    assert [bench.status(job) for job in (first, second, third)] == ["done"] * 3
    assert stress(bench.read(first))["baseline_score"] is None
    assert stress(bench.read(second))["baseline_score"] is not None


def test_the_fields_do_not_depend_on_which_worker_is_faster(make_bench):
    readings = []
    for order in ((0, 1, 2), (2, 1, 0)):
        bench = make_bench()
        jobs = [longitudinal(bench, day=day) for day in (1, 2, 3)]
        for index in order:
            bench.finish(jobs[index], 0.2 + 0.2 * index)
        readings.append([bench.read(job)["result"] for job in jobs])
    assert readings[0] == readings[1]


@pytest.mark.parametrize("end", ["fail", "time_out"])
def test_an_earlier_job_that_does_not_succeed_lets_the_later_ones_go(bench, end):
    first, second = longitudinal(bench, day=1), longitudinal(bench, day=2)
    bench.finish(second)
    getattr(bench, end)(first)
    assert bench.status(second) == "done"
    assert stress(bench.read(second))["baseline_score"] is None


def test_an_earlier_job_that_is_taken_out_lets_the_later_ones_go(bench):
    first, second = bench.submit_to("g", recorded_at=moment(1)), longitudinal(bench, day=2)
    bench.finish(second)
    assert bench.status(second) == "running"
    bench.client.delete(f"/v2/groups/g/jobs/{first}")
    assert bench.status(second) == "done"


def test_a_job_of_a_group_that_was_deleted_ends_without_a_history(bench):
    first, second = longitudinal(bench, day=1), longitudinal(bench, day=2)
    bench.finish(first)
    bench.client.delete("/v2/groups/g")
    bench.finish(second)
    assert [stress(bench.read(second))[field] for field in FIELDS] == [None] * 6


def test_groups_do_not_wait_for_each_other(bench):
    longitudinal(bench, "a", day=1)
    other = longitudinal(bench, "b", day=2)
    bench.finish(other)
    assert bench.status(other) == "done"


def test_a_backfill_changes_the_trajectory_and_no_older_result(bench):
    first, second = longitudinal(bench, day=10), longitudinal(bench, day=20)
    bench.finish(first, 0.3)
    bench.finish(second, 0.4)
    results = [bench.read(job) for job in (first, second)]
    backfill = longitudinal(bench, day=5)
    bench.finish(backfill, 0.9)
    assert stress(bench.read(backfill))["baseline_score"] is None
    assert [bench.read(job) for job in (first, second)] == results
    assert bench.get("/v2/groups/g/longitudinal")["window"]["jobs_used"] == 3


def test_the_trajectory_shows_the_finished_jobs_of_the_window(bench):
    jobs = [longitudinal(bench, day=day) for day in (1, 8, 15)]
    for job, score in zip(jobs[:2], (0.3, 0.5), strict=True):
        bench.finish(job, score)
    bench.finish(bench.submit_to("g", recorded_at="2024-01-01T00:00:00Z"))
    read = bench.get("/v2/groups/g/longitudinal")
    assert (read["status"], read["group_id"]) == ("done", "g")
    assert (read["done_job_count"], read["pending_job_count"]) == (3, 1)
    assert [point["job_id"] for point in read["data_points"]] == jobs[:2]
    assert read["data_points"][1]["signals"][2] == {"name": "stress", "score": 0.5, "level": "none", "flagged": False}
    assert {sign["name"] for sign in read["signs"]} >= {"stress", "fatigue"}


def test_the_trajectory_of_chosen_signs(bench):
    bench.finish(longitudinal(bench))
    read = bench.get("/v2/groups/g/longitudinal", sign=["stress", "fatigue"])
    assert {sign["name"] for sign in read["signs"]} == {"stress", "fatigue"}
    assert {signal["name"] for signal in read["data_points"][0]["signals"]} == {"stress", "fatigue"}
    assert bench.client.get("/v2/groups/g/longitudinal?sign=courage").status_code == 422
    never = bench.get("/v2/groups/g/longitudinal", sign="allergy")
    assert [(sign["name"], sign["label"], sign["n_recordings"]) for sign in never["signs"]] == [
        ("allergy", "Allergy", 0)
    ]
    assert (never["signs"][0]["latest_score"], never["data_points"]) == (None, [])
    assert (never["window"]["jobs_used"], never["done_job_count"]) == (1, 1)


def test_an_empty_group_reads_as_done_with_nothing_in_it(bench):
    bench.client.post("/v2/groups", json={"group_id": "g"})
    trajectory, aggregate = bench.get("/v2/groups/g/longitudinal"), bench.get("/v2/groups/g/aggregate")
    assert (trajectory["status"], trajectory["signs"], trajectory["data_points"]) == ("done", [], [])
    assert (aggregate["status"], aggregate["recordings"]["n"]) == ("done", 0)


def test_every_change_of_the_group_is_in_the_next_read(bench):
    def used():
        trajectory, aggregate = bench.get("/v2/groups/g/longitudinal"), bench.get("/v2/groups/g/aggregate")
        assert trajectory["window"]["jobs_used"] == aggregate["window"]["jobs_used"]
        return trajectory["window"]["jobs_used"]

    member, other = bench.submit_to("g", recorded_at=moment(1)), bench.submit()
    bench.finish(other)
    assert used() == 0
    bench.finish(member)
    assert used() == 1
    bench.client.post("/v2/groups/g/jobs", json={"job_ids": [other]})
    assert used() == 2
    bench.client.delete(f"/v2/groups/g/jobs/{member}")
    assert used() == 1


def test_an_unchanged_group_is_not_computed_again_until_a_minute_has_passed(bench):
    bench.finish(bench.submit_to("g"))
    first = bench.get("/v2/groups/g/longitudinal")
    bench.service.clock.advance(30)
    assert bench.get("/v2/groups/g/longitudinal") == first
    bench.service.clock.advance(31)
    later = bench.get("/v2/groups/g/longitudinal")
    assert later["computed_at"] > first["computed_at"]
    assert bench.get("/v2/groups")["groups"][0]["updated_at"] == later["computed_at"]


def test_a_recompute_that_takes_long_answers_running_then_done(bench, monkeypatch):
    monkeypatch.setattr("vbdesk.service.groups.routes.RECOMPUTE_WAIT_S", 0.1)
    bench.finish(bench.submit_to("g"))
    compute, goes_on = computed_states._COMPUTE[StateKind.TRAJECTORY], threading.Event()

    def compute_slowly(*arguments):
        assert goes_on.wait(HANGS_S)
        return compute(*arguments)

    monkeypatch.setitem(computed_states._COMPUTE, StateKind.TRAJECTORY, compute_slowly)
    running = bench.get("/v2/groups/g/longitudinal")
    goes_on.set()
    assert running == {
        "status": "running",
        "group_id": "g",
        "retry_after_seconds": 2,
        "done_job_count": 1,
        "signs": [],
        "data_points": [],
    }
    read = until(lambda: (answer := bench.get("/v2/groups/g/longitudinal"))["status"] != "running" and answer)
    assert read["window"]["jobs_used"] == 1


STATES = pytest.mark.parametrize(("kind", "time_field"), [("longitudinal", "computed_at"), ("aggregate", "as_of")])


@contextmanager
def written_by_another(bench) -> Iterator[None]:
    """Somebody else writes to the database, so that the service cannot."""
    with bench.service.context.database.writing() as connection:
        groups.lock(connection, connection.execute(sa.text("SELECT group_key FROM groups")).scalars().all())
        yield


def stored_states(bench) -> int:
    with bench.service.context.database.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(group_states)).scalar_one()


def wait_until_stored(bench, count: int) -> None:
    until(lambda: stored_states(bench) == count, f"{count} states")


@STATES
def test_a_state_is_read_while_somebody_else_writes(make_bench, monkeypatch, kind, time_field):
    monkeypatch.setattr("vbdesk.service.groups.computed_states.STORE_TIMEOUT_S", 0.01)
    bench = make_bench()
    bench.finish(bench.submit_to("g"))
    computed = counted_computations(monkeypatch, kind)
    with written_by_another(bench):
        first = bench.get(f"/v2/groups/g/{kind}")
        assert stored_states(bench) == 0
        assert [bench.get(f"/v2/groups/g/{kind}") for _ in range(3)] == [first] * 3
        assert len(computed) == 1, "an answer that cannot be stored yet is not computed again for each read"
        bench.service.clock.advance(60)
        assert bench.get(f"/v2/groups/g/{kind}")[time_field] > first[time_field], "nor is it answered for ever"
    wait_until_stored(bench, 1)
    assert bench.get(f"/v2/groups/g/{kind}")[time_field] > first[time_field]
    assert len(computed) == 2


@STATES
def test_a_state_that_cannot_be_stored_is_answered_all_the_same(make_bench, monkeypatch, caplog, kind, time_field):
    """As on a full disk, or on one that became read-only: the write fails, and so does the next one."""
    bench = make_bench()
    bench.finish(bench.submit_to("g"))

    def fail(connection, *_arguments, **_values):
        connection.execute(sa.text("UPDATE nowhere SET nothing = 1"))

    monkeypatch.setattr(groups, "store_state", fail)
    read = [bench.get(f"/v2/groups/g/{kind}") for _ in range(3)]
    assert all(one["status"] == "done" and one[time_field] for one in read)
    assert stored_states(bench) == 0
    assert "could not be stored" in caplog.text


def test_reads_of_other_groups_do_not_wait_for_states_that_cannot_be_stored(make_bench, monkeypatch):
    monkeypatch.setattr("vbdesk.service.groups.computed_states.STORE_TIMEOUT_S", 0.01)
    monkeypatch.setattr("vbdesk.service.groups.computed_states.MOST_UNSTORED", 5)
    bench = make_bench()
    names = [f"g{number}" for number in range(12)]
    for name in names:
        bench.finish(bench.submit_to(name))
    with written_by_another(bench):
        assert [bench.get(f"/v2/groups/{name}/longitudinal")["done_job_count"] for name in names] == [1] * 12
        assert stored_states(bench) == 0
    wait_until_stored(bench, 5)


def test_a_change_of_the_group_is_seen_before_the_state_from_before_is_stored(make_bench, monkeypatch):
    monkeypatch.setattr("vbdesk.service.groups.computed_states.STORE_TIMEOUT_S", 0.01)
    bench = make_bench()
    bench.finish(bench.submit_to("g"))
    keep, goes_on = computed_states.GroupStates._store_state, threading.Event()

    def keep_slowly(*arguments):
        assert goes_on.wait(HANGS_S)
        keep(*arguments)

    monkeypatch.setattr(computed_states.GroupStates, "_store_state", keep_slowly)
    assert bench.get("/v2/groups/g/longitudinal")["done_job_count"] == 1
    bench.finish(bench.submit_to("g"))
    assert bench.get("/v2/groups/g/longitudinal")["done_job_count"] == 2
    goes_on.set()
    wait_until_stored(bench, 1)
    assert bench.get("/v2/groups/g/longitudinal")["done_job_count"] == 2


def counted_computations(monkeypatch, kind: str) -> list[str]:
    """Grows with every computation of such a state."""
    kind = StateKind.TRAJECTORY if kind == "longitudinal" else StateKind.AGGREGATE
    compute, computed = computed_states._COMPUTE[kind], list[str]()

    def count(*arguments):
        computed.append(kind)
        return compute(*arguments)

    monkeypatch.setitem(computed_states._COMPUTE, kind, count)
    return computed


def test_the_account_is_its_own_population_from_thirty_other_groups_on(bench):
    for level in range(3):
        jobs = [bench.submit_to(f"g{level}", recorded_at=moment(day)) for day in (10, 17, 24)]
        for job in jobs:
            bench.finish(job, 0.2 + 0.05 * level + 0.01 * jobs.index(job))
        for number in range(level + 3, 31, 3):  # the same recordings stand for more subjects
            bench.client.post("/v2/groups", json={"group_id": f"g{number}"})
            bench.client.post(f"/v2/groups/g{number}/jobs", json={"job_ids": jobs})
    snapshots = CohortSnapshots(bench.service.context.database, bench.service.clock, bench.service.context.parameters)
    assert snapshots.take_due() == 1
    assert snapshots.take_due() == 0
    bench.finish(longitudinal(bench, "g0", day=28), 0.9)
    read = bench.get("/v2/groups/g0/longitudinal", sign="stress")["signs"][0]
    assert read["population_z"] > 0
    assert read["population_reference"]["source"] == "account_cohort"
    assert read["population_reference"]["n_groups"] == 30
    bench.client.delete("/v2/groups/g1")
    assert bench.get("/v2/groups/g0/aggregate")["status"] == "done"
    bench.service.clock.advance(61)
    assert bench.get("/v2/groups/g0/longitudinal", sign="stress")["signs"][0]["population_z"] is None


def test_an_account_of_thirty_groups_has_usual_variances_of_its_own(bench):
    for level in range(2):
        jobs = [bench.submit_to(f"g{level}", recorded_at=moment(day)) for day in range(10, 16)]
        for number, job in enumerate(jobs):
            bench.finish(job, 0.3 + 0.1 * level + 0.2 * (number % 2))
        for number in range(level + 2, 30, 2):  # the same recordings stand for more subjects
            bench.client.post("/v2/groups", json={"group_id": f"g{number}"})
            bench.client.post(f"/v2/groups/g{number}/jobs", json={"job_ids": jobs})
    bench.client.post("/v2/groups", json={"group_id": "empty"})
    context = bench.service.context
    snapshots = CohortSnapshots(context.database, bench.service.clock, context.parameters)

    def told():
        bench.service.clock.advance(61)
        return bench.get("/v2/groups/g0/longitudinal")["parameters"]

    assert told() == {"version": "tss-2.0", "source": "shipped", "n_groups": None, "fitted_at": None}
    assert snapshots.take_due() == 1
    own = told()
    assert (own["source"], own["n_groups"]) == ("account_groups", 30)
    assert own["version"].startswith("tss-2.0+")
    bench.service.clock.advance(2 * 86_400)
    assert snapshots.take_due() == 1
    assert told() == own  # published once in 30 days
    bench.service.clock.advance(30 * 86_400)
    assert snapshots.take_due() == 1
    assert told()["fitted_at"] > own["fitted_at"]
    bench.client.delete("/v2/groups/g1")
    assert told()["source"] == "shipped"
