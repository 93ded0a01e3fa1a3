"""How the program is started: its version, and the window without a console."""

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vbdesk import __main__, __version__
from vbdesk.cli import without_console
from vbdesk.cli.main import app

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_version_is_that_of_the_package():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"vbdesk {__version__}\n")
    assert PROJECT["version"] == __version__


def test_the_version_is_also_that_of_the_program_itself():
    done = subprocess.run([sys.executable, "-m", "vbdesk", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"vbdesk {__version__}\n", "")


def started_without_a_console(monkeypatch, *arguments):
    """Start the window as `pythonw` does, without standard streams; returns how it ended and the message boxes."""
    shown: list[str] = []
    monkeypatch.setattr(without_console, "show_box", shown.append)
    monkeypatch.setattr(sys, "argv", ["vbdesk-desk", *arguments])
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        patched.setattr(sys, "stderr", None)
        with pytest.raises((SystemExit, RuntimeError)) as end:
            __main__.run_desk()
    return end.value, shown


def test_without_a_console_a_failure_is_shown_in_a_box(monkeypatch):
    end, shown = started_without_a_console(monkeypatch, "--light", "--dark")
    assert (end.code, shown) == (2, ["Choose --light or --dark, not both."])


def test_without_a_console_an_unexpected_error_is_shown_too(monkeypatch):
    def broken():
        raise RuntimeError("secret")

    monkeypatch.setattr(__main__, "run", broken)
    end, shown = started_without_a_console(monkeypatch)
    assert isinstance(end, RuntimeError)
    assert len(shown) == 1
    assert "secret" not in shown[0]


def test_without_a_console_an_orderly_end_shows_nothing(monkeypatch):
    end, shown = started_without_a_console(monkeypatch, "--help")
    assert (end.code, shown) == (0, [])


def test_the_command_for_the_window_has_no_console():
    assert PROJECT["gui-scripts"] == {"vbdesk-desk": "vbdesk.__main__:run_desk"}
    installed = entry_points(group="console_scripts", name="vbdesk")
    assert [entry.load() for entry in installed] == [__main__.run]
