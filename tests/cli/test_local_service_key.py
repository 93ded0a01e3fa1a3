"""Commands give the local service its key: from the keyring, or with the passphrase, asked in a terminal."""

import os

import pytest
import typer

from vbdesk.cli import connection, passphrase
from vbdesk.cli.connection import ACT_FIRST, local_service_key, running, vault_of
from vbdesk.cli.paths import DeskPaths
from vbdesk.cli.sync import send_waiting
from vbdesk.outbox.profiles.app_lock import AppLockSwitch
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault

PASSPHRASE = "four calm otters swim"
LOCAL = Profile("p-1", "This computer", "local", None, "acc-local")


@pytest.fixture
def place(tmp_path):
    return DeskPaths(tmp_path, tmp_path)


@pytest.fixture
def terminal(monkeypatch):
    """A person answers the command's questions."""
    asked = []

    def answer(question, **options):
        asked.append((question, options["hide_input"]))
        return PASSPHRASE

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(passphrase.typer, "prompt", answer)
    return asked


def test_a_command_starts_the_service_with_the_key_of_the_keyring(place, monkeypatch):
    given = []

    class Service:
        def __init__(self, folder, key):
            given.append((folder, key))

        def start(self):
            return type("Endpoint", (), {"base_url": "http://127.0.0.1:1"})

        def stop(self):
            given.append("stopped")

    monkeypatch.setattr("vbdesk.client.local_service.LocalService", Service)
    vault = MemoryVault()
    with running(LOCAL, place, vault) as base_url:
        assert base_url == "http://127.0.0.1:1"
    assert given == [(place.service, ServiceKeyStore(place.service).open(vault).key), "stopped"]


def test_the_passphrase_is_asked_for_once_and_hidden(place, terminal):
    key = ServiceKeyStore(place.service).create(PASSPHRASE).key
    profile = Profile("p-1", "This computer", "local", None, "acc-local", "passphrase")
    vault = vault_of(profile, place)
    vault.set(profile.api_key_name, "api-key")
    assert local_service_key(place, vault) == key
    assert terminal == [("Passphrase of this computer", True)]
    assert vault_of(profile, place).get(profile.api_key_name) == "api-key"


def test_without_a_terminal_a_command_says_what_to_do(place, capsys):
    ServiceKeyStore(place.service).create(PASSPHRASE)
    with pytest.raises(typer.Exit) as ended:
        local_service_key(place, MemoryVault())
    assert ended.value.exit_code == ACT_FIRST
    assert "Give this command in a terminal." in capsys.readouterr().err


def test_a_lost_key_ends_a_command_with_what_to_do_and_makes_no_new_one(place, capsys):
    ServiceKeyStore(place.service).open(MemoryVault())
    emptied = MemoryVault()
    with pytest.raises(typer.Exit) as ended, connection.report_errors(), running(LOCAL, place, emptied):
        pass
    assert ended.value.exit_code == ACT_FIRST
    assert "Nothing was deleted." in capsys.readouterr().err
    assert emptied._secrets == {}


@pytest.fixture
def locked_computer(place, monkeypatch):
    """A profile of a service elsewhere, on a computer whose app lock is on."""
    keyring = MemoryVault()
    profile = Profile("p-2", "Clinic", "service", "https://one.example", "acc-1")
    ProfileStore(place.config).save(profile)
    keyring.set(profile.api_key_name, "api-key")
    AppLockSwitch(place.data, place.service, place.config, keyring, UnlockableVault()).turn_on(PASSPHRASE)
    monkeypatch.setattr("vbdesk.outbox.profiles.vault.KeyringVault", lambda: keyring)
    monkeypatch.setattr(passphrase, "vault_of_passphrase", passphrase.vault_of_passphrase.__wrapped__)
    return profile


def test_a_sync_without_a_window_says_that_the_library_needs_unlocking(place, locked_computer, capsys):
    with pytest.raises(typer.Exit) as ended:
        send_waiting(None, place.data)
    assert ended.value.exit_code == ACT_FIRST
    assert "The library needs unlocking" in capsys.readouterr().err


def test_a_script_gives_the_passphrase_and_no_child_process_inherits_it(place, locked_computer, monkeypatch):
    monkeypatch.setenv("VBDESK_PASSPHRASE", PASSPHRASE)
    assert vault_of(locked_computer, place).get(locked_computer.api_key_name) == "api-key"
    assert "VBDESK_PASSPHRASE" not in os.environ


def test_a_script_gives_the_passphrase_in_a_file_descriptor(place, locked_computer, monkeypatch):
    reading, writing = os.pipe()
    os.write(writing, PASSPHRASE.encode() + b"\n")
    os.close(writing)
    monkeypatch.setenv("VBDESK_PASSPHRASE_FD", str(reading))
    assert vault_of(locked_computer, place).get(locked_computer.api_key_name) == "api-key"


@pytest.mark.parametrize(("name", "value"), [("VBDESK_PASSPHRASE", "not it"), ("VBDESK_PASSPHRASE_FD", "none")])
def test_a_wrong_passphrase_or_descriptor_ends_a_command(place, locked_computer, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(typer.Exit) as ended:
        vault_of(locked_computer, place)
    assert ended.value.exit_code == ACT_FIRST
