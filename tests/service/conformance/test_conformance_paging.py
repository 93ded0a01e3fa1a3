"""Pages of fifty: jobs, groups and a group's jobs."""

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from examination import Examined, instant, new_group, read, submit, upload


@dataclass
class Lists:
    """Lists of an account with no, fifty and fifty-one items."""

    jobs: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    pages: dict[tuple[str, int, int], Any] = field(default_factory=dict)

    def keep_pages(self, caller: httpx.Client, entries: int) -> None:
        paths = {"jobs": "/v2/jobs", "groups": "/v2/groups"}
        if self.groups:
            paths["members"] = f"/v2/groups/{self.groups[0]}/jobs"
        for name, path in paths.items():
            for page in range(3):
                self.pages[name, entries, page] = read(caller, path, page=page)
            assert read(caller, path) == self.pages[name, entries, 0]

    def pages_of_51(self, name: str) -> list[Any]:
        return [self.pages[name, 51, page] for page in range(3)]


@pytest.fixture(scope="module")
def lists(waiting: Examined) -> Lists:
    caller = waiting.call(waiting.account("full").headers)
    lists = Lists()
    lists.keep_pages(caller, 0)
    reference, first = upload(caller), new_group()

    def add_one(number: int) -> None:
        asked = {"audio_upload_ref": reference, "recorded_at": f"2026-02-01T00:00:{59 - number:02}Z"}
        job = submit(caller, f"/v2/signs/stress/groups/{first}/analyze", None, **asked)
        lists.jobs.append(job["job_id"])
        lists.groups.append(new_group() if lists.groups else first)
        caller.post("/v2/groups", json={"group_id": lists.groups[-1]})

    for number in range(50):
        add_one(number)
    lists.keep_pages(caller, 50)
    add_one(50)
    lists.keep_pages(caller, 51)
    return lists


@pytest.mark.parametrize("name", ["jobs", "groups"])
def test_nothing_is_one_empty_page(lists: Lists, name: str) -> None:
    assert lists.pages[name, 0, 0] == {name: [], "page": 0, "total_pages": 1}


@pytest.mark.parametrize("name", ["jobs", "groups", "members"])
def test_fifty_are_one_page_and_one_more_makes_two(lists: Lists, name: str) -> None:
    entries = "groups" if name == "groups" else "jobs"
    assert lists.pages[name, 50, 0]["total_pages"] == 1
    assert [len(lists.pages[name, 50, page][entries]) for page in range(3)] == [50, 0, 0]
    pages = lists.pages_of_51(name)
    assert [page["page"] for page in pages] == [0, 1, 2]
    assert [page["total_pages"] for page in pages] == [2, 2, 2]
    assert [len(page[entries]) for page in pages] == [50, 1, 0]


def test_jobs_are_listed_newest_first(lists: Lists) -> None:
    jobs = [job for page in lists.pages_of_51("jobs") for job in page["jobs"]]
    assert [job["job_id"] for job in jobs] == lists.jobs[::-1]
    assert all(set(job) == {"job_id", "status", "created_at"} for job in jobs)
    times = [instant(job["created_at"]) for job in jobs]
    assert times == sorted(times, reverse=True)


def test_groups_are_listed_newest_first(lists: Lists) -> None:
    groups = [group for page in lists.pages_of_51("groups") for group in page["groups"]]
    assert [group["group_id"] for group in groups] == lists.groups[::-1]
    assert groups[-1]["job_count"] == 51


def test_members_are_listed_by_recording_time_and_counted_whole(lists: Lists) -> None:
    pages = lists.pages_of_51("members")
    assert [job["job_id"] for page in pages for job in page["jobs"]] == lists.jobs[::-1]
    assert [page["total_jobs"] for page in pages] == [51, 51, 51]
