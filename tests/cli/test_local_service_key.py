"""Commands give the local service its key: from the keyring, or with the passphrase, asked in a terminal."""

import pytest
import typer

from vbdesk.cli import connection, passphrase
from vbdesk.cli.connection import ACT_FIRST, local_service_key, running, vault_of
from vbdesk.cli.paths import DeskPaths
from vbdesk.outbox.profiles.profiles import Profile
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
