"""Reading jobs: one at a time, and as a list in pages."""

import httpx
import pytest
from examination import Examined, assert_error, assert_validation_error, instant, read, submit, upload


@pytest.mark.parametrize("job_id", ["019f0000-0000-7000-8000-000000000000", "nonsense", "0"])
def test_unknown_job_is_not_found(api: httpx.Client, job_id: str) -> None:
    assert_error(api.get(f"/v2/jobs/{job_id}"), 404, "NOT_FOUND")


def test_job_read_equals_the_submit_answer_while_queued(still: httpx.Client) -> None:
    job = submit(still, "/v2/models/pulse/analyze")
    assert read(still, f"/v2/jobs/{job['job_id']}") == job


def test_job_list_of_a_new_account_is_one_empty_page(waiting: Examined) -> None:
    fresh = waiting.call(waiting.account("empty").headers)
    assert read(fresh, "/v2/jobs") == {"jobs": [], "page": 0, "total_pages": 1}
    assert read(fresh, "/v2/groups") == {"groups": [], "page": 0, "total_pages": 1}


def test_job_list_pages_hold_fifty_newest_first(waiting: Examined) -> None:
    pager = waiting.call(waiting.account("job pages").headers)
    reference = upload(pager)

    def one() -> str:
        return submit(pager, "/v2/signs/stress/analyze", None, audio_upload_ref=reference)["job_id"]

    submitted = [one() for _ in range(50)]
    assert read(pager, "/v2/jobs")["total_pages"] == 1
    submitted.append(one())
    first, second, third = (read(pager, "/v2/jobs", page=page) for page in range(3))
    assert [page["page"] for page in (first, second, third)] == [0, 1, 2]
    assert {page["total_pages"] for page in (first, second, third)} == {2}
    assert (len(first["jobs"]), len(second["jobs"]), third["jobs"]) == (50, 1, [])
    assert [job["job_id"] for job in first["jobs"] + second["jobs"]] == submitted[::-1]
    assert all(set(job) == {"job_id", "status", "created_at"} for job in first["jobs"])
    times = [instant(job["created_at"]) for job in first["jobs"]]
    assert times == sorted(times, reverse=True)
    assert read(pager, "/v2/jobs") == first


@pytest.mark.parametrize("path", ["/v2/jobs", "/v2/groups"])
@pytest.mark.parametrize("page", ["-1", "one", "1.5"])
def test_page_that_is_no_index_is_refused(api: httpx.Client, path: str, page: str) -> None:
    assert_validation_error(api.get(path, params={"page": page}))
