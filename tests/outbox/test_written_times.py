"""Dates and times in names and cells: what is meant is found, what is ambiguous is refused."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.imports.written_times import moment_of, read_time, time_in_name, written_in

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ward4-0172_2026-11-01_14-30", "2026-11-01 14:30"),
        ("ward4-0172_20261101_143005", "2026-11-01 14:30:05"),
        ("20261101143000_take2", "2026-11-01 14:30"),
        ("01.11.2026 14h30", "2026-11-01 14:30"),
        ("S7_1.2.2026_14.30", "2026-02-01 14:30"),
        ("2026_11_01_14_30_05", "2026-11-01 14:30:05"),
        ("143000_20261101", "2026-11-01 14:30"),
        ("REC_2026-11-01T14-30-05Z", "2026-11-01 14:30:05+00:00"),
        ("20261101T143000-0500", "2026-11-01 14:30-05:00"),
        ("visit 14:30 on 2026-11-01", "2026-11-01 14:30"),
        ("2026-11-01", "2026-11-01"),
        ("2026-11-01_01_02", "2026-11-01"),
        ("2026-11-01_0172", "2026-11-01"),
        ("2026-11-01 02-30 pm", "2026-11-01"),
        ("12345678", ""),
        ("20261301_1200", ""),
        ("2026-02-30_1200", ""),
        ("0172", ""),
    ],
)
def test_a_name_gives_its_date_and_its_time_of_day(name, found):
    assert str(time_in_name(name)) == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("03-04-2026", "exchanged"),
        ("S7_03_04_2026_1200", "exchanged"),
        ("2026-11-01_2026-11-02", "two dates"),
        ("120000_2026-11-01_143000", "two times"),
        ("20261101_143000-0200", "an offset or a number"),
    ],
)
def test_what_could_mean_two_things_is_refused_in_a_name(name, words):
    with pytest.raises(ValueError, match=words):
        time_in_name(name)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-11-01 14:30", "2026-11-01 14:30"),
        ("2026-11-01T14:30:05.25Z", "2026-11-01 14:30:05.250000+00:00"),
        ("01.02.2026 14.30", "2026-02-01 14:30"),
        ("1.2.2026, 9:05", "2026-02-01 09:05"),
        ("20261101 1430", "2026-11-01 14:30"),
        ("14h30", "14:30"),
        (" 2026-11-01 ", "2026-11-01"),
        ("", ""),
    ],
)
def test_a_typed_time_is_read_and_reads_as_itself(text, read):
    assert str(read_time(text)) == read
    assert read_time(read) == read_time(text)


@pytest.mark.parametrize(
    "text",
    ["03/04/2026", "3-4-2026 10:00", "yesterday", "31.02.2026", "2026-11-01 25:00", "2:30 pm", "2026", "٢٠٢٦-١١-٠١"],
)
def test_a_time_that_is_not_clear_is_refused_with_advice(text):
    with pytest.raises(ValueError, match=r"Write it as 2026-"):
        read_time(text)


def test_the_hours_of_a_clock_change_are_asked_for():
    with pytest.raises(ValueError, match=r"does not exist in Europe/Berlin: the clocks went forward"):
        moment_of(read_time("2026-03-29 02:30"), BERLIN)
    with pytest.raises(ValueError, match=r"occurred twice .* Write it as 02:30\+02:00 or 02:30\+01:00\."):
        moment_of(read_time("2026-10-25 02:30"), BERLIN)
    late = moment_of(read_time("2026-10-25 02:30+01:00"), BERLIN)
    assert late == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert moment_of(written_in(late, BERLIN), BERLIN) == late
    assert moment_of(read_time("2026-07-01 12:00"), BERLIN) == datetime(2026, 7, 1, 10, tzinfo=UTC)
    with pytest.raises(ValueError, match="time of day is missing"):
        moment_of(read_time("2026-07-01"), BERLIN)


@pytest.mark.parametrize(
    ("pattern", "name", "subject", "time"),
    [
        ("{subject}_{date}_{time}", "S_01_20261101_143000.wav", "S_01", "2026-11-01 14:30"),
        ("{subject}/*", "visit/S7/x.wav", "S7", ""),
        ("{subject}_{day}-{month}-{year}_{time}", "a_03-04-2026_14h30.wav", "a", "2026-04-03 14:30"),
        ("*_{subject}", "2026-11-01_0172.wav", "0172", ""),
        ("", "S7_2026-11-01_14-30.wav", "", "2026-11-01 14:30"),
    ],
)
def test_a_pattern_finds_subject_and_time(pattern, name, subject, time):
    found = NamePattern(pattern).find(Path("/data") / name)
    assert (found.subject, str(found.written), found.fault) == (subject, time, None)


def test_a_name_that_does_not_fit_a_pattern_says_so():
    assert NamePattern("{subject}_{date}").find(Path("x.wav")).fault == "The name does not fit the pattern."
    assert "no such day" in NamePattern("{subject}_{day}-{month}-{year}").find(Path("a_31-02-2026.wav")).fault


@pytest.mark.parametrize("pattern", ["{person}", "*", "{date}{date}", "plain", "*a*b*c*d*e{subject}"])
def test_a_wrong_pattern_says_how_to_write_it(pattern):
    with pytest.raises(ValueError, match=r"\{|Use"):
        NamePattern(pattern).check()
