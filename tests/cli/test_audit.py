import base64
import json
import shutil
from contextlib import closing
from dataclasses import replace

import keyring
import pytest
from keyring.backend import KeyringBackend
from typer.testing import CliRunner

from list_by_hand import list_by_hand
from patience import HANGS_S
from vbdesk.cli.main import app
from vbdesk.outbox.diagnostics.list_check import LIST_MISSING, STRUCTURE_DIFFERS
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.integrity_check import HELD, OLDER_COPY
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, known_library_key, library_folder
from vbdesk.outbox.profiles.vault import KeyringVault

PROFILE = Profile("p-1", "St. Anne clinic", "service", "https://voice.example", "acc-1")


class Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = -1  # never selected automatically

    def __init__(self):
        super().__init__()
        self.secrets = {}

    def get_password(self, service, username):
        return self.secrets.get((service, username))

    def set_password(self, service, username, password):
        self.secrets[service, username] = password


@pytest.fixture(autouse=True)
def backend():
    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    yield keyring.get_keyring()
    keyring.set_keyring(before)


@pytest.fixture
def folder(tmp_path):
    """A profile with a library that two parts have opened."""
    ProfileStore(tmp_path).save(PROFILE)
    folder = library_folder(tmp_path, PROFILE.profile_id)
    for part in (AuditPart.DESK, AuditPart.COMMAND_LINE):
        library = LockedLibrary(PROFILE, folder, KeyringVault(read_timeout_s=HANGS_S), part=part)
        library.note(AuditAction.EXPORTED, "take-1", "csv")
        library.close()
    return folder


def audit(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


def cut_end(folder):
    with list_by_hand(folder, known_library_key(KeyringVault(read_timeout_s=HANGS_S), PROFILE)) as database:
        database.execute("DROP TRIGGER audit_is_never_shortened")
        database.execute("DELETE FROM audit WHERE seq = 4")


def test_a_whole_log_is_said_so(folder, tmp_path):
    done = audit("verify", "--data-dir", tmp_path)
    whole = "The audit log is whole: it runs from entry 1 to entry 4, and nothing was changed.\n"
    assert (done.exit_code, done.output) == (0, whole)


def test_a_log_cut_at_its_end_ends_with_status_1(folder, tmp_path):
    cut_end(folder)
    done = audit("verify", "--data-dir", tmp_path, "--profile", "St. Anne clinic")
    assert done.exit_code == 1
    assert "Entry 4 is missing at its end." in done.output
    done = audit("verify", "--data-dir", tmp_path, "--json")
    assert done.exit_code == 1
    document = json.loads(done.output)
    assert document.pop("findings")[0] == STRUCTURE_DIFFERS  # the test had to drop a trigger
    assert document == {"ok": False, "entries": 3, "broken_at": 4}


def test_the_log_is_shown_as_a_list_and_as_json(folder, tmp_path):
    lines = audit("show", "--data-dir", tmp_path).output.splitlines()
    assert [line[29:41].strip() for line in lines] == ["desk", "desk", "command line", "command line"]
    assert lines[1].split()[-3:] == ["exported", "take-1", "csv"]
    entries = json.loads(audit("show", "--data-dir", tmp_path, "--json").output)
    assert [entry["what"] for entry in entries] == ["library opened", "exported"] * 2
    assert entries[3]["account_id"] == "acc-1"


def test_a_changed_log_is_shown_with_a_warning(folder, tmp_path):
    cut_end(folder)
    done = audit("show", "--data-dir", tmp_path)
    assert done.exit_code == 1
    assert "exported" in done.stdout
    assert "The audit log was changed." in done.stderr


@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        (None, 4, "not in the keyring"),
        (base64.b64encode(bytes(32)).decode(), 1, "another key"),
        ("damaged", 4, "as it was given"),
    ],
)
def test_without_the_right_key_it_says_what_is_missing(folder, tmp_path, backend, key, status, words):
    backend.secrets["vbdesk", PROFILE.library_key_name] = key
    done = audit("verify", "--data-dir", tmp_path)
    assert (done.exit_code, words in done.stderr) == (status, True), done.stderr


def test_a_restored_copy_is_accepted_and_the_log_keeps_it(folder, tmp_path):
    shutil.copy(folder / "library.sqlite", tmp_path / "yesterday")
    with closing(LockedLibrary(PROFILE, folder, KeyringVault(read_timeout_s=HANGS_S))) as library:
        library.change_settings(paused=True)
    shutil.copy(tmp_path / "yesterday", folder / "library.sqlite")
    with closing(LockedLibrary(PROFILE, folder, KeyringVault(read_timeout_s=HANGS_S))) as library:
        assert library.findings == (OLDER_COPY, HELD)
    done = audit("accept-copy", "--data-dir", tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [OLDER_COPY, "You accepted the list as it is. Recordings are sent again."]
    assert "restored copy accepted" in audit("show", "--data-dir", tmp_path).output
    assert audit("verify", "--data-dir", tmp_path).exit_code == 0
    done = audit("accept-copy", "--data-dir", tmp_path)
    assert (done.exit_code, "nothing to accept" in done.stderr) == (4, True)


def test_an_unknown_profile_or_a_library_that_is_not_there_is_said(folder, tmp_path):
    assert audit("verify", "--data-dir", tmp_path, "--profile", "nobody").exit_code == 2
    ProfileStore(tmp_path).save(replace(PROFILE, profile_id="p-2", name="New"))
    key = base64.b64encode(bytes(32)).decode()
    KeyringVault(read_timeout_s=HANGS_S).set("profile/p-2/library-key", key)
    done = audit("verify", "--data-dir", tmp_path, "--profile", "New")
    assert (done.exit_code, done.stderr) == (1, "There are no recordings here yet.\n")


def test_an_older_list_put_back_is_not_called_unchanged(folder, tmp_path):
    shutil.copy(folder / "library.sqlite", tmp_path / "yesterday")
    with closing(LockedLibrary(PROFILE, folder, KeyringVault(read_timeout_s=HANGS_S))) as library:
        library.change_settings(paused=True)
    shutil.copy(tmp_path / "yesterday", folder / "library.sqlite")
    before = contents(folder)
    done = audit("verify", "--data-dir", tmp_path)
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "The entries of the audit log that are here, 4 in all, are as vbdesk wrote them.",
        OLDER_COPY,
    ]
    document = json.loads(audit("verify", "--data-dir", tmp_path, "--json").stdout)
    assert document == {"ok": False, "entries": 4, "broken_at": None, "findings": [OLDER_COPY]}
    done = audit("show", "--data-dir", tmp_path)
    assert (done.exit_code, OLDER_COPY in done.stderr) == (1, True)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "lose",
    [
        lambda folder: (folder / "library.sqlite").unlink(),
        lambda folder: [(folder / name).unlink() for name in ("library.sqlite", "library.mark")],
        shutil.rmtree,
    ],
)
@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_lost_list_is_not_called_a_new_one(folder, tmp_path, lose, command):
    lose(folder)
    done = audit(command, "--data-dir", tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"{LIST_MISSING}\n")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
