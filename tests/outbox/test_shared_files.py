"""Files that are read while they are written, under Windows' rules."""

import errno
import json
import sys
import threading
from pathlib import Path

import pytest

import windows_files
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.outbox.profiles import shared_files
from vbdesk.outbox.profiles.encrypted_vault import write_json_atomically
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore

PROFILE = Profile("p-1", "St. Anne clinic", "service", "https://voice.example", "acc-1")
under_the_rules = pytest.mark.skipif(sys.platform not in ("linux", "win32"), reason="an open file may be replaced here")


def write_profiles(folder):
    ProfileStore(folder).rename("p-1", "Ward 4")


def write_preferences(folder):
    PreferenceStore(folder).change(maximized=True)


def write_secrets(folder):
    write_json_atomically(folder / "secrets.json", {"sealed": {}})


@pytest.fixture
def folder(tmp_path):
    ProfileStore(tmp_path).save(PROFILE)
    write_preferences(tmp_path)
    write_secrets(tmp_path)
    return tmp_path


@under_the_rules
@pytest.mark.parametrize(
    ("name", "write"),
    [("profiles.json", write_profiles), ("preferences.json", write_preferences), ("secrets.json", write_secrets)],
)
def test_a_reader_delays_a_write_and_does_not_refuse_it(folder, monkeypatch, name, write):
    reader = (folder / name).open()
    waits = []

    def wait(seconds):
        waits.append(seconds)
        reader.close()

    monkeypatch.setattr(shared_files.time, "sleep", wait)
    before = len(windows_files.refused)
    write(folder)
    assert len(waits) == 1
    assert sys.platform == "win32" or len(windows_files.refused) == before + 1
    assert json.loads((folder / name).read_text())
    assert not (folder / name).with_suffix(".new").exists()


@under_the_rules
def test_a_file_that_stays_open_is_refused_in_the_end_and_left_as_it_is(folder, monkeypatch):
    monkeypatch.setattr(shared_files, "_TRIES", 2)
    with (folder / "profiles.json").open(), pytest.raises(PermissionError):
        write_profiles(folder)
    assert ProfileStore(folder).all() == [PROFILE]


def test_a_write_delays_a_reader_and_does_not_refuse_it(folder, monkeypatch):
    waits, opened = [], Path.open

    def refuse_once(path, *args, **options):  # as Windows while the file is being replaced
        if not waits:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse_once)
    monkeypatch.setattr(shared_files.time, "sleep", waits.append)
    assert ProfileStore(folder).all() == [PROFILE]
    assert len(waits) == 1


def test_profiles_are_written_while_another_thread_reads_them_all_the_time(folder):
    store, ended, found = ProfileStore(folder), threading.Event(), set()

    def read():
        while not ended.is_set():
            found.add(store.all()[0].name)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            store.rename("p-1", f"Ward {number}")
    finally:
        ended.set()
        reader.join()
    assert store.all()[0].name == "Ward 59"
    assert found <= {"St. Anne clinic", *(f"Ward {number}" for number in range(60))}
