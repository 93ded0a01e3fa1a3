"""Within the plan: the service never refuses a request, whatever else the program requests."""

import random
from datetime import UTC, datetime

import numpy as np
import pytest

from vbdesk.client import RequestBudget
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.request_journal import StoredRequestJournal

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def tmp_path(folder_in_memory):
    """Make thousands of transactions fast: the disk is not tested here."""
    return folder_in_memory


def all_done(library, count):
    return lambda: library.counts()[OutboxState.DONE] == count


def test_two_hundred_recordings_on_the_standard_plan_never_meet_a_refusal(
    library, waiting_line, new_sync_worker, service, drive, clock
):
    """With delays that vary by seconds, and restarts that keep only the library."""
    service.plan, service.analysis_s, service.credits = Plan.STANDARD, 6.0, 10_000
    dice = random.Random(5)
    waiting_line(200)
    sync_worker = new_sync_worker(plan=Plan.STANDARD)
    for _ in range(100):
        if all_done(library, 200)():
            break
        service.latency_s = dice.choice([0.02, 0.3, 5.0])
        drive(sync_worker, all_done(library, 200), seconds=dice.uniform(20, 200))
        if dice.random() < 0.2:
            sync_worker = new_sync_worker(plan=Plan.STANDARD)
            sync_worker.recover()
    assert library.counts()[OutboxState.DONE] == 200
    assert service.refused_by_rate == []
    assert len(service.jobs) == 200
    assert clock.monotonic() < 200 * 2 / 5 * 60 * 1.15  # two requests each, five a minute


def test_a_page_that_asks_meanwhile_always_finds_room(library, waiting_line, new_sync_worker, service, drive, clock):
    service.faults["longitudinal"].extend([404] * 15)
    waiting_line(15)
    drive(new_sync_worker(), all_done(library, 15))
    service.faults["longitudinal"].clear()
    budget = RequestBudget.of_plan(Plan.STANDARD)
    service.plan = Plan.STANDARD
    sync_worker = new_sync_worker(budget=budget)
    sync_worker.recover()  # fifteen subjects need reading
    read = []
    while len(read) < 15 and clock.monotonic() < 1000:
        drive(sync_worker, seconds=1)
        assert budget.wait_s(Bucket.GENERAL, clock.monotonic(), 4) == 0
        read = [item for item in library.list() if library.responses.trajectory(item.group_id) is not None]
    assert len(read) == 15
    assert service.refused_by_rate == []


def test_with_sixty_jobs_under_way_the_polls_take_turns(library, waiting_line, new_sync_worker, service, drive, clock):
    waiting_line(60)
    drive(new_sync_worker(), lambda: len(service.jobs) == 60)
    began = clock.monotonic()
    service.requests.clear()
    service.polls.clear()
    service.plan, service.polls_until_done = Plan.STANDARD, 10**6
    drive(new_sync_worker(plan=Plan.STANDARD), seconds=600)
    assert service.refused_by_rate == []
    assert set(service.polls) == set(service.jobs)
    assert max(service.polls.values()) - min(service.polls.values()) <= 1
    moments = [moment for moment, kind in service.requests if kind == "job" and moment > began + 120]
    assert 0.9 * 27 < len(moments) / 8 <= 27  # per minute, without the reserve for pages
    assert np.diff(moments).max() < 15  # evenly, not all at the beginning of a minute


def test_a_restart_remembers_the_requests_of_the_last_minute(
    library, waiting_line, new_sync_worker, service, drive, reopen, clock
):
    service.plan = Plan.STANDARD
    waiting_line(12)
    drive(new_sync_worker(plan=Plan.STANDARD), lambda: service.count("analyze") + service.count("mint") == 5)
    library.close()
    again = reopen()
    sync_worker = new_sync_worker(again, plan=Plan.STANDARD)
    sync_worker.recover()
    drive(sync_worker, all_done(again, 12), seconds=1000)
    assert again.counts()[OutboxState.DONE] == 12
    assert service.refused_by_rate == []


def test_the_journal_forgets_what_is_long_past_and_counts_from_the_arrival(library, clock):
    journal = StoredRequestJournal(library.store)
    journal.append(Bucket.ANALYZE, 0.0)
    clock.advance(30)
    assert list(journal.recent()) == [(Bucket.ANALYZE, 20.0)]  # up to ten seconds of transfer time
    clock.advance(100)
    journal.append(Bucket.POLLING, 0.0)
    assert list(journal.recent()) == [(Bucket.POLLING, -10.0)]
    with library.store.changing_silently() as database:
        database.execute("INSERT INTO requests VALUES ('general', '2030-01-01T00:00:00.000000+00:00')")
    assert len(list(journal.recent())) == 2  # perhaps of this minute, if the clock was wrong
    journal.append(Bucket.POLLING, 0.0)
    assert {bucket for bucket, _ in journal.recent()} == {Bucket.POLLING}


def test_a_pause_that_others_of_the_account_caused_is_obeyed_and_logged_without_names(
    library, waiting_line, sync_worker, service, drive, caplog
):
    service.faults["job"].append(429)
    waiting_line(1)
    drive(sync_worker, all_done(library, 1))
    first, second = [moment for moment, kind in service.requests if kind == "job"][:2]
    assert 7.0 <= second - first <= 7.1
    [record] = [record for record in caplog.records if "pause" in record.message]
    assert "ward4" not in record.getMessage()


def test_asked_by_a_person_the_poll_comes_at_once_and_never_more_than_the_plan_allows(
    library, waiting_line, new_sync_worker, service, drive, clock
):
    service.plan, service.polls_until_done = Plan.STANDARD, 10**6
    waiting_line(1)
    sync_worker = new_sync_worker(plan=Plan.STANDARD)

    def polls():
        return sum(kind == "job" for _, kind in service.requests)

    drive(sync_worker, lambda: polls() == 20, seconds=200)  # the interval has grown to five seconds
    drive(sync_worker, seconds=1)
    assert polls() == 20
    sync_worker.check_now()
    drive(sync_worker, seconds=0.5)
    assert polls() == 21
    asked_at = clock.monotonic()
    for _ in range(300):  # an impatient person
        sync_worker.check_now()
        drive(sync_worker, seconds=0.5)
    assert service.refused_by_rate == []
    minutes = (clock.monotonic() - asked_at) / 60 + 1
    assert polls() - 21 <= minutes * RequestBudget.of_plan(Plan.STANDARD).limit(Bucket.POLLING)
