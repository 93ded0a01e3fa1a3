"""The bundle commands of field staff and office, on two computers with separate keyrings."""

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import keyring
import numpy as np
import pytest
import soundfile as sf
from keyring.backend import KeyringBackend
from typer.testing import CliRunner

from patience import HANGS_S
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.cli.main import app
from vbdesk.cli.sync import send_waiting
from vbdesk.client import Client
from vbdesk.client.local_service import LocalService, make_account
from vbdesk.contract.limits import Plan
from vbdesk.outbox.bundles.bundle_file import read_head
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.integrity_check import HELD, OLDER_COPY
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder
from vbdesk.outbox.profiles.vault import KeyringVault

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from failing_disk import fill
from fast_passphrase import with_quick_passphrase

PROFILE = Profile("p1", "Study", "service", "https://voice.example", "acc-1")
MORNING = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
PASSPHRASE = "seven boats on the lake"


class KeyringOfOneComputer(KeyringBackend):
    """A keyring without a disk."""

    priority = -1  # never selected automatically

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
    """A desk's folder, a keyring, and a person who types."""

    def __init__(self, folder, profile=PROFILE):
        self.folder, self.profile = folder, profile
        self.keyring = KeyringOfOneComputer()
        ProfileStore(folder).save(profile)

    @property
    def bundle_secret(self):
        (secret,) = (value for (_, name), value in self.keyring.secrets.items() if name.endswith("bundle-key"))
        return secret

    @contextmanager
    def at_its_keyring(self):
        before = keyring.get_keyring()
        keyring.set_keyring(self.keyring)
        try:
            yield
        finally:
            keyring.set_keyring(before)

    def send(self):
        """Send as `vbdesk sync` does."""
        with self.at_its_keyring():
            return send_waiting(None, self.folder, quiet=True).report

    def type(self, *words, answers=()):
        typed = "".join(f"{answer}\n" for answer in answers)
        with self.at_its_keyring():
            return CliRunner().invoke(app, ["bundle", *map(str, words), "--data-dir", str(self.folder)], input=typed)

    @contextmanager
    def library(self):
        with self.at_its_keyring():
            opened = LockedLibrary(
                self.profile,
                library_folder(self.folder, self.profile.profile_id),
                KeyringVault(read_timeout_s=HANGS_S),
            )
        yield opened
        opened.close()

    def states(self):
        with self.library() as library:
            return [item.state for item in library.list()]

    def record(self, group_id, samples, rate):
        """A recording that waits to be sent."""
        with self.library() as library:
            path = library.recording_folder / "new.take"
            writer = EncryptedTakeWriter(path, library.store.key, rate)
            writer.append(samples)
            writer.close()
            library.queue(library.add_take(path, TakeMetadata(group_id, MORNING, RecordingTarget("model", "pulse"))))


@pytest.fixture
def field(tmp_path):
    """A laptop on which two recordings wait."""
    computer = Computer(tmp_path / "field")
    for number in range(2):
        computer.record(f"ward4-{number}", np.zeros(16 * 8000, np.int16), 8000)
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
    assert office.bundle_secret.startswith("AGE-SECRET-KEY-")
    assert office.bundle_secret not in first.output


def test_a_profile_whose_keys_are_not_to_be_kept_has_none_for_bundles(tmp_path):
    computer = Computer(tmp_path, replace(PROFILE, secrets="session"))
    told = computer.type("key")
    assert told.exit_code == 4
    assert "as you chose" in told.stderr
    assert computer.keyring.secrets == {}


def test_the_key_is_told_while_the_desk_has_the_recordings_open_and_nothing_else_is(office, stick):
    with office.library():
        assert office.type("key").exit_code == 0
        refused = office.type("export", stick, "--for", office.type("key").stdout.strip())
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "open in another window" in refused.stderr


def test_recordings_go_from_one_computer_to_the_other_and_are_listed(field, office, stick):
    key = office.type("key").stdout.strip()
    handed_over = field.type("export", stick, "--for", key)
    assert handed_over.exit_code == 0, handed_over.output
    assert handed_over.stdout.strip() == str(file_on(stick))
    assert "2 recordings were handed over." in handed_over.stderr
    taken = office.type("import", file_on(stick))
    assert taken.stdout == "2 recordings were imported and are in the queue now.\n"
    assert "2 recordings were here before" in office.type("import", file_on(stick)).stdout
    assert office.states() == [OutboxState.WAITING] * 2
    listed = field.type("list").stdout
    assert f"{file_on(stick).name}: " in listed
    assert "2 recordings: Handed over 2" in listed
    (document,) = json.loads(field.type("list", "--json").stdout)
    assert (document["recordings"], document["states"], document["finished"]) == (2, {"handed_over": 2}, True)


def test_a_passphrase_is_asked_for_twice_when_a_bundle_is_made(field, stick):
    """The only test with a real passphrase, which takes a second."""
    made = field.type("export", stick, answers=(PASSPHRASE, PASSPHRASE))
    assert made.exit_code == 0
    assert PASSPHRASE not in made.output
    assert read_head(file_on(stick)).locked_secret.startswith(b"age-encryption.org/v1\n-> scrypt ")


def test_a_passphrase_opens_the_bundle_and_another_one_does_not(field, office, stick):
    field.type("export", stick, "--for", office.type("key").stdout.strip())
    path = file_on(stick)
    whole = with_quick_passphrase(path.read_bytes(), office.bundle_secret, PASSPHRASE)
    path.write_bytes(whole[:60] + b"?" + whole[61:])  # damage the locked secret
    damaged = office.type("import", path)
    assert damaged.exit_code == 1 and "changed on its way" in damaged.stderr
    assert "Passphrase of the bundle" not in damaged.output
    path.write_bytes(whole)
    assert "passphrase does not open" in office.type("import", path, answers=("seven boats on the sea",)).stderr
    assert office.states() == []
    taken = office.type("import", path, answers=(PASSPHRASE,))
    assert "2 recordings were imported" in taken.stdout
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


def test_a_stick_that_is_read_only_or_full_is_said_in_a_sentence_and_changes_nothing(field, office, disk_of):
    stick, key = disk_of("8m"), office.type("key").stdout.strip()
    subprocess.run(["mount", "-o", "remount,ro", stick], check=True)
    done = field.type("export", stick, "--for", key)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1] == (
        f"The bundle could not be written to {stick}. The disk is write-protected. Nothing is lost. "
        "Make it writable, then run the command again."
    )
    subprocess.run(["mount", "-o", "remount,rw", stick], check=True)
    filler = fill(stick)
    full = field.type("export", stick, "--for", key)
    assert full.exit_code == 3
    assert field.states() == [OutboxState.WAITING] * 2
    filler.unlink()
    assert field.type("export", stick, "--for", key).exit_code == 0
    assert field.states() == [OutboxState.HANDED_OVER] * 2


def test_a_full_disk_of_the_computer_that_takes_in_is_said_and_room_lets_it_in_once(field, disk_of, stick):
    office = Computer(disk_of("8m"))
    key = office.type("key").stdout.strip()
    with office.library():
        pass
    assert field.type("export", stick, "--for", key).exit_code == 0
    filler = fill(office.folder)
    done = office.type("import", file_on(stick))
    assert (done.exit_code, done.stdout) == (3, "")
    assert "Traceback" not in done.stderr
    assert "disk is full" in done.stderr
    filler.unlink()
    assert office.type("import", file_on(stick)).exit_code == 0
    assert office.states() == [OutboxState.WAITING] * 2
    assert "were here before" in office.type("import", file_on(stick)).stdout


def test_an_older_list_put_back_hands_nothing_over_and_is_explained_once(field, office, stick):
    database = library_folder(field.folder, PROFILE.profile_id) / "library.sqlite"
    older = database.read_bytes()
    with field.library() as library:
        library.change_settings(paused=True)
    database.write_bytes(older)
    done = field.type("export", stick, "--for", office.type("key").stdout.strip())
    assert done.exit_code == 4
    assert list(stick.iterdir()) == []
    assert done.stderr.count(OLDER_COPY) == done.stderr.count(HELD) == 1
    assert done.stderr.splitlines()[0].startswith("Nothing was handed over")


def test_a_missing_consent_is_status_4_at_both_ends(field, office, stick):
    required = ConsentRules(policy=ConsentPolicy.REQUIRED)
    key = office.type("key").stdout.strip()
    with office.library() as library:
        library.change_settings(consent=required)
        library.consents.give("ward4-0", ConsentKind.CLINICAL)
    with field.library() as library:
        library.change_settings(consent=required)
        library.consents.give("ward4-1", ConsentKind.CLINICAL)
    made = field.type("export", stick, "--for", key)
    assert (made.exit_code, "Not handed over: ward4-0" in made.stderr) == (4, True)
    with field.library() as library:
        library.change_settings(consent=ConsentRules())
    with office.library() as library:
        library.consents.withdraw("ward4-1")
    taken = office.type("import", file_on(stick))
    assert (taken.exit_code, "Not imported: ward4-1" in taken.stderr) == (4, True)
    assert office.states() == []


def test_only_one_subject_is_handed_over_and_the_bundle_is_taken_back(field, office, stick):
    field.type("export", stick, "--for", office.type("key").stdout.strip(), "--group", "ward4-1")
    assert sorted(field.states()) == [OutboxState.HANDED_OVER, OutboxState.WAITING]
    back = field.type("take-back", file_on(stick).name)
    assert back.stdout.startswith("1 recording is back in the queue.")
    assert field.states() == [OutboxState.WAITING] * 2
    again = field.type("take-back", file_on(stick).name)
    assert (again.exit_code, "Nothing of this bundle" in again.stderr) == (1, True)
    unknown = field.type("take-back", "other.vbundle")
    assert (unknown.exit_code, "vbdesk bundle list" in unknown.stderr) == (2, True)


@pytest.fixture
def real_service(tmp_path):
    """A service in a process of its own: its address, and an account on it."""
    service = LocalService(tmp_path / "service", workers=2)
    try:
        yield service.start().base_url, make_account(tmp_path / "service", "Study")
    finally:
        service.stop()


def test_recordings_of_the_field_reach_a_real_service_once_and_their_results_both_computers(
    real_service, tmp_path, stick, speech_file
):
    base_url, credentials = real_service
    samples, rate = sf.read(speech_file, dtype="int16")
    profile = replace(PROFILE, base_url=base_url, account_id=credentials.account_id, plan=Plan.ENTERPRISE)
    field, office = Computer(tmp_path / "field", profile), Computer(tmp_path / "office", profile)
    for computer in (field, office):
        computer.keyring.set_password("vbdesk", profile.api_key_name, credentials.api_key)
    for number in range(2):
        field.record(f"bundle-{number}", samples, rate)

    field.type("export", stick, "--for", office.type("key").stdout.strip())
    office.type("import", file_on(stick))
    assert office.send()["done"] == 2
    assert field.send()["done"] == 2  # found there, not sent
    assert field.states() == office.states() == [OutboxState.DONE] * 2

    with Client(base_url, credentials) as client:
        for number in range(2):
            (job,) = client.groups.jobs(f"bundle-{number}").jobs
            assert job.recorded_at == MORNING.replace(microsecond=MORNING.microsecond + number)
