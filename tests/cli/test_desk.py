"""`vbdesk desk`: without a display, and how it hands over to the window."""

import gc

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app


@pytest.fixture
def nowhere(monkeypatch):
    """A session without a display."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")


def test_without_a_display_the_desk_says_so_in_one_line(nowhere):
    done = CliRunner().invoke(app, ["desk"])
    assert done.exit_code == 1
    assert done.stderr == "There is no display here. Start the desk in a graphical session.\n"


def test_light_and_dark_exclude_each_other():
    done = CliRunner().invoke(app, ["desk", "--light", "--dark"])
    assert done.exit_code == 2
    assert done.stderr == "Choose --light or --dark, not both.\n"


def test_no_garbage_is_collected_before_the_window_collects_it(monkeypatch, tmp_path):
    collecting = []

    def run(ports, scheme, profile, file):
        collecting.append(gc.isenabled())
        return 3

    monkeypatch.setattr("vbdesk.desk.shell.app.run", run)
    monkeypatch.setattr("vbdesk.outbox.diagnostics.log_file.start_log", lambda folder: None)
    done = CliRunner().invoke(app, ["desk", "--data-dir", str(tmp_path)])
    assert (done.exit_code, collecting) == (3, [False])
    assert gc.isenabled()
