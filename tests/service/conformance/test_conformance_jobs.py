"""Reading jobs: single jobs and paged lists."""

import httpx
import pytest
from examination import assert_error, assert_validation_error, read, submit


@pytest.mark.parametrize("job_id", ["019f0000-0000-7000-8000-000000000000", "nonsense", "0"])
def test_unknown_job_is_not_found(api: httpx.Client, job_id: str) -> None:
    assert_error(api.get(f"/v2/jobs/{job_id}"), 404, "NOT_FOUND")


def test_job_read_equals_the_submit_answer_while_queued(queued: httpx.Client) -> None:
    job = submit(queued, "/v2/models/pulse/analyze")
    assert read(queued, f"/v2/jobs/{job['job_id']}") == job


@pytest.mark.parametrize("path", ["/v2/jobs", "/v2/groups"])
@pytest.mark.parametrize("page", ["-1", "one", "1.5"])
def test_page_that_is_no_index_is_refused(api: httpx.Client, path: str, page: str) -> None:
    assert_validation_error(api.get(path, params={"page": page}))
