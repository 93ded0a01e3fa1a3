"""Ticks of the time axis: whole local days, also when the clock changes."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from vbdesk.desk.plots.time_axis import TimeAxis, local_day_and_time

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


def ticks(start: float, end: float) -> tuple[list[datetime], list[str]]:
    axis = TimeAxis()
    spacing, values = axis.tickValues(start, end, 700)[0]
    labels = axis.tickStrings(values, 1.0, spacing)
    return [datetime.fromtimestamp(value, BERLIN) for value in values], labels


@pytest.mark.parametrize("change", [(2026, 3, 26), (2026, 10, 22)])
def test_days_begin_at_midnight_on_both_sides_of_a_change_of_the_clock(in_berlin, change):
    start = moment(*change)
    found, labels = ticks(start, start + 7 * 86_400)
    assert len(found) >= 7
    assert {(tick.hour, tick.minute) for tick in found} == {(0, 0)}
    assert len(set(labels)) == len(labels)


def test_a_year_is_marked_by_months(in_berlin):
    found, labels = ticks(moment(2026, 1, 10), moment(2026, 11, 20))
    assert labels == ["Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov"]
    assert {(tick.day, tick.hour) for tick in found} == {(1, 0)}


def test_weeks_begin_on_monday(in_berlin):
    found, _ = ticks(moment(2026, 3, 1), moment(2026, 4, 20))
    assert {tick.weekday() for tick in found} == {0}
    assert {tick.hour for tick in found} == {0}


def test_several_years_are_marked_by_quarters_with_the_year(in_berlin):
    _, labels = ticks(moment(2024, 11, 5), moment(2026, 2, 5))
    assert labels == ["Jan 2025", "Apr 2025", "Jul 2025", "Oct 2025", "Jan 2026"]


def test_one_day_is_marked_by_hours(in_berlin):
    _, labels = ticks(moment(2026, 6, 1, 1), moment(2026, 6, 2, 1))
    assert labels == ["06:00", "12:00", "18:00", "00:00"]


def test_a_moment_is_told_in_the_local_zone(in_berlin):
    assert local_day_and_time(moment(2026, 5, 29, 9, 12)) == "29 May, 09:12"
