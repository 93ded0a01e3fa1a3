"""The result repository: what was read from the service, stored encrypted, and told to its subscribers."""

import pytest

from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.outbox.results.repository import ResultRepository

SUBJECT = "ward4-0172"


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
def with_result(waiting, new_courier, drive, all_done, repository):
    """A recording whose result the sync worker brought."""
    waiting()
    drive(new_courier(results=repository), all_done)


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


def test_the_sync_worker_stores_a_trajectory_in_the_same_place(repository, told, waiting, new_courier, drive, all_done):
    waiting()
    drive(new_courier(results=repository), seconds=120)
    assert all_done()
    assert told == [SUBJECT]
    assert repository.stored_trajectory(SUBJECT).value.group_id == SUBJECT


def test_what_another_version_stored_is_read_again(repository, library):
    library.responses.keep_trajectory(SUBJECT, b'{"points": []}')
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
