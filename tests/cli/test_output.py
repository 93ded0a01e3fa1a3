"""What commands print."""

from datetime import UTC, datetime

import pytest
import typer

from vbdesk.cli.output import columns, fail, local_time, table, wrapped

HEADS = ("Sign", "Latest", "Interval", "Unusual", "Trend")
ROWS = [
    ("Elevated Blood Pressure", "0.11", "0.08 to 0.15", "no", "Too early for a trend"),
    ("Fatigue", "0.25", "0.21 to 0.28", None, "Rising, +0.20 a week"),
]
WHOLE = {"0.11", "0.08 to 0.15", "0.25", "0.21 to 0.28", "Latest", "Interval", "Pressure", "Rising,"}


@pytest.fixture
def terminal_of(monkeypatch):
    """Print into a terminal with that many columns."""

    def use(columns_shown):
        monkeypatch.setenv("COLUMNS", str(columns_shown))

    return use


def test_a_table_has_its_columns_below_one_another_and_dashes_for_nothing():
    assert table(("name", "jobs"), [("a", 10), ("longer", None)]) == ["name    jobs", "a       10", "longer  -"]
    assert table(("name",), []) == ["There are none."]


def test_a_file_gets_each_row_in_one_line(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(table(HEADS, [("Sign of a long name " * 20, "1", "2", "3", "4")])) == 2


def test_a_narrow_terminal_gets_words_below_one_another_and_whole_numbers(terminal_of):
    terminal_of(60)
    assert table(HEADS, ROWS) == [
        "Sign          Latest  Interval      Unusual  Trend",
        "Elevated      0.11    0.08 to 0.15  no       Too early for a",
        "Blood                                        trend",
        "Pressure",
        "Fatigue       0.25    0.21 to 0.28  -        Rising, +0.20 a",
        "                                             week",
    ]


def test_a_very_narrow_terminal_gets_a_paragraph_for_each_row(terminal_of):
    terminal_of(40)
    assert table(HEADS, ROWS) == [
        "Sign        Elevated Blood Pressure",
        "  Latest    0.11",
        "  Interval  0.08 to 0.15",
        "  Unusual   no",
        "  Trend     Too early for a trend",
        "Sign        Fatigue",
        "  Latest    0.25",
        "  Interval  0.21 to 0.28",
        "  Unusual   -",
        "  Trend     Rising, +0.20 a week",
    ]


@pytest.mark.parametrize("room", range(40, 100))
def test_no_width_of_a_terminal_cuts_a_number_or_word(terminal_of, room):
    terminal_of(room)
    lines = table(HEADS, ROWS)
    assert max(map(len, lines)) <= room
    assert {text for text in WHOLE if any(text in line for line in lines)} == WHOLE


def test_fields_of_one_thing_are_wrapped_in_a_narrow_terminal(terminal_of):
    terminal_of(30)
    assert columns(("Job", "job-17"), ("Asked for", "Elevated Blood Pressure")) == [
        "Job        job-17",
        "Asked for  Elevated Blood",
        "           Pressure",
    ]
    assert wrapped("One sentence of several words", "Scale ") == ["Scale One sentence of several", "      words"]


def test_marks_above_letters_take_no_room_in_a_table():
    assert table(("a", "b"), [("e\N{COMBINING ACUTE ACCENT}e", "1"), ("ee", "2")])[1:] == [
        "e\N{COMBINING ACUTE ACCENT}e  1",
        "ee  2",
    ]


def test_what_a_service_writes_cannot_steer_the_terminal(capsys):
    assert "\x1b" not in "".join(table(("name",), [("\x1b[2Jgone",)]))
    with pytest.raises(typer.Exit):
        fail("No.\n\x1b]0;title\x07 Really.")
    assert capsys.readouterr().err == "No. \\x1b]0;title\\x07 Really.\n"


def test_times_are_shown_as_the_clock_here_shows_them():
    moment = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert local_time(moment) == moment.astimezone().strftime("%Y-%m-%d %H:%M")
    assert local_time(None) is None
