"""Groups: creation, listing, deletion, ids and counts."""

import uuid

import httpx
import pytest
from examination import (
    Examined,
    accepted,
    assert_error,
    assert_validation_error,
    instant,
    new_group,
    post_form,
    read,
    submit,
)

LIST_FIELDS = {
    "group_id",
    "job_count",
    "done_job_count",
    "earliest_recorded_at",
    "latest_recorded_at",
    "created_at",
    "updated_at",
}


def create(api: httpx.Client, group: str) -> httpx.Response:
    return api.post("/v2/groups", json={"group_id": group})


def listed(api: httpx.Client, group: str) -> dict:
    page, item = 0, None
    while item is None:
        answer = read(api, "/v2/groups", page=page)
        item = next((item for item in answer["groups"] if item["group_id"] == group), None)
        page += 1
        assert item or page < answer["total_pages"], f"{group} is not listed"
    return item


def test_create_answers_201_with_an_empty_group(api: httpx.Client) -> None:
    group = new_group()
    answer = create(api, group)
    assert answer.status_code == 201
    body = answer.json()
    assert set(body) == {"group_id", "job_count", "created_at"}
    assert (body["group_id"], body["job_count"]) == (group, 0)
    instant(body["created_at"])
    item = listed(api, group)
    assert set(item) == LIST_FIELDS
    assert (item["job_count"], item["done_job_count"]) == (0, 0)
    assert (item["earliest_recorded_at"], item["latest_recorded_at"]) == (None, None)
    assert instant(item["created_at"]) == instant(body["created_at"])
    instant(item["updated_at"])


def test_create_of_an_existing_group_is_a_conflict(api: httpx.Client) -> None:
    group = new_group()
    create(api, group)
    assert_error(create(api, group), 409, "CONFLICT")


def test_create_of_a_group_made_by_a_submit_is_a_conflict(still: httpx.Client) -> None:
    group = new_group()
    submit(still, f"/v2/signs/stress/groups/{group}/analyze")
    assert_error(create(still, group), 409, "CONFLICT")


@pytest.mark.parametrize("shape", ["{}", "0{}", "Z._~:-{}", "{:~<512}"])
def test_every_allowed_character_and_length_makes_a_group(api: httpx.Client, shape: str) -> None:
    group = shape.format(uuid.uuid4().hex)
    assert create(api, group).status_code == 201
    assert read(api, f"/v2/groups/{group}/jobs")["group_id"] == group


def test_a_single_letter_makes_a_group(waiting: Examined) -> None:
    stranger = waiting.call(waiting.account("other").headers)
    stranger.delete("/v2/groups/g")  # may exist from an earlier test run
    assert create(stranger, "g").json()["group_id"] == "g"


@pytest.mark.parametrize(
    "group",
    [
        "",
        ".a",
        "_a",
        "~a",
        ":a",
        "-a",
        "a b",
        "a/b",
        "a\n",
        "\na",
        "é",
        "aé",
        "a%41",
        "a,b",
        "a@b",
        "a\x00",
        "٣",
        "x" * 513,
    ],
    ids=ascii,
)
def test_create_with_an_empty_too_long_or_unsupported_id_is_refused(api: httpx.Client, group: str) -> None:
    assert_error(create(api, group), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("body", [{}, {"group_id": None}, {"group_id": 7}, {"group_id": ["a"]}, [], "a"], ids=str)
def test_create_without_a_proper_group_id_field_is_a_validation_error(api: httpx.Client, body: object) -> None:
    assert_validation_error(api.post("/v2/groups", json=body))


def test_unknown_fields_of_the_body_are_ignored(api: httpx.Client) -> None:
    assert api.post("/v2/groups", json={"group_id": new_group(), "colour": "red"}).status_code == 201


def test_delete_removes_the_group_and_keeps_its_jobs(still: httpx.Client) -> None:
    group = new_group()
    job_id = submit(still, f"/v2/signs/stress/groups/{group}/analyze")["job_id"]
    assert accepted(still.delete(f"/v2/groups/{group}")) == {"group_id": group, "deleted": True}
    assert read(still, f"/v2/jobs/{job_id}")["job_id"] == job_id
    assert_error(still.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")
    assert_error(still.delete(f"/v2/groups/{group}"), 404, "NOT_FOUND")
    assert create(still, group).status_code == 201
    assert read(still, f"/v2/groups/{group}/jobs")["total_jobs"] == 0


@pytest.mark.parametrize("group", ["absent", ".a", "a%20b", "%C3%A9", "x" * 513], ids=ascii)
def test_absent_or_impossible_group_is_not_found_on_every_route(api: httpx.Client, group: str) -> None:
    job_id = str(uuid.uuid4())
    for method, path, body in [
        ("DELETE", "", None),
        ("GET", "/jobs", None),
        ("POST", "/jobs", {"job_ids": [job_id]}),
        ("DELETE", f"/jobs/{job_id}", None),
        ("GET", "/longitudinal", None),
        ("GET", "/aggregate", None),
    ]:
        assert_error(api.request(method, f"/v2/groups/{group}{path}", json=body), 404, "NOT_FOUND")


def test_list_counts_jobs_in_any_status_and_their_span_of_time(still: httpx.Client) -> None:
    group = new_group()
    for recorded_at in ("2026-02-03T08:00:00Z", "2026-01-03T08:00:00Z", "2026-03-03T08:00:00Z"):
        submit(still, f"/v2/signs/stress/groups/{group}/analyze", recorded_at=recorded_at)
    item = listed(still, group)
    assert item["job_count"] == 3
    assert instant(item["earliest_recorded_at"]) == instant("2026-01-03T08:00:00Z")
    assert instant(item["latest_recorded_at"]) == instant("2026-03-03T08:00:00Z")


def test_updated_at_moves_on_every_membership_edit(still: httpx.Client) -> None:
    group = new_group()
    create(still, group)
    seen = [instant(listed(still, group)["updated_at"])]
    job_id = submit(still, f"/v2/signs/stress/groups/{group}/analyze")["job_id"]
    seen.append(instant(listed(still, group)["updated_at"]))
    loose = submit(still, "/v2/signs/stress/analyze")["job_id"]
    seen.append(instant(listed(still, group)["updated_at"]))
    still.post(f"/v2/groups/{group}/jobs", json={"job_ids": [loose]})
    seen.append(instant(listed(still, group)["updated_at"]))
    still.delete(f"/v2/groups/{group}/jobs/{job_id}")
    seen.append(instant(listed(still, group)["updated_at"]))
    assert seen[0] < seen[1] <= seen[2] < seen[3] < seen[4]


def test_queued_jobs_count_as_jobs_but_not_as_done_ones(queued: httpx.Client) -> None:
    group = new_group()
    submit(queued, f"/v2/signs/stress/groups/{group}/analyze")
    before = listed(queued, group)
    assert (before["job_count"], before["done_job_count"]) == (1, 0)
    submit(queued, "/v2/signs/stress/analyze")
    assert listed(queued, group) == before  # a job outside all groups changes none


def test_a_refused_group_submit_makes_no_group(still: httpx.Client) -> None:
    group = new_group()
    assert_error(post_form(still, f"/v2/signs/stress/groups/{group}/analyze", b"noise"), 400, "UNSUPPORTED_FORMAT")
    assert_error(still.delete(f"/v2/groups/{group}"), 404, "NOT_FOUND")
