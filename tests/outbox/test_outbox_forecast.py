"""What the page says of the time it will take, against what a simulated line then takes."""

from collections import deque
from datetime import UTC, datetime

import pytest

from vbdesk.contract.limits import REQUESTS_PER_WINDOW, Bucket, Plan
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.forecast import Forecast, InLine, Measured, about, forecast
from vbdesk.outbox.sync.network import ManualNetwork, NetworkState

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def tmp_path(folder_in_memory):
    """Thousands of transactions, and nothing about the disk."""
    return folder_in_memory


@pytest.mark.parametrize(("plan", "count"), [(Plan.STANDARD, 40), (Plan.ENTERPRISE, 60)])
def test_the_estimate_is_within_a_quarter_of_what_it_takes_and_shrinks(
    library, waiting_line, new_courier, service, drive, clock, plan, count
):
    """At the start and with 25 and 12 to be done, after three recordings have shown how fast line and service are."""
    service.plan, service.analysis_s, service.credits = plan, 4.0, 10_000
    service.latency_s, service.upload_bytes_per_s = 0.2, 20_000
    courier = new_courier(plan=plan)
    waiting_line(3)
    drive(courier, lambda: library.counts()[OutboxState.DONE] == 3, seconds=600)
    waiting_line(count, first=3)
    told = []
    for left in (count, 25, 12):
        drive(courier, lambda: library.counts()[OutboxState.DONE] >= 3 + count - left, seconds=10_000)  # noqa: B023
        told.append((clock.monotonic(), courier.forecast()))
    drive(courier, lambda: library.counts()[OutboxState.DONE] == 3 + count, seconds=10_000)
    for at, foretold in told:
        assert foretold.whole_s == pytest.approx(clock.monotonic() - at, rel=0.25)
    assert [foretold.recordings for _, foretold in told] == [count, 25, 12]
    assert courier.forecast() == Forecast(0, 0.0)


@pytest.mark.parametrize("plan", Plan)
@pytest.mark.parametrize("count", [12, 60, 200])
def test_the_first_estimate_of_a_line_of_any_length_is_within_a_quarter(count, plan):
    """A line in which each request, upload and analysis takes its time, against one that has been measured."""
    measured = Measured()
    measured.request(0.3)
    measured.upload(60.0, 3_000_000, 3.5)
    measured.analysis(0.0, 9.0)
    limit = REQUESTS_PER_WINDOW[plan][Bucket.ANALYZE]
    line = [InLine(str(number), 60.0) for number in range(count)]
    assert forecast(line, [0.0] * limit, measured).whole_s == pytest.approx(play(count, limit), rel=0.25)


def play(count, limit):
    """Seconds for `count` recordings, as the service's window lets their requests through."""
    now, counted = 0.0, deque()
    for _ in range(count):
        for takes_s in (0.3 + 3.5, 0.3):
            while counted and counted[0] <= now - 60:
                counted.popleft()
            if len(counted) == limit:
                now = counted.popleft() + 60
            counted.append(now)
            now += takes_s
    return now + 9.0


def test_before_anything_was_measured_the_plan_alone_gives_an_estimate(
    library, waiting_line, new_courier, service, drive
):
    courier = new_courier(plan=Plan.STANDARD)
    waiting_line(12)
    assert courier.forecast().sentence == "12 recordings, about 4 minutes"  # 24 requests, five a minute
    first, *_, last = library.list()[::-1]
    assert courier.forecast().seconds_to(first.take_id) < 30 < 200 < courier.forecast().seconds_to(last.take_id)


@pytest.mark.parametrize("hinder", ["offline", "paused", "by hand", "no key", "metered"])
def test_what_nobody_can_know_is_not_foretold(library, waiting_line, new_courier, service, drive, hinder):
    network = ManualNetwork()
    courier = new_courier(network=network)
    if hinder == "offline":
        service.online = False
    elif hinder == "paused":
        library.change_settings(paused=True)
    elif hinder == "by hand":
        library.change_settings(send_rule=SendRule.BY_HAND)
    elif hinder == "no key":
        service.key = "another"
    else:
        library.change_settings(send_rule=SendRule.UNMETERED)
        network.now = NetworkState(reachable=True, metered=True)
    waiting_line(2)
    drive(courier, seconds=20)
    assert courier.forecast() == Forecast(2, None)
    assert courier.forecast().sentence == "2 recordings"


def test_a_slow_line_and_a_busy_service_count():
    measured = Measured()
    measured.upload(60.0, 3_000_000, 30.0)
    measured.analysis(0.0, 20.0)
    measured.analysis(1.0, 40.0)
    line = [InLine(str(number), 60.0, uploaded=number == 0) for number in range(3)]
    foretold = forecast(line, [0.0] * 500, measured)
    assert 20 < foretold.seconds_to("0") < 41  # its bytes are there
    assert foretold.seconds_to("1") > foretold.seconds_to("0") + 20
    assert foretold.whole_s == foretold.seconds_to("2") > 60


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "less than a minute"), (65, "about a minute"), (350, "about 6 minutes"), (7000, "about 2 hours")],
)
def test_no_finer_than_anybody_can_know(seconds, words):
    assert about(seconds) == words
