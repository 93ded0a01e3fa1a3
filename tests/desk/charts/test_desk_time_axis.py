"""Ticks of the time axis: whole local days, also when the clock changes."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from vbdesk.desk.charts.time_axis import read_text, ticks, zone_text

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def in_berlin(monkeypatch):
    """The clock goes forward on 29 March 2026 and back on 25 October 2026."""
    if not hasattr(time, "tzset"):
        pytest.skip("this platform's zone cannot be set within a process")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def moment(*parts: int) -> float:
    return datetime(*parts, tzinfo=BERLIN).timestamp()


def marked(start: float, end: float) -> tuple[list[datetime], list[str]]:
    found = ticks(start, end)
    return [datetime.fromtimestamp(value, BERLIN) for value, _ in found], [words for _, words in found]


@pytest.mark.parametrize("change", [(2026, 3, 26), (2026, 10, 22)])
def test_days_begin_at_midnight_on_both_sides_of_a_change_of_the_clock(in_berlin, change):
    start = moment(*change)
    found, labels = marked(start, start + 7 * 86_400)
    assert len(found) >= 7
    assert {(tick.hour, tick.minute) for tick in found} == {(0, 0)}
    assert len(set(labels)) == len(labels)


def test_a_year_is_marked_by_months(in_berlin):
    found, labels = marked(moment(2026, 1, 10), moment(2026, 11, 20))
    assert labels == ["Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov"]
    assert {(tick.day, tick.hour) for tick in found} == {(1, 0)}


def test_weeks_begin_on_monday(in_berlin):
    found, _ = marked(moment(2026, 3, 1), moment(2026, 4, 20))
    assert {tick.weekday() for tick in found} == {0}
    assert {tick.hour for tick in found} == {0}


def test_several_years_are_marked_by_quarters_with_the_year(in_berlin):
    _, labels = marked(moment(2024, 11, 5), moment(2026, 2, 5))
    assert labels == ["Jan 2025", "Apr 2025", "Jul 2025", "Oct 2025", "Jan 2026"]


def test_one_day_is_marked_by_hours(in_berlin):
    _, labels = marked(moment(2026, 6, 1, 1), moment(2026, 6, 2, 1))
    assert labels == ["06:00", "12:00", "18:00", "00:00"]


def test_the_axis_says_which_local_time_it_shows(in_berlin):
    assert zone_text(moment(2026, 5, 29)) == "Local time (UTC+02:00)"
    assert zone_text(moment(2026, 1, 29)) == "Local time (UTC+01:00)"


def test_only_a_read_of_this_local_day_is_marked_as_today(in_berlin):
    now = datetime(2026, 11, 21, 0, 30, tzinfo=BERLIN)
    assert read_text(now.astimezone(ZoneInfo("UTC")), now) == "Today"  # still the day before in UTC
    assert read_text(datetime(2026, 11, 20, 23, 50, tzinfo=BERLIN), now) == "20 Nov"
    assert read_text(datetime(2025, 12, 1, 12, tzinfo=BERLIN), now) == "1 Dec 2025"
