"""The sliding window is exact."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import hypothesis
import hypothesis.strategies as st
import pytest
from hypothesis import given

from vbdesk.contract.limits import Plan
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.limits.rate_windows import MemoryRateWindows, SharedRateWindows

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared_windows(request, tmp_path_factory):
    made = request.getfixturevalue("postgresql").make(tmp_path_factory.mktemp("rates"))
    windows = SharedRateWindows(Database(create_engine(made["database_url"])))
    windows.create_tables()
    windows.create_tables()  # as the next process does
    yield windows
    windows.close()


@pytest.fixture(params=["memory", "shared"])
def windows(request):
    if request.param == "memory":
        return MemoryRateWindows()
    windows = request.getfixturevalue("shared_windows")
    windows.remove_past(datetime(9999, 1, 1, tzinfo=UTC))
    return windows


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_requests_up_to_the_limit_pass(windows):
    assert [windows.hit("a", "general", 3, at(i)) for i in range(4)] == [0, 0, 0, 57]


def test_a_request_leaves_the_window_after_exactly_60_s(windows):
    windows.hit("a", "general", 1, at(0))
    assert windows.hit("a", "general", 1, at(59.999)) == 1
    assert windows.hit("a", "general", 1, at(60)) == 0


def test_the_wait_is_rounded_up(windows):
    windows.hit("a", "general", 1, at(0.5))
    assert windows.hit("a", "general", 1, at(10.4)) == 51
    assert windows.hit("a", "general", 1, at(10.5)) == 50


def test_a_refused_request_is_not_counted(windows):
    windows.hit("a", "general", 1, at(0))
    for second in range(1, 60):
        assert windows.hit("a", "general", 1, at(second)) > 0
    assert windows.hit("a", "general", 1, at(60)) == 0


def test_the_window_slides_and_does_not_reset(windows):
    for second in (0, 30, 50):
        windows.hit("a", "general", 3, at(second))
    assert windows.hit("a", "general", 3, at(61)) == 0
    assert windows.hit("a", "general", 3, at(62)) == 28


def test_buckets_and_owners_are_counted_separately(windows):
    assert [windows.hit(owner, bucket, 1, at(0)) for owner in "ab" for bucket in ("general", "polling")] == [0] * 4


def test_after_a_clock_set_back_the_wait_is_at_most_the_window(windows):
    windows.hit("a", "general", 1, at(1000))
    assert windows.hit("a", "general", 1, at(0)) == 60


def test_a_lowered_limit_waits_until_enough_requests_leave(windows):
    for second in range(5):
        windows.hit("a", "general", 5, at(second))
    assert windows.hit("a", "general", 2, at(10)) == 53


def test_threads_together_get_exactly_the_limit(windows):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: windows.hit("a", "general", 37, at(0)), range(120)))
    assert answers.count(0) == 37


def test_expired_counters_are_removed(windows):
    windows.hit("past", "general", 1, at(0))
    windows.hit("present", "general", 1, at(1))
    windows.remove_past(at(60))
    assert windows.counted("past", "general", at(30)) == 0  # 1 if it had been kept
    assert windows.counted("present", "general", at(30)) == 1


STEPS = st.lists(st.integers(0, 480).map(lambda eighths: eighths / 8), min_size=1, max_size=30)


@hypothesis.settings(max_examples=40, deadline=None, database=None)
@given(steps=STEPS, limit=st.integers(1, 5))
def test_both_count_alike(shared_windows, steps, limit):
    owner, moment = str(uuid4()), 0.0
    memory = MemoryRateWindows()
    for step in steps:
        moment += step
        assert shared_windows.hit(owner, "general", limit, at(moment)) == memory.hit(
            owner, "general", limit, at(moment)
        )
        assert shared_windows.counted(owner, "general", at(moment)) == memory.counted(owner, "general", at(moment))


def test_with_the_servers_clock_the_callers_clock_does_not_matter(shared_windows):
    windows = SharedRateWindows(Database(shared_windows._database.engine), servers_clock=True)
    assert windows.hit("a", "polling", 1, at(0)) == 0
    assert 58 <= windows.hit("a", "polling", 1, at(10**6)) <= 60


@pytest.mark.parametrize(("plan", "general", "analyze"), [(Plan.STANDARD, 10, 5), (Plan.ENTERPRISE, 1000, 500)])
def test_the_plan_decides_the_limit(service, plan, general, analyze):
    assert service.context.settings.rate_limits[plan]["general"] == general
    assert service.context.settings.rate_limits[plan]["analyze"] == analyze


def test_the_11th_general_request_waits_and_then_passes(service):
    client = service.client(service.add_account(Plan.STANDARD))
    assert {client.get("/v2/models").status_code for _ in range(10)} == {200}
    service.clock.advance(12.5)
    refused = client.get("/v2/account/credits")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "48")
    assert refused.json()["code"] == "RATE_LIMIT_EXCEEDED"
    assert client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).status_code == 200
    service.clock.advance(47.5)
    assert client.get("/v2/account/credits").status_code == 200
