"""The result repository: what was read from the service, stored encrypted, and told to its subscribers."""

import json
from pathlib import Path

import pytest

from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.client.groups import Groups
from vbdesk.contract.longitudinal import AggregateRead
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.results.repository import ResultRepository

SUBJECT = "ward4-0172"
STUDY = Path(__file__).parents[1] / "desk" / "data" / "aggregate_study.json"


@pytest.fixture
def repository(library, service):
    credentials = Credentials("account", "right-key")

    def connect():
        return Client("http://service.test", credentials, retries=RetryRule.NEVER, transport=service)

    return ResultRepository(library, connect)


@pytest.fixture
def told(repository):
    """Group ids that subscribers were called with."""
    heard = []
    repository.subscribe(heard.append)
    return heard


@pytest.fixture
def with_result(waiting, new_sync_worker, drive, all_done, repository):
    """A recording whose result the sync worker brought."""
    waiting()
    drive(new_sync_worker(results=repository), all_done)


def test_nothing_is_stored_before_the_first_read(repository):
    assert repository.stored_trajectory(SUBJECT) is None
    assert repository.stored_aggregate(SUBJECT) is None
    assert repository.trajectory_times() == {}


def test_a_trajectory_that_was_asked_for_is_stored_with_its_time(repository, told, with_result, clock, library):
    version = library.changes_since(0).version
    read = repository.fetch_trajectory(SUBJECT)
    stored = repository.stored_trajectory(SUBJECT)
    assert stored.value == read
    assert stored.read_at == repository.trajectory_times()[SUBJECT]
    assert told == [SUBJECT]
    assert library.changes_since(0).version == version  # it changes no recording


def test_the_sync_worker_stores_a_trajectory_in_the_same_place(
    repository, told, waiting, new_sync_worker, drive, all_done
):
    waiting()
    drive(new_sync_worker(results=repository), seconds=120)
    assert all_done()
    assert told == [SUBJECT]
    assert repository.stored_trajectory(SUBJECT).value.group_id == SUBJECT


def test_what_another_version_stored_is_read_again(repository, library):
    library.responses.store_trajectory(SUBJECT, b'{"points": []}', 0)
    assert repository.stored_trajectory(SUBJECT) is None


def test_a_finished_job_is_remembered(repository, with_result, library):
    job_id = library.list()[0].job_id
    assert repository.finished_job(job_id) is None
    job = repository.fetch_job(job_id)
    assert repository.finished_job(job_id) == job


def test_an_ended_subscription_is_not_called(repository, with_result):
    heard = []
    repository.subscribe(heard.append)()
    repository.fetch_trajectory(SUBJECT)
    assert heard == []


@pytest.mark.parametrize("name", ["trajectory", "aggregate"])
def test_an_answer_that_comes_after_the_subject_was_erased_is_not_stored(
    repository, told, with_result, library, monkeypatch, name
):
    study = json.loads(STUDY.read_bytes()) | {"group_id": SUBJECT}
    monkeypatch.setattr(Groups, "aggregate", lambda groups, group_id: AggregateRead.model_validate(study))
    ask = getattr(Groups, name)

    def late(groups, group_id):
        answer = ask(groups, group_id)
        assert erase_subject(library, SUBJECT).left == ()
        return answer

    read = getattr(repository, f"fetch_{name}")
    stored = getattr(repository, f"stored_{name}")
    read(SUBJECT)
    assert stored(SUBJECT) is not None
    told.clear()
    monkeypatch.setattr(Groups, name, late)
    read(SUBJECT)
    assert stored(SUBJECT) is None
    assert library.store.rows("SELECT name FROM reads") == []
    assert told == []
    monkeypatch.setattr(Groups, name, ask)
    read(SUBJECT)  # begun after the erasure: the service still has it
    assert stored(SUBJECT) is not None
