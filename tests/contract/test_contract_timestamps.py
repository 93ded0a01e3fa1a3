"""Timestamps of the interface."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbdesk.contract.timestamps import (
    add_clamped,
    format_timestamp,
    from_unix_seconds,
    is_plausible_now,
    parse_timestamp,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T09:30:00Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01T09:30:00", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01T09:30Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01T09:30", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01 09:30-05:30", datetime(2026, 3, 1, 15, 0, tzinfo=UTC)),
        ("2026-03-01T09:30:00.5Z", datetime(2026, 3, 1, 9, 30, 0, 500_000, tzinfo=UTC)),
        ("2026-03-01T09:30:00.123+05:30", datetime(2026, 3, 1, 4, 0, 0, 123_000, tzinfo=UTC)),
        ("2026-03-01T09:30:00.1234567-02:00", datetime(2026, 3, 1, 11, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-02-28T23:59:59-01:00", datetime(2026, 3, 1, 0, 59, 59, tzinfo=UTC)),
    ],
)
def test_every_allowed_form_is_read(text, expected):
    assert parse_timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-03-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-03-01T25:00:00Z",
     "2026-03-01T09Z", "2026-03-01T09:30.5Z", "2026-03-01T09:3Z", "2026-03-01T09:60Z", "2026-03-01T09:30:",
     "2026-03-01T09:30:00+5", "2026-03-01T09:30:00+01:75", "2026-03-01T09:30:00+99:00",
     "0001-01-01T00:00:00+02:00", "1772357400"],
)  # fmt: skip
def test_any_other_form_is_rejected_with_advice(text):
    with pytest.raises(ValueError, match=r"Give the time as ISO 8601, for example 2026-03-01T09:30:00Z\.$"):
        parse_timestamp(text)


def test_the_output_form_is_utc_with_microseconds():
    there = timezone(timedelta(hours=2))
    assert format_timestamp(datetime(2026, 3, 1, 9, 30, tzinfo=there)) == "2026-03-01T07:30:00.000000Z"
    assert format_timestamp(datetime(2026, 3, 1, 9, 30)) == "2026-03-01T09:30:00.000000Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_formatted_timestamps_are_parsed_back(moment):
    assert parse_timestamp(format_timestamp(moment)) == moment


@given(st.datetimes(timezones=st.just(UTC)), st.timedeltas())
def test_a_step_out_of_the_calendar_ends_at_its_edge(moment, step):
    try:
        expected = moment + step
    except OverflowError:
        expected = (datetime.max if step.days >= 0 else datetime.min).replace(tzinfo=UTC)
    assert add_clamped(moment, step) == expected
    last = datetime.max.replace(tzinfo=UTC)
    assert add_clamped(last, timedelta(microseconds=1)) == last


def test_a_clock_is_plausible_from_2025_to_2049():
    moments = [
        datetime(year, 1, 1, tzinfo=UTC) - timedelta(microseconds=early) for year in (2025, 2050) for early in (1, 0)
    ]
    assert [is_plausible_now(moment) for moment in moments] == [False, True, True, False]


@pytest.mark.parametrize("moment", [datetime.max, datetime.min])
def test_seconds_beyond_the_calendar_give_its_edge(moment):
    edge = moment.replace(tzinfo=UTC)
    assert from_unix_seconds(1e18 if moment == datetime.max else -1e18) == edge
    assert from_unix_seconds(float("nan")) == from_unix_seconds(0) == datetime(1970, 1, 1, tzinfo=UTC)
