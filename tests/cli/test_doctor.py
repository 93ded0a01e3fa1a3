import json

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore


@pytest.fixture
def folder(tmp_path):
    """A profile on a computer without a keyring."""
    ProfileStore(tmp_path).save(Profile("p-1", "St. Anne clinic", "service", "https://voice.example", "acc-1"))
    return tmp_path


def doctor(*arguments):
    return CliRunner().invoke(app, ["doctor", *arguments])


def test_it_prints_a_checklist_by_profile_and_ends_with_status_1_while_something_needs_mending(folder):
    done = doctor("--data-dir", folder)
    assert done.exit_code == 1, done.output
    computer, profile, end = done.stdout.split("\n\n")
    assert "MEND  keyring: This computer has no keyring." in computer
    assert profile.splitlines() == ["St. Anne clinic", "ok    recordings: There are none yet."]
    assert end == "To be fixed: 1. Your recordings are kept.\n"
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


def test_a_fresh_computer_needs_no_mending(tmp_path):
    done = doctor("--data-dir", tmp_path)
    assert done.exit_code == 0
    assert done.stdout.endswith("Nothing needs to be fixed.\n")


def test_the_bundle_is_written_where_it_was_asked_for(folder, tmp_path):
    bundle = tmp_path / "for-support.json"
    done = doctor("--data-dir", folder, "--bundle", bundle, "--json")
    assert done.exit_code == 1
    assert json.loads(bundle.read_text()) == json.loads(done.stdout)
    assert "it names nobody" in done.stderr
    assert "St. Anne" not in bundle.read_text()


def test_a_bundle_that_cannot_be_written_is_said(folder):
    done = doctor("--data-dir", folder, "--bundle", folder / "nowhere" / "bundle.json")
    assert done.exit_code == 1
    assert "cannot be written: No such file or directory." in done.stderr
