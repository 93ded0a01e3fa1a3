"""Groups: life, members, pages, filters, and whose they are."""

import pytest


def days(number):
    return f"2026-02-{number:02d}T08:00:00Z"


def test_a_group_is_created_empty(bench):
    answer = bench.client.post("/v2/groups", json={"group_id": "subj-1"})
    assert answer.status_code == 201
    assert answer.json() == {"group_id": "subj-1", "job_count": 0, "created_at": "2026-03-01T09:30:00.000000Z"}
    assert bench.get("/v2/groups")["groups"] == [
        {
            "group_id": "subj-1",
            "job_count": 0,
            "done_job_count": 0,
            "earliest_recorded_at": None,
            "latest_recorded_at": None,
            "created_at": "2026-03-01T09:30:00.000000Z",
            "updated_at": "2026-03-01T09:30:00.000000Z",
        }
    ]


def test_a_second_group_of_the_same_id_conflicts(bench):
    bench.submit_to("subj-1")
    answer = bench.client.post("/v2/groups", json={"group_id": "subj-1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize("group_id", ["", "a" * 513, "-a", "a b", "é", "a/b", "a\n"])
def test_a_group_id_that_breaks_the_rules_is_refused(bench, group_id):
    answer = bench.client.post("/v2/groups", json={"group_id": group_id})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("group_id", ["a" * 512, "0", "A.b_c~d:e-f"])
def test_a_group_id_within_the_rules_is_taken(bench, group_id):
    assert bench.client.post("/v2/groups", json={"group_id": group_id}).status_code == 201
    assert bench.get(f"/v2/groups/{group_id}/jobs")["total_jobs"] == 0


@pytest.mark.parametrize("body", [{}, {"group_id": None}, {"group_id": 7}, []])
def test_a_missing_group_id_is_a_validation_error(bench, body):
    answer = bench.client.post("/v2/groups", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_groups_are_listed_newest_first_in_pages(make_bench):
    bench = make_bench(page_size=2)
    for group_id in ("b", "a"):
        bench.client.post("/v2/groups", json={"group_id": group_id})
    bench.service.clock.advance(1)
    bench.client.post("/v2/groups", json={"group_id": "c"})
    first, second, third = (bench.get("/v2/groups", page=page) for page in range(3))
    assert [group["group_id"] for group in first["groups"] + second["groups"]] == ["c", "a", "b"]
    assert (first["page"], first["total_pages"], third["groups"]) == (0, 2, [])


def test_a_group_counts_its_jobs_and_shows_their_span(bench):
    first = bench.submit_to("g", recorded_at=days(3))
    bench.submit_to("g", recorded_at=days(1))
    bench.finish(first)
    [group] = bench.get("/v2/groups")["groups"]
    assert (group["job_count"], group["done_job_count"]) == (2, 1)
    assert group["earliest_recorded_at"] == "2026-02-01T08:00:00.000000Z"
    assert group["latest_recorded_at"] == "2026-02-03T08:00:00.000000Z"


def test_deleting_a_group_keeps_its_jobs_and_frees_its_id(bench):
    job_id = bench.submit_to("g")
    assert bench.client.delete("/v2/groups/g").json() == {"group_id": "g", "deleted": True}
    assert bench.client.get("/v2/groups/g/jobs").status_code == 404
    bench.finish(job_id)
    assert bench.status(job_id) == "done"
    assert bench.client.post("/v2/groups", json={"group_id": "g"}).json()["job_count"] == 0
    assert bench.get("/v2/groups/g/jobs")["jobs"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/v2/groups/{}"),
        ("GET", "/v2/groups/{}/jobs"),
        ("GET", "/v2/groups/{}/jobs?page=-1"),
        ("POST", "/v2/groups/{}/jobs"),
        ("DELETE", "/v2/groups/{}/jobs/some"),
        ("GET", "/v2/groups/{}/longitudinal"),
        ("GET", "/v2/groups/{}/aggregate"),
    ],
)
def test_an_absent_group_is_not_found_whatever_else_is_wrong(bench, method, path):
    bench.submit_to("theirs")
    stranger = bench.service.client(bench.service.add_account())
    for group_id in ("theirs", "-invalid"):
        answer = stranger.request(method, path.format(group_id))
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_a_groups_jobs_come_in_the_order_of_their_recordings(bench):
    late, early = bench.submit_to("g", recorded_at=days(5)), bench.submit_to("g", recorded_at=days(2))
    page = bench.get("/v2/groups/g/jobs")
    assert [job["job_id"] for job in page["jobs"]] == [early, late]
    assert (page["group_id"], page["total_jobs"], page["page"], page["total_pages"]) == ("g", 2, 0, 1)
    assert page["jobs"][0] == {
        "job_id": early,
        "status": "queued",
        "recorded_at": "2026-02-02T08:00:00.000000Z",
        "created_at": "2026-03-01T09:30:00.000000Z",
        "use_case": None,
        "condition": None,
        "model_name": "pulse",
        "sign_name": None,
        "audio_duration_seconds": 15.5,
    }


def test_a_groups_jobs_are_filtered_by_inclusive_bounds_and_status(bench):
    jobs = [bench.submit_to("g", recorded_at=days(day)) for day in (1, 2, 3, 4)]
    bench.finish(jobs[1])
    bench.fail(jobs[2])

    def found(**query):
        page = bench.get("/v2/groups/g/jobs", **query)
        assert page["total_jobs"] == len(page["jobs"])
        return [jobs.index(job["job_id"]) for job in page["jobs"]]

    assert found(**{"from": days(2), "to": days(3)}) == [1, 2]
    assert found(**{"from": "2026-02-03T09:00:00+01:00"}) == [2, 3]
    assert found(to="2026-02-01T08:00:00") == [0]
    assert found(status="done") == [1]
    assert found(status="failed") == [2]
    assert found(status="queued", **{"from": days(2)}) == [3]
    assert found(status="timed-out") == []


def test_filters_that_are_none(bench):
    bench.submit_to("g")
    for name in ("from", "to"):
        answer = bench.client.get("/v2/groups/g/jobs", params={name: "soon"})
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    for status in ("pending", "finished"):
        assert bench.client.get("/v2/groups/g/jobs", params={"status": status}).status_code == 422


def test_a_groups_jobs_come_in_pages(make_bench):
    bench = make_bench(page_size=2)
    jobs = [bench.submit_to("g", recorded_at=days(day)) for day in (1, 2, 3)]
    pages = [bench.get("/v2/groups/g/jobs", page=page) for page in range(3)]
    assert [job["job_id"] for page in pages for job in page["jobs"]] == jobs
    assert {(page["total_jobs"], page["total_pages"]) for page in pages} == {(3, 2)}


def test_each_added_id_lands_in_exactly_one_place(bench):
    member, done, queued = bench.submit_to("g"), bench.submit(), bench.submit()
    bench.finish(done)
    stranger = bench.service.client(bench.service.add_account())
    assert stranger.post("/v2/groups", json={"group_id": "g"}).status_code == 201
    answer = bench.client.post("/v2/groups/g/jobs", json={"job_ids": [done, "unknown", member, queued, done]})
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "accepted",
        "added": [done, queued],
        "skipped": {member: "already_in_group"},
        "not_found": ["unknown"],
        "not_yet_done": [queued],
    }
    theirs = stranger.post("/v2/groups/g/jobs", json={"job_ids": [done]}).json()
    assert (theirs["added"], theirs["not_found"]) == ([], [done])


@pytest.mark.parametrize("job_ids", [[], ["x"] * 101, "x", None])
def test_between_one_and_a_hundred_ids_are_added_at_once(bench, job_ids):
    bench.client.post("/v2/groups", json={"group_id": "g"})
    assert bench.client.post("/v2/groups/g/jobs", json={"job_ids": job_ids}).status_code == 422


def test_a_removed_job_is_kept(bench):
    job_id = bench.submit_to("g")
    answer = bench.client.delete(f"/v2/groups/g/jobs/{job_id}")
    assert answer.json() == {"status": "accepted", "removed": job_id}
    assert bench.client.delete(f"/v2/groups/g/jobs/{job_id}").status_code == 404
    assert bench.get("/v2/groups/g/jobs")["total_jobs"] == 0
    assert bench.status(job_id) == "queued"


def test_membership_edits_move_the_time_of_the_last_change(bench):
    job_id = bench.submit()
    bench.client.post("/v2/groups", json={"group_id": "g"})

    def updated_at():
        return bench.get("/v2/groups")["groups"][0]["updated_at"]

    seen = [updated_at()]
    for method, path, body in (
        ("POST", "/v2/groups/g/jobs", {"job_ids": [job_id]}),
        ("DELETE", f"/v2/groups/g/jobs/{job_id}", None),
    ):
        bench.service.clock.advance(60)
        assert bench.client.request(method, path, json=body).status_code == 200
        seen.append(updated_at())
    assert seen == sorted(set(seen))


def test_group_calls_cost_nothing(bench):
    bench.client.post("/v2/groups", json={"group_id": "g"})
    bench.get("/v2/groups/g/longitudinal")
    bench.get("/v2/groups/g/aggregate")
    bench.client.delete("/v2/groups/g")
    assert bench.credits() == 100_000
