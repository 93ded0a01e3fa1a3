"""What commands print."""

from datetime import UTC, datetime

import pytest
import typer

from vbdesk.cli.output import fail, local_time, table


def test_a_table_has_its_columns_below_one_another_and_dashes_for_nothing():
    assert table(("name", "jobs"), [("a", 10), ("longer", None)]) == "name    jobs\na       10\nlonger  -"
    assert table(("name",), []) == "There are none."


def test_what_a_service_writes_cannot_steer_the_terminal(capsys):
    assert "\x1b" not in table(("name",), [("\x1b[2Jgone",)])
    with pytest.raises(typer.Exit):
        fail("No.\n\x1b]0;title\x07 Really.")
    assert capsys.readouterr().err == "No. \\x1b]0;title\\x07 Really.\n"


def test_times_are_shown_as_the_clock_here_shows_them():
    moment = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert local_time(moment) == moment.astimezone().strftime("%Y-%m-%d %H:%M")
    assert local_time(None) is None
