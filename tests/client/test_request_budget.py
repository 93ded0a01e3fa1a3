"""The request budget: sliding windows, shared and stored."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbdesk.client import RequestBudget
from vbdesk.client.errors import RateLimited
from vbdesk.client.request_file import RequestFile
from vbdesk.contract.limits import Bucket, Plan

GENERAL = Bucket.GENERAL
CREDITS = {"credits": 5}


class ListJournal:
    """Stores the requests of a run on a manual clock."""

    def __init__(self):
        self.now = 0.0
        self.requests = []

    def append(self, bucket, in_s):
        self.requests.append((bucket, self.now + in_s))

    def recent(self):
        return [(bucket, self.now - at) for bucket, at in self.requests]


def in_any_window(times):
    return max(sum(start <= time < start + 60 for time in times) for start in times)


@given(
    limit=st.integers(1, 4),
    steps=st.lists(st.tuples(st.sampled_from([0, 0.5, 7, 30, 59.9, 61]), st.booleans()), min_size=1, max_size=30),
)
def test_whoever_waits_as_told_never_exceeds_the_limit(limit, steps):
    budget = RequestBudget({GENERAL: limit})
    now, times = 0.0, []
    for step, books_ahead in steps:
        now += step
        if books_ahead:  # a page: reserves the next slot, and sends then
            times.append(now + budget.reserve(GENERAL, now))
        else:  # the sync worker: waits until there is room
            now += budget.wait_s(GENERAL, now)
            budget.spend(GENERAL, now)
            times.append(now)
    assert in_any_window(times) <= limit


def test_it_tells_how_long_until_several_requests_may_follow_one_another():
    budget = RequestBudget({GENERAL: 3})
    for now in (0, 10, 20):
        budget.spend(GENERAL, now)
    assert budget.wait_s(GENERAL, 30) == 30.25
    assert budget.wait_s(GENERAL, 30, 2) == 40.25
    assert budget.wait_s(GENERAL, 30, 9) == 50.25, "more than the plan allows at once begins with an empty window"
    assert budget.wait_s(GENERAL, 65) == 0


def test_the_last_place_is_given_once_and_some_may_be_left_to_others():
    budget = RequestBudget({GENERAL: 3})
    assert budget.take(GENERAL, 0, leave=1)
    assert budget.take(GENERAL, 0, leave=1)
    assert not budget.take(GENERAL, 0, leave=1)
    assert budget.take(GENERAL, 0)
    assert not budget.take(GENERAL, 60)
    assert budget.take(GENERAL, 60.25)


def test_a_slow_answer_moves_the_beginning_of_the_window():
    budget = RequestBudget({GENERAL: 1})
    budget.spend(GENERAL, 0)
    budget.answered(GENERAL, 0, 40)
    assert budget.wait_s(GENERAL, 60) == 40.25


def test_slow_answers_count_also_when_later_requests_have_booked_already():
    budget = RequestBudget({GENERAL: 2})
    assert [budget.reserve(GENERAL, 0) for _ in range(5)] == [0, 0, 60.25, 60.25, 120.5]
    budget.answered(GENERAL, 0, 40)
    budget.answered(GENERAL, 0, 40)
    budget.answered(GENERAL, 60.25, 130)
    assert budget.wait_s(GENERAL, 130) == 50.75, "the window from 120.5 on holds that one and the one of 130"
    budget.spend(GENERAL, 300)
    budget.answered(GENERAL, 60.25, 310)
    assert budget.wait_s(GENERAL, 310) == 50.25, "an answer after minutes counts though its request was forgotten"


def test_a_request_that_is_answered_late_counts_until_then(make_client, service, clock):
    def late(request):
        clock.sleep(40)
        return service.json(CREDITS)

    service.will_answer(late)
    client = make_client(budget=RequestBudget({GENERAL: 1}))
    client.account.credits()
    client.account.credits()
    assert clock.waits == [40, 60.25, 40]


def test_a_closed_bucket_opens_when_the_service_said():
    budget = RequestBudget.of_plan(Plan.STANDARD)
    budget.close(GENERAL, 37)
    budget.close(GENERAL, 20)
    assert budget.wait_s(GENERAL, 30) == 7
    assert budget.reserve(GENERAL, 30) == 7
    assert budget.wait_s(Bucket.POLLING, 30) == 0


def test_a_restart_remembers_the_last_minute():
    journal = ListJournal()
    budget = RequestBudget({GENERAL: 2}, journal)
    budget.spend(GENERAL, 1000)
    assert budget.reserve(GENERAL, 1000) == 0
    assert budget.reserve(GENERAL, 1000) == 60.25
    journal.now = 50
    again = RequestBudget({GENERAL: 2}, journal)
    assert again.wait_s(GENERAL, 7) == 10.25, "the one that was booked counts as sent"
    journal.now = 200
    assert RequestBudget({GENERAL: 2}, journal).wait_s(GENERAL, 7) == 0


def test_a_clock_set_back_makes_no_request_younger_than_now():
    journal = ListJournal()
    RequestBudget({GENERAL: 1}, journal).spend(GENERAL, 0)
    journal.now = -86_400
    assert RequestBudget({GENERAL: 1}, journal).wait_s(GENERAL, 5) == 60.25


def test_threads_share_one_budget():
    budget, waits = RequestBudget({GENERAL: 50}), []
    threads = [Thread(target=lambda: waits.extend(budget.reserve(GENERAL, 0) for _ in range(25))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [0] * 50 + [60.25] * 50


def test_clients_of_one_account_keep_within_its_budget_together(make_client, service, clock):
    service.will_answer(service.json(CREDITS))
    budget = RequestBudget({GENERAL: 3})
    first, second = make_client(budget=budget), make_client(budget=budget)
    for client in (first, second, first, second):
        client.account.credits()
    assert clock.waits == [60.25]


def test_a_refusal_slows_everything_down_that_shares_the_budget(make_client, service, clock):
    budget = RequestBudget.of_plan(Plan.STANDARD)
    service.will_answer(service.error(429, "RATE_LIMIT_EXCEEDED", Retry_After="37"), service.json(CREDITS))
    make_client(budget=budget).account.credits()
    assert clock.waits == [37]
    service.will_answer(service.error(429, "RATE_LIMIT_EXCEEDED", Retry_After="3600"))
    with pytest.raises(RateLimited):  # the caller must plan with such a pause
        make_client(budget=budget).account.credits()
    assert budget.wait_s(GENERAL, clock.monotonic()) == 3600


def test_programs_one_after_the_other_keep_within_the_plan_together(tmp_path):
    path, now = tmp_path / "account" / "requests.jsonl", [1_772_000_000.0]

    def program():
        return RequestBudget({GENERAL: 2}, RequestFile(path, lambda: now[0]))

    assert [program().reserve(GENERAL, 5) for _ in range(2)] == [0, 0]
    now[0] += 20
    path.write_text(path.read_text() + '["general",17')  # truncated by a crash
    assert program().wait_s(GENERAL, 3) == 40.25
    now[0] += 41
    assert program().wait_s(GENERAL, 3) == 0


def test_the_file_of_requests_stays_small_and_is_no_hindrance(tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_text('["general",1.000]\n' * 5000)
    assert list(RequestFile(path).recent()) == []
    assert path.stat().st_size == 0
    unusable = RequestFile(path / "below a file")
    unusable.append(GENERAL, 0)
    assert list(unusable.recent()) == []


def test_what_was_used_of_the_window_is_told():
    budget = RequestBudget({GENERAL: 3})
    assert budget.used(GENERAL, 0.0) == 0
    for now in (0.0, 10.0, 20.0):
        budget.spend(GENERAL, now)
    wait_s = budget.reserve(GENERAL, 20.0)
    assert budget.used(GENERAL, 20.0) == 3  # the fourth leaves later
    assert budget.used(GENERAL, 20.0 + wait_s) == 3  # and the first has left the window then
