"""Concurrent identical requests take effect once; deletions during a request do no harm."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from examination import (
    SPEECH,
    accepted,
    assert_error,
    credits,
    done,
    mint,
    new_group,
    post_form,
    put,
    read,
    submit,
)
from sounds import HISS

from patience import HANGS_S

TIMES = 6


@pytest.fixture(scope="module")
def at_once() -> Iterator[Callable[[Callable[[], httpx.Response]], list[httpx.Response]]]:
    with ThreadPoolExecutor(TIMES) as pool:

        def ask(question: Callable[[], httpx.Response]) -> list[httpx.Response]:
            return list(pool.map(lambda _: question(), range(TIMES)))

        yield ask


def statuses(answers: list[httpx.Response]) -> list[int]:
    return sorted(answer.status_code for answer in answers)


def test_group_is_created_once(still: httpx.Client, at_once: Callable) -> None:
    group = new_group()
    answers = at_once(lambda: still.post("/v2/groups", json={"group_id": group}))
    assert statuses(answers) == [201] + [409] * (TIMES - 1)


def test_submits_into_one_new_group_all_join_it(still: httpx.Client, at_once: Callable) -> None:
    group = new_group()
    answers = at_once(lambda: post_form(still, f"/v2/signs/stress/groups/{group}/analyze", HISS))
    assert statuses(answers) == [200] * TIMES
    assert read(still, f"/v2/groups/{group}/jobs")["total_jobs"] == TIMES


def test_job_is_added_to_a_group_once(still: httpx.Client, at_once: Callable) -> None:
    group, job_id = new_group(), submit(still, "/v2/signs/stress/analyze", HISS)["job_id"]
    still.post("/v2/groups", json={"group_id": group})
    answers = at_once(lambda: still.post(f"/v2/groups/{group}/jobs", json={"job_ids": [job_id]}))
    assert sorted(len(accepted(answer)["added"]) for answer in answers) == [0] * (TIMES - 1) + [1]


def test_upload_is_written_once(still: httpx.Client, at_once: Callable) -> None:
    grant = mint(still)
    assert statuses(at_once(lambda: put(grant, SPEECH))) == [200] + [412] * (TIMES - 1)


def test_idempotency_key_makes_one_job(still: httpx.Client, at_once: Callable) -> None:
    before, headers = credits(still), {"Idempotency-Key": str(uuid.uuid4())}
    answers = at_once(lambda: still.post("/v2/signs/stress/analyze", files={"audio": HISS}, headers=headers))
    assert len({accepted(answer)["job_id"] for answer in answers}) == 1
    assert before - credits(still) == 10


def submit_batch(api: httpx.Client, group: str) -> list[str]:
    path = f"/v2/signs/stress/groups/{group}/analyze/longitudinal"
    return [submit(api, path, recorded_at=f"2026-02-0{day}T08:00:00Z")["job_id"] for day in (1, 2)]


def test_group_deleted_while_its_jobs_wait_leaves_them_to_finish(api: httpx.Client) -> None:
    group = new_group()
    ids = submit_batch(api, group)
    accepted(api.delete(f"/v2/groups/{group}"))
    assert all(done(api, job_id)["result"]["signal"] for job_id in ids)
    assert_error(api.get(f"/v2/groups/{group}/longitudinal"), 404, "NOT_FOUND")


def test_job_removed_while_it_waits_is_no_part_of_the_history(api: httpx.Client) -> None:
    group = new_group()
    first, second = submit_batch(api, group)
    accepted(api.delete(f"/v2/groups/{group}/jobs/{first}"))
    done(api, first)
    assert done(api, second)["result"]["signal"]["baseline_score"] is None
    assert read(api, f"/v2/groups/{group}/longitudinal")["done_job_count"] == 1


def test_form_and_upload_may_be_sent_in_pieces_of_unknown_number(still: httpx.Client) -> None:
    head = b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = still.post("/v2/signs/stress/analyze", content=iter([head, HISS, b"\r\n--b--\r\n"]), headers=headers)
    assert accepted(answer)["audio_size_bytes"] == len(HISS)
    grant = mint(still)
    pieces = iter([SPEECH[:1000], SPEECH[1000:]])
    put_answer = httpx.put(
        grant["upload_url"], content=pieces, headers=grant["required_headers"], timeout=HANGS_S, trust_env=False
    )
    assert put_answer.is_success
    job = submit(still, "/v2/signs/stress/analyze", None, audio_upload_ref=grant["upload_ref"])
    assert job["audio_size_bytes"] == len(SPEECH)
