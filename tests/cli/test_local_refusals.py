"""What a person reads when the recordings of this computer cannot be opened: in the own language, in desk and command.

Each fault is made on the disk, as a person meets it.
"""

import base64
import re
import shutil
import sqlite3
from contextlib import closing

import pytest
import typer

from list_by_hand import list_by_hand
from vbdesk.cli.locked_library import locked_library
from vbdesk.desk.flow.tasks import Failure
from vbdesk.language import Language, reading_in
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, known_library_key, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault

PSEUDO = Language("en_XA", "en_GB")
PROFILE = Profile("p-1", "ward", "service", "https://voice.example", "acc-1")


def run_sql(text):
    def spoil(folder, vault):
        with list_by_hand(folder, known_library_key(vault, PROFILE)) as database:
            database.execute(text)

    return spoil


def damage(folder, vault):
    (folder / "library.sqlite").write_bytes(b"no database" * 1000)


def lose_list(folder, vault):
    (folder / "library.sqlite").unlink()
    (folder / "library.sqlite-wal").write_bytes(b"log")


def change_key(folder, vault):
    vault.set(PROFILE.library_key_name, base64.b64encode(bytes(32)).decode())


def lose_key(folder, vault):
    vault.delete(PROFILE.library_key_name)


def put_file_in_place(folder, vault):
    shutil.rmtree(folder)
    folder.write_text("a file")


FAULTS = {
    "made by a newer version": run_sql("UPDATE library SET schema_version = 9999"),
    "a table is missing": run_sql("DROP TABLE recordings"),
    "no version": run_sql("DELETE FROM library"),
    "damaged": damage,
    "a log without its list": lose_list,
    "another key": change_key,
    "no key": lose_key,
    "a file instead of a folder": put_file_in_place,
}


@pytest.fixture
def vault():
    return MemoryVault()


@pytest.fixture
def folder(tmp_path, vault):
    """A profile with a library that nobody has open."""
    ProfileStore(tmp_path).save(PROFILE)
    folder = library_folder(tmp_path, PROFILE.profile_id)
    LockedLibrary(PROFILE, folder, vault).close()
    return folder


def outside_of_brackets(text):
    """The words that a translation into the pseudo-language has not reached."""
    while (inner := re.sub(r"\[[^][]*\]", "", text)) != text:
        text = inner
    return text.split()


def told_by_command(tmp_path, vault, capsys):
    with reading_in(PSEUDO), pytest.raises(typer.Exit), locked_library("ward", tmp_path, vault):
        pass
    return capsys.readouterr().err


def told_by_desk(folder, vault):
    with reading_in(PSEUDO):
        with pytest.raises(Exception) as raised:
            LockedLibrary(PROFILE, folder, vault).close()
        return Failure.of(raised.value).sentence


@pytest.mark.parametrize("fault", FAULTS)
def test_a_library_that_does_not_open_is_told_in_the_readers_language(tmp_path, folder, vault, capsys, fault):
    FAULTS[fault](folder, vault)
    said = told_by_command(tmp_path, vault, capsys), told_by_desk(folder, vault)
    assert all(said)
    assert [outside_of_brackets(text) for text in said] == [[], []]


def test_a_library_in_use_is_told_in_the_readers_language(tmp_path, folder, vault, capsys):
    with closing(LockedLibrary(PROFILE, folder, vault)):
        said = told_by_command(tmp_path, vault, capsys), told_by_desk(folder, vault)
    assert [outside_of_brackets(text) for text in said] == [[], []]


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_ERROR"])
def test_a_disk_that_fails_while_a_command_works_is_told_in_the_readers_language(tmp_path, folder, vault, capsys, name):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = name
    with reading_in(PSEUDO), pytest.raises(typer.Exit), locked_library("ward", tmp_path, vault):
        raise error
    said = capsys.readouterr().err
    assert outside_of_brackets(said) == []
    assert "disk is full" not in said
