import json
import sys
from shutil import disk_usage

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.language import language_of, reading_in
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


def test_files_in_place_of_the_folders_are_told(monkeypatch, tmp_path):
    for name in ("data", "config"):
        (tmp_path / name).touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_: tmp_path / "data" / "vbdesk")
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_: tmp_path / "config" / "vbdesk")
    measured = []
    monkeypatch.setattr("shutil.disk_usage", lambda folder: measured.append(folder) or disk_usage(folder))
    done = doctor()
    assert done.exit_code == 1
    assert measured == [tmp_path]  # Windows measures no disk by a file
    told = " ".join(done.stdout.split())
    assert f"MEND disk: {tmp_path / 'data'} is a file, where the recordings need a folder. Move it away." in told
    if sys.platform != "win32":  # it calls such a file missing
        assert f"{tmp_path / 'config' / 'vbdesk' / 'profiles.json'} cannot be read: Not a directory." in told


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / "service" / "desk-key.json").mkdir(parents=True)
    done = doctor("--data-dir", tmp_path)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{tmp_path / 'service' / 'desk-key.json'} cannot be read: ")


def test_a_home_folder_that_does_not_exist_is_told_and_not_made(monkeypatch, tmp_path):
    home = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    done = doctor("--data-dir", home / "vbdesk")
    assert done.exit_code == 1
    assert f"Your home folder {home} does not exist." in " ".join(done.stdout.split())
    assert "microphones: They were not looked for" in done.stdout
    assert not home.exists()
    elsewhere = doctor("--data-dir", tmp_path)
    assert (elsewhere.exit_code, home.exists()) == (0, False)


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("de", ["gut      Datenträger: ", "Hinweis  Profile: "]),
        ("fr", ["bon         disque", "note        profils"]),
    ],
)
def test_marks_stand_in_one_column_in_every_language(tmp_path, language, lines):
    with reading_in(language_of(language)):
        done = doctor("--data-dir", tmp_path)
    found = done.stdout.splitlines()
    for line in lines:
        assert any(each.startswith(line) for each in found), done.stdout


def test_the_colon_follows_the_rules_of_the_language(tmp_path):
    with reading_in(language_of("fr")):
        done = doctor("--data-dir", tmp_path)
    assert "disque\u202f: " in done.stdout
