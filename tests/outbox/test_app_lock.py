"""The app lock: where the keys are while it is on, and that no crash in between loses one."""

import base64
import os
from pathlib import Path

import pytest

from vbdesk.outbox.profiles import passphrase_wrap
from vbdesk.outbox.profiles.app_lock import AppLockSwitch, LockableVault
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault, UnlockableVault
from vbdesk.outbox.profiles.profiles import COMPUTER_NAME, Profile, ProfileStore, known_library_key
from vbdesk.outbox.profiles.service_key import (
    KEY_FILE,
    LockState,
    PassphraseNeeded,
    PassphraseTooShort,
    PassphraseWrong,
    ServiceKeyStore,
)
from vbdesk.outbox.profiles.vault import MemoryVault, PassphraseLocked, VaultFailed

PASSPHRASE = "four calm otters swim"
LOCAL = Profile("p-1", "This computer", "local", None, "acc-local")
REMOTE = Profile("p-2", "Clinic", "service", "https://service.example", "acc-1")
REMOVED = Profile("p-3", "Earlier", "service", "https://service.example", "acc-2")


class Killed(BaseException):
    """The program ends here."""


class Computer:
    """Folders and keyring of a computer, which outlast its programs; counts durable steps and ends at a chosen one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.service = folder, folder / "service"
        self.keyring = MemoryVault()
        self.keys = {}
        profiles = ProfileStore(folder)
        for profile in (LOCAL, REMOTE):
            profiles.save(profile)
        (folder / "profiles" / REMOVED.profile_id).mkdir(parents=True)
        for profile in (LOCAL, REMOTE, REMOVED):
            self.keys[profile] = os.urandom(32)
            self.keyring.set(profile.api_key_name, f"api key of {profile.profile_id}")
            self.keyring.set(profile.library_key_name, base64.b64encode(self.keys[profile]).decode())
            self.keyring.set(profile.high_water_name, "17")
        self.keyring.set(REMOTE.bundle_key_name, "a bundle key")
        self.service_key = ServiceKeyStore(self.service).open(self.keyring).key

    def program(self):
        """Switch and vault of a program that has just started."""
        unlocked = UnlockableVault()
        switch = AppLockSwitch(self.folder, self.service, self.folder, self.keyring, unlocked)
        return switch, unlocked, LockableVault(self.keyring, unlocked)

    def started(self, passphrase=PASSPHRASE):
        """A vault as a start of the desk opens it: with the passphrase where it is needed."""
        switch, unlocked, vault = self.program()
        store = ServiceKeyStore(self.service)
        key = (store.unlock(passphrase) if store.passphrase_opens() else store.open(self.keyring)).key
        assert key == self.service_key
        unlocked.unlock(EncryptedVault(self.service, key))
        switch.key_was_opened(key)
        return vault

    def has_all(self, vault):
        """Every key can be read."""
        for profile, key in self.keys.items():
            assert known_library_key(vault, profile) == key
            assert vault.get(profile.api_key_name) == f"api key of {profile.profile_id}"
        assert vault.get(REMOTE.bundle_key_name) == "a bundle key"
        return True

    def plain_keys(self):
        """Names of library, API and service keys in the keyring."""
        return sorted(name for name in self.keyring._secrets if "high-water" not in name and name != COMPUTER_NAME)

    def state(self):
        return ServiceKeyStore(self.service).lock_state()


@pytest.fixture(autouse=True)
def quick_argon2(monkeypatch):
    monkeypatch.setattr(passphrase_wrap, "PASSES", 1)
    monkeypatch.setattr(passphrase_wrap, "MEMORY_KIB", 64)


@pytest.fixture
def computer(tmp_path):
    return Computer(tmp_path)


def test_while_the_lock_is_on_the_keyring_has_no_key_and_nothing_opens_without_the_passphrase(computer):
    switch, _, vault = computer.program()
    switch.turn_on(PASSPHRASE)
    assert computer.state() is LockState.ON
    assert computer.plain_keys() == []
    assert computer.has_all(vault)  # the open program goes on
    with pytest.raises(PassphraseNeeded):
        ServiceKeyStore(computer.service).open(computer.keyring)
    _, unlocked, locked = computer.program()
    unlocked.replaces_keyring = True
    with pytest.raises(PassphraseLocked):
        known_library_key(locked, REMOTE)
    assert computer.has_all(computer.started())
    with pytest.raises(PassphraseWrong):
        computer.started("not the passphrase")


def test_no_file_and_no_keyring_entry_holds_a_key_while_the_lock_is_on(computer):
    switch, _, _ = computer.program()
    switch.turn_on(PASSPHRASE)
    stored = b"".join(path.read_bytes() for path in computer.folder.rglob("*") if path.is_file())
    stored += "".join(computer.keyring._secrets.values()).encode()
    for key in (*computer.keys.values(), computer.service_key):
        for form in (key, key.hex().encode(), base64.b64encode(key)):
            assert form not in stored
    assert PASSPHRASE.encode() not in stored
    assert b"api key of" not in stored


def test_marks_against_older_copies_stay_in_the_keyring(computer):
    switch, _, vault = computer.program()
    switch.turn_on(PASSPHRASE)
    assert vault.get(LOCAL.high_water_name) == "17"
    vault.set(LOCAL.high_water_name, "18")
    vault.set(COMPUTER_NAME, "this one")
    assert computer.keyring.get(LOCAL.high_water_name) == "18"
    assert computer.keyring.get(COMPUTER_NAME) == "this one"


def test_turning_it_off_brings_everything_back_into_the_keyring(computer):
    before = dict(computer.keyring._secrets)
    switch, _, vault = computer.program()
    switch.turn_on(PASSPHRASE)
    with pytest.raises(PassphraseWrong):
        switch.turn_off("not the passphrase")
    assert computer.plain_keys() == []
    switch.turn_off(PASSPHRASE)
    assert computer.keyring._secrets == before
    assert computer.state() is None
    assert computer.has_all(vault)
    assert ServiceKeyStore(computer.service).open(computer.keyring).key == computer.service_key


def test_a_key_that_is_stored_while_the_lock_is_on_does_not_reach_the_keyring(computer):
    switch, _, vault = computer.program()
    switch.turn_on(PASSPHRASE)
    vault.set(REMOTE.api_key_name, "a new key")
    assert computer.plain_keys() == []
    assert computer.started().get(REMOTE.api_key_name) == "a new key"
    switch.turn_off(PASSPHRASE)
    assert computer.keyring.get(REMOTE.api_key_name) == "a new key"


def test_the_recovery_key_opens_a_locked_computer_with_a_new_passphrase(computer):
    switch, _, _ = computer.program()
    recovery_key = switch.turn_on(PASSPHRASE).recovery_key
    store = ServiceKeyStore(computer.service)
    with pytest.raises(PassphraseNeeded):
        store.recover(recovery_key, computer.keyring)
    assert computer.plain_keys() == []
    store.recover(recovery_key, computer.keyring, "eight brave newts dive")
    assert computer.has_all(computer.started("eight brave newts dive"))
    assert computer.state() is LockState.ON


def test_a_lost_key_file_is_recovered_and_every_key_with_it(computer):
    switch, _, _ = computer.program()
    recovery_key = switch.turn_on(PASSPHRASE).recovery_key
    (computer.service / KEY_FILE).unlink()
    ServiceKeyStore(computer.service).recover(recovery_key, computer.keyring)
    assert computer.has_all(computer.keyring)
    assert computer.has_all(computer.started())


def test_a_computer_that_never_ran_the_service_gets_a_key_of_its_own(tmp_path):
    keyring, unlocked = MemoryVault(), UnlockableVault()
    ProfileStore(tmp_path).save(REMOTE)
    keyring.set(REMOTE.api_key_name, "its API key")
    switch = AppLockSwitch(tmp_path, tmp_path / "service", tmp_path, keyring, unlocked)
    switch.turn_on(PASSPHRASE)
    assert keyring._secrets == {}
    assert LockableVault(keyring, unlocked).get(REMOTE.api_key_name) == "its API key"


def test_a_short_passphrase_changes_nothing(computer):
    before = dict(computer.keyring._secrets)
    switch, _, _ = computer.program()
    with pytest.raises(PassphraseTooShort):
        switch.turn_on("short")
    assert computer.keyring._secrets == before
    assert computer.state() is None


def test_a_keyring_that_refuses_the_keys_leaves_the_lock_on(computer, monkeypatch):
    switch, _, vault = computer.program()
    switch.turn_on(PASSPHRASE)

    def refuse(name, secret):
        raise VaultFailed("The keyring does not answer.")

    with monkeypatch.context() as broken:
        broken.setattr(computer.keyring, "set", refuse)
        with pytest.raises(VaultFailed):
            switch.turn_off(PASSPHRASE)
    assert computer.has_all(vault)
    assert computer.has_all(computer.started())
    assert computer.state() is LockState.ON
    assert computer.plain_keys() == []


def steps_until_killed(computer, monkeypatch, work, last):
    """Run `work` and end the program at durable step number `last`; whether it got to its end."""
    count = 0

    def step(change):
        def counted(*arguments):
            nonlocal count
            if count == last:
                raise Killed
            count += 1
            change(*arguments)

        return counted

    with monkeypatch.context() as ending:
        for owner, name in (
            (computer.keyring, "set"),
            (computer.keyring, "delete"),
            (EncryptedVault, "_save"),
            (ServiceKeyStore, "_write"),
        ):
            ending.setattr(owner, name, step(getattr(owner, name)))
        try:
            work()
        except Killed:
            return False
    return True


def test_a_kill_at_any_step_of_turning_on_loses_no_key(tmp_path, monkeypatch):
    for last in range(50):
        computer = Computer(tmp_path / str(last))
        switch, _, _ = computer.program()
        done = steps_until_killed(computer, monkeypatch, lambda: switch.turn_on(PASSPHRASE), last)  # noqa: B023
        assert computer.has_all(computer.started())
        assert (computer.state(), computer.plain_keys() == []) in ((None, False), (LockState.ON, True))
        assert computer.has_all(computer.started())
        if done:
            break
    assert done
    assert last > 15


def test_a_kill_at_any_step_of_turning_off_loses_no_key(tmp_path, monkeypatch):
    for last in range(50):
        computer = Computer(tmp_path / str(last))
        switch, _, _ = computer.program()
        switch.turn_on(PASSPHRASE)
        done = steps_until_killed(computer, monkeypatch, lambda: switch.turn_off(PASSPHRASE), last)  # noqa: B023
        assert computer.has_all(computer.started())
        assert computer.state() in (None, LockState.ON)
        assert (computer.plain_keys() == []) == (computer.state() is LockState.ON)
        assert computer.has_all(computer.started())
        if done:
            break
    assert done
    assert last > 8


def test_a_kill_while_the_passphrase_changes_leaves_the_old_or_the_new_one(computer, monkeypatch):
    switch, _, _ = computer.program()
    switch.turn_on(PASSPHRASE)
    store = ServiceKeyStore(computer.service)
    assert not steps_until_killed(
        computer, monkeypatch, lambda: store.change_passphrase(PASSPHRASE, "eight brave newts dive"), 0
    )
    assert computer.has_all(computer.started())
    store.change_passphrase(PASSPHRASE, "eight brave newts dive")
    assert computer.has_all(computer.started("eight brave newts dive"))
    assert computer.state() is LockState.ON
