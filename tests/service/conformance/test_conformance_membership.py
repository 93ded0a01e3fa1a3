"""Group membership: adding, removing, listing, filtering."""

import uuid

import httpx
import pytest
from examination import UNFAILED, accepted, assert_error, assert_validation_error, instant, new_group, read, submit

ITEM_FIELDS = {
    "job_id",
    "status",
    "recorded_at",
    "created_at",
    "use_case",
    "condition",
    "audio_duration_seconds",
    "model_name",
    "sign_name",
}
DAYS = ["2026-02-01T08:00:00Z", "2026-02-02T08:00:00Z", "2026-02-03T08:00:00.250000Z", "2026-02-04T08:00:00Z"]


@pytest.fixture(scope="module")
def loose(still: httpx.Client) -> list[str]:
    """Queued jobs outside all groups."""
    return [submit(still, "/v2/signs/stress/analyze")["job_id"] for _ in range(3)]


@pytest.fixture(scope="module")
def history(still: httpx.Client) -> tuple[str, list[str]]:
    """Group of four jobs, submitted out of order, with their ids by recording time."""
    group, ids = new_group(), {}
    for day in (2, 0, 3, 1):
        path = f"/v2/signs/stress/groups/{group}/analyze"
        ids[day] = submit(still, path, recorded_at=DAYS[day])["job_id"]
    return group, [ids[day] for day in range(4)]


def make(api: httpx.Client) -> str:
    group = new_group()
    assert api.post("/v2/groups", json={"group_id": group}).status_code == 201
    return group


def add(api: httpx.Client, group: str, *job_ids: str) -> dict:
    return accepted(api.post(f"/v2/groups/{group}/jobs", json={"job_ids": list(job_ids)}))


def selected(api: httpx.Client, group: str, **query: str) -> list[str]:
    answer = read(api, f"/v2/groups/{group}/jobs", **query)
    assert answer["total_jobs"] == len(answer["jobs"])
    return [job["job_id"] for job in answer["jobs"]]


def test_add_puts_each_id_in_exactly_one_list(still: httpx.Client, loose: list[str]) -> None:
    group, unknown = make(still), [str(uuid.uuid4()), "nonsense"]
    add(still, group, loose[0])
    answer = add(still, group, *loose, *unknown)
    assert set(answer) == {"status", "added", "skipped", "not_found", "not_yet_done"}
    assert answer["status"] == "accepted"
    assert sorted(answer["added"]) == sorted(loose[1:])
    assert answer["skipped"] == {loose[0]: "already_in_group"}
    assert sorted(answer["not_found"]) == sorted(unknown)
    assert set(answer["not_yet_done"]) <= set(answer["added"])


def test_added_jobs_still_queued_are_not_yet_done(queued: httpx.Client, loose: list[str]) -> None:
    group = make(queued)
    add(queued, group, loose[0])
    assert sorted(add(queued, group, *loose)["not_yet_done"]) == sorted(loose[1:])


def test_add_of_the_same_id_twice_counts_once(still: httpx.Client, loose: list[str]) -> None:
    group = make(still)
    answer = add(still, group, loose[0], loose[0])
    assert (answer["added"], answer["skipped"], answer["not_found"]) == ([loose[0]], {}, [])
    assert read(still, f"/v2/groups/{group}/jobs")["total_jobs"] == 1


def test_add_of_unknown_ids_alone_still_answers_200(still: httpx.Client) -> None:
    unknown = str(uuid.uuid4())
    answer = add(still, make(still), unknown)
    assert answer == {"status": "accepted", "added": [], "skipped": {}, "not_found": [unknown], "not_yet_done": []}


@pytest.mark.parametrize("count", [0, 101])
def test_add_of_none_or_more_than_a_hundred_is_a_validation_error(still: httpx.Client, count: int) -> None:
    ids = [str(uuid.uuid4()) for _ in range(count)]
    assert_validation_error(still.post(f"/v2/groups/{make(still)}/jobs", json={"job_ids": ids}))


def test_add_of_a_hundred_is_accepted(still: httpx.Client) -> None:
    assert len(add(still, make(still), *(str(uuid.uuid4()) for _ in range(100)))["not_found"]) == 100


@pytest.mark.parametrize("body", [{}, {"job_ids": "x"}, {"job_ids": [1]}, {"job_ids": None}], ids=str)
def test_add_with_a_broken_body_is_a_validation_error(still: httpx.Client, body: dict) -> None:
    assert_validation_error(still.post(f"/v2/groups/{make(still)}/jobs", json=body))


def test_add_to_an_absent_group_creates_none(still: httpx.Client, loose: list[str]) -> None:
    group = new_group()
    assert_error(still.post(f"/v2/groups/{group}/jobs", json={"job_ids": loose}), 404, "NOT_FOUND")
    assert_error(still.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")


def test_job_may_be_in_many_groups_and_keeps_its_recorded_at(still: httpx.Client, history: tuple) -> None:
    group = make(still)
    add(still, group, history[1][2])
    (item,) = read(still, f"/v2/groups/{group}/jobs")["jobs"]
    assert instant(item["recorded_at"]) == instant(DAYS[2])


def test_remove_takes_the_job_out_and_keeps_it(still: httpx.Client, loose: list[str]) -> None:
    group = make(still)
    add(still, group, *loose)
    path = f"/v2/groups/{group}/jobs/{loose[1]}"
    assert accepted(still.delete(path)) == {"status": "accepted", "removed": loose[1]}
    assert_error(still.delete(path), 404, "NOT_FOUND")
    assert loose[1] not in selected(still, group)
    assert read(still, f"/v2/jobs/{loose[1]}")["job_id"] == loose[1]
    assert add(still, group, loose[1])["added"] == [loose[1]]


@pytest.mark.parametrize("job_id", [str(uuid.UUID(int=5)), "nonsense"])
def test_remove_of_what_is_no_member_is_not_found(still: httpx.Client, job_id: str) -> None:
    assert_error(still.delete(f"/v2/groups/{make(still)}/jobs/{job_id}"), 404, "NOT_FOUND")


def test_list_items_have_the_interfaces_fields(still: httpx.Client) -> None:
    group = new_group()
    for path in ("models/pulse", "signs/stress", "use-cases/wellness", "conditions/anxiety"):
        submit(still, f"/v2/{path}/groups/{group}/analyze")
    answer = read(still, f"/v2/groups/{group}/jobs")
    assert set(answer) == {"group_id", "total_jobs", "jobs", "page", "total_pages"}
    assert (answer["group_id"], answer["total_jobs"], answer["page"], answer["total_pages"]) == (group, 4, 0, 1)
    assert all(set(item) == ITEM_FIELDS for item in answer["jobs"])
    names = ("model_name", "sign_name", "use_case", "condition")
    assert {tuple(item[name] for name in names) for item in answer["jobs"]} == {
        ("pulse", None, None, None),
        (None, "stress", None, None),
        (None, None, "wellness", None),
        (None, None, None, "anxiety"),
    }
    assert {item["status"] for item in answer["jobs"]} <= set(UNFAILED)
    assert {item["audio_duration_seconds"] for item in answer["jobs"]} == {20.5}


def test_recorded_at_defaults_to_created_at(still: httpx.Client, loose: list[str]) -> None:
    group = make(still)
    submit(still, f"/v2/signs/stress/groups/{group}/analyze")
    add(still, group, loose[0])
    for item in read(still, f"/v2/groups/{group}/jobs")["jobs"]:
        assert instant(item["recorded_at"]) == instant(item["created_at"])


def test_list_is_ordered_by_recording_time(still: httpx.Client, history: tuple) -> None:
    group, ids = history
    assert selected(still, group) == ids


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"from": DAYS[1]}, slice(1, None)),
        ({"to": DAYS[1]}, slice(None, 2)),
        ({"from": DAYS[1], "to": DAYS[2]}, slice(1, 3)),
        ({"from": DAYS[2], "to": DAYS[2]}, slice(2, 3)),
        ({"from": "2026-02-02T08:00:00.000001Z"}, slice(2, None)),
        ({"to": "2026-02-02T07:59:59.999999"}, slice(None, 1)),
        ({"from": "2026-02-02T08:00Z", "to": "2026-02-02T10:00+02:00"}, slice(1, 2)),
        ({"from": "2026-02-02T10:00:00+02:00", "to": "2026-02-02T02:30:00-05:30"}, slice(1, 2)),
        ({"from": DAYS[3], "to": DAYS[0]}, slice(0, 0)),
    ],
    ids=str,
)
def test_from_and_to_are_inclusive_bounds(still: httpx.Client, history: tuple, query: dict, expected: slice) -> None:
    group, ids = history
    assert selected(still, group, **query) == ids[expected]


@pytest.mark.parametrize("bound", ["from", "to"])
@pytest.mark.parametrize("value", ["yesterday", "", "2026-02-30T00:00:00Z", "5"])
def test_bad_bound_is_refused(still: httpx.Client, history: tuple, bound: str, value: str) -> None:
    answer = still.get(f"/v2/groups/{history[0]}/jobs", params={bound: value})
    assert_error(answer, 400, "INVALID_REQUEST")


@pytest.mark.parametrize("status", ["running", "done", "failed", "timed-out"])
def test_status_filters_on_membership_status(queued: httpx.Client, history: tuple, status: str) -> None:
    group, ids = history
    assert selected(queued, group, status=status) == []
    assert selected(queued, group, status="queued") == ids


def test_unknown_status_filter_is_refused(still: httpx.Client, history: tuple) -> None:
    assert_validation_error(still.get(f"/v2/groups/{history[0]}/jobs", params={"status": "finished"}))


@pytest.mark.parametrize("page", ["-1", "x"])
def test_member_list_page_that_is_no_index_is_refused(still: httpx.Client, history: tuple, page: str) -> None:
    assert_validation_error(still.get(f"/v2/groups/{history[0]}/jobs", params={"page": page}))
