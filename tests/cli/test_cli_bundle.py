"""The commands that field staff and the office type, on two computers with keyrings of their own."""

import json
from datetime import UTC, datetime

import keyring
import numpy as np
import pytest
from keyring.backend import KeyringBackend
from typer.testing import CliRunner

from vbdesk.capture.sealed import SealedTakeWriter
from vbdesk.cli.main import app
from vbdesk.outbox.bundle_file import read_head
from vbdesk.outbox.items import TakeMetadata, Target
from vbdesk.outbox.opening import HeldLibrary
from vbdesk.outbox.profiles import Profile, ProfileStore, library_folder
from vbdesk.outbox.states import OutboxState
from vbdesk.outbox.vault import KeyringVault

PROFILE = Profile("p1", "Study", "service", "https://voice.example", "acc-1")
MORNING = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
PASSPHRASE = "seven boats on the lake"


class KeyringOfOneComputer(KeyringBackend):
    """A keyring without a disk."""

    priority = 1

    def __init__(self):
        super().__init__()
        self.secrets = {}

    def get_password(self, service, username):
        return self.secrets.get((service, username))

    def set_password(self, service, username, password):
        self.secrets[service, username] = password

    def delete_password(self, service, username):
        del self.secrets[service, username]


class Computer:
    """A folder of the desk, a keyring, and somebody who types."""

    def __init__(self, folder):
        self.folder = folder
        self.keyring = KeyringOfOneComputer()
        ProfileStore(folder).save(PROFILE)

    def type(self, *words, answers=()):
        before = keyring.get_keyring()
        keyring.set_keyring(self.keyring)
        try:
            typed = "".join(f"{answer}\n" for answer in answers)
            return CliRunner().invoke(app, ["bundle", *map(str, words), "--data-dir", str(self.folder)], input=typed)
        finally:
            keyring.set_keyring(before)

    def library(self):
        before = keyring.get_keyring()
        keyring.set_keyring(self.keyring)
        try:
            return HeldLibrary(PROFILE, library_folder(self.folder, PROFILE.profile_id), KeyringVault())
        finally:
            keyring.set_keyring(before)

    def states(self):
        library = self.library()
        try:
            return [item.state for item in library.list()]
        finally:
            library.close()


@pytest.fixture
def field(tmp_path):
    """A laptop on which two recordings wait."""
    computer = Computer(tmp_path / "field")
    library = computer.library()
    for number in range(2):
        path = library.recording_folder / f"{number}.take"
        writer = SealedTakeWriter(path, library.store.key, 8000)
        writer.append(np.zeros(16 * 8000, np.int16))
        writer.close()
        facts = TakeMetadata(f"ward4-{number}", MORNING, Target("model", "pulse"))
        library.queue(library.add_take(path, facts))
    library.close()
    return computer


@pytest.fixture
def office(tmp_path):
    return Computer(tmp_path / "office")


@pytest.fixture
def stick(tmp_path):
    folder = tmp_path / "stick"
    folder.mkdir()
    return folder


def file_on(stick):
    (path,) = stick.iterdir()
    return path


def test_the_key_is_public_stays_the_same_and_its_secret_is_never_printed(office):
    first, second = office.type("key"), office.type("key")
    assert first.exit_code == 0
    assert first.stdout.startswith("age1")
    assert first.stdout == second.stdout
    (secret,) = (value for (_, name), value in office.keyring.secrets.items() if name.endswith("bundle-key"))
    assert secret.startswith("AGE-SECRET-KEY-")
    assert secret not in first.output


def test_the_key_is_told_while_the_desk_has_the_recordings_open_and_nothing_else_is(office, stick):
    library = office.library()
    assert office.type("key").exit_code == 0
    refused = office.type("export", stick, "--for", office.type("key").stdout.strip())
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "open in another window" in refused.stderr
    library.close()


def test_recordings_go_from_one_computer_to_the_other_and_are_listed(field, office, stick):
    key = office.type("key").stdout.strip()
    handed_over = field.type("export", stick, "--for", key)
    assert handed_over.exit_code == 0, handed_over.output
    assert handed_over.stdout.strip() == str(file_on(stick))
    assert "2 recordings handed over" in handed_over.stderr
    taken = office.type("import", file_on(stick))
    assert taken.stdout == "2 recordings taken over, in the line now.\n"
    assert "2 recordings had been here before" in office.type("import", file_on(stick)).stdout
    assert office.states() == [OutboxState.WAITING] * 2
    listed = field.type("list").stdout
    assert f"{file_on(stick).name}: " in listed
    assert "2 recordings: 2 handed over" in listed
    (document,) = json.loads(field.type("list", "--json").stdout)
    assert (document["recordings"], document["states"], document["finished"]) == (2, {"handed_over": 2}, True)


def test_a_passphrase_is_asked_for_and_opens_the_bundle(field, office, stick):
    """The one test that locks with a passphrase: making and trying each takes seconds, as it should."""
    assert field.type("export", stick, answers=(PASSPHRASE, PASSPHRASE)).exit_code == 0
    path = file_on(stick)
    assert read_head(path).needs_passphrase
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + b"?" + whole[61:])  # in the locked secret: the passphrase is not what is wrong
    assert "changed on its way" in office.type("import", path, answers=(PASSPHRASE,)).stderr
    path.write_bytes(whole)
    assert office.states() == []
    taken = office.type("import", path, answers=(PASSPHRASE,))
    assert "2 recordings taken over" in taken.stdout
    assert PASSPHRASE not in taken.output


def test_what_is_wrong_is_one_sentence_and_changes_nothing(field, office, stick, tmp_path):
    nowhere = field.type("export", tmp_path / "pulled", "--for", office.type("key").stdout.strip())
    assert (nowhere.exit_code, nowhere.stderr.count("\n")) == (1, 1)
    assert "pulled" in nowhere.stderr
    no_key = field.type("export", stick, "--for", "age1junk")
    assert (no_key.exit_code, no_key.stderr.count("\n")) == (1, 1)
    assert field.states() == [OutboxState.WAITING] * 2
    field.type("export", stick, "--for", field.type("key").stdout.strip())
    foreign = office.type("import", file_on(stick))
    assert foreign.exit_code == 1
    assert foreign.stderr.startswith("This bundle is for the key of another computer")
    assert office.states() == []


def test_only_one_subject_is_handed_over_and_the_bundle_is_taken_back(field, office, stick):
    field.type("export", stick, "--for", office.type("key").stdout.strip(), "--group", "ward4-1")
    assert sorted(field.states()) == [OutboxState.HANDED_OVER, OutboxState.WAITING]
    back = field.type("take-back", file_on(stick).name)
    assert back.stdout.startswith("1 recording back in the line.")
    assert field.states() == [OutboxState.WAITING] * 2
    again = field.type("take-back", file_on(stick).name)
    assert (again.exit_code, "Nothing of this bundle" in again.stderr) == (1, True)
    unknown = field.type("take-back", "other.vbundle")
    assert (unknown.exit_code, "vbdesk bundle list" in unknown.stderr) == (2, True)
