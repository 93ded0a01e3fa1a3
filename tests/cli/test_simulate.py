"""`vbdesk simulate longitudinal`: tables beside the published ones."""

import os

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.lab.commands.simulate import BEGIN, END

FEW = ("--subjects", "30", "--class", "slow")


def simulate(*options):
    return CliRunner().invoke(app, ["simulate", "longitudinal", *options])


@pytest.fixture(scope="module")
def printed():
    return simulate(*FEW)


def test_every_table_shows_measured_and_published_figures(printed):
    assert printed.exit_code in (0, 1)
    assert printed.stdout.startswith("Seed 20240611, 30 stable subjects on the weekly schedule")
    for title in ("Bars", "False alarms", "Power and delay", "Coverage", "One outlying day", "rolls over 540"):
        assert title in printed.stdout
    line = next(line for line in printed.stdout.splitlines() if line.startswith("| slow | weekly | step_2 |"))
    assert "(0.89)" in line


def test_a_missed_bar_is_named_and_ends_with_status_1(printed):
    missed = sum("| NO |" in line for line in printed.stdout.splitlines())
    assert (printed.exit_code == 1) == (missed > 0)
    assert f"Bars that are missed: {missed}." in printed.stderr if missed else printed.stderr == ""


def test_the_tables_go_between_the_marks_of_a_file(printed, tmp_path):
    page = tmp_path / "method.md"
    page.write_text(f"Before.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    simulate(*FEW, "--write", str(page))
    assert page.read_text() == f"Before.\n\n{BEGIN}\n{printed.stdout}{END}\n\nAfter.\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--class", "middling"), "There is no class middling. Choose one of: fast, slow."),
        (("--write", "none.md"), "none.md cannot be opened: No such file or directory."),
        (("--subjects", "3"), "30"),
    ],
)
def test_invalid_options_are_reported(options, sentence):
    result = simulate(*options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_file_is_reported_before_the_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    page.chmod(0o444)
    result = simulate("--write", str(page))
    assert (result.exit_code, result.stderr) == (2, "page.md cannot be opened: Permission denied.\n")


def test_a_file_without_marks_is_unchanged(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("No marks.")
    result = simulate("--write", str(page))
    assert result.exit_code == 2
    assert "lacks the marks" in result.stderr
    assert page.read_text() == "No marks."
