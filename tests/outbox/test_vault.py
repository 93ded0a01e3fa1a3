import threading
from contextlib import contextmanager

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import null
from keyring.compat.properties import classproperty
from keyring.errors import InitError, KeyringLocked, NoKeyringError, PasswordDeleteError

from patience import HANGS_S
from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.vault import (
    ASKED_AT_MOST,
    KeyringVault,
    MemoryVault,
    VaultFailed,
    VaultLocked,
    VaultMissing,
    VaultWaiting,
    _KeyringState,
    keyring_name,
    retry_while_waiting,
)

NAME = "profile/p-1/api-key"


class Keyring(KeyringBackend):
    """A keyring in memory that raises on demand, and has a dialog while it is locked."""

    priority = -1  # never selected automatically

    def __init__(self):
        super().__init__()
        self.secrets, self.failure = {}, None
        self.locked = False
        self.asked = 0
        self.answered = threading.Event()

    def get_password(self, service, username):
        self._enter()
        return self.secrets.get((service, username))

    def set_password(self, service, username, password):
        self._enter()
        self.secrets[service, username] = password

    def delete_password(self, service, username):
        self._enter()
        if (service, username) not in self.secrets:
            raise PasswordDeleteError("no such password")
        del self.secrets[service, username]

    def answer(self, *, unlock):
        """A person's answer to the dialog."""
        self.locked = not unlock
        self.answered.set()

    def _enter(self):
        if self.failure is not None:
            raise self.failure
        if self.locked:
            self.asked += 1
            assert self.answered.wait(HANGS_S)
            self.answered.clear()
            if self.locked:
                raise KeyringLocked("dismissed")


class PlainFileKeyring(Keyring):
    """Stores secrets in a file, as back ends of this package do."""

    __module__ = "keyrings.alt.file"


class Startable(Keyring):
    """A Secret Service that runs or does not."""

    running = False

    @classproperty
    def priority(cls):
        if not cls.running:
            raise RuntimeError("not running")
        return 100


@contextmanager
def installed(backend):
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield backend
    finally:
        keyring.set_keyring(before)


@pytest.fixture
def backend():
    with installed(Keyring()) as found:
        yield found


def settled(vault):
    """Ask until the dialog is answered; the timeout is short."""
    return retry_while_waiting(lambda: vault.get(NAME), lambda sentence: None, threading.Event().wait)


@pytest.mark.parametrize("make", [MemoryVault, lambda: KeyringVault(read_timeout_s=HANGS_S)], ids=["memory", "keyring"])
def test_a_vault_keeps_and_forgets(make, backend):
    vault = make()
    assert vault.get(NAME) is None
    vault.set(NAME, "one")
    vault.set(NAME, "two")
    assert vault.get(NAME) == "two"
    vault.delete(NAME)
    vault.delete(NAME)
    assert vault.get(NAME) is None


@pytest.mark.parametrize(
    ("failure", "error", "words"),
    [
        (NoKeyringError("none"), VaultMissing, "no keyring"),
        (KeyringLocked("locked"), VaultLocked, "unlock it and try again"),
        (InitError("gone"), VaultFailed, "does not answer"),
        (OSError("bus is gone"), VaultFailed, "does not answer"),
    ],
)
def test_each_failure_of_the_keyring_has_its_sentence(backend, failure, error, words):
    backend.failure = failure
    vault = KeyringVault(read_timeout_s=HANGS_S)
    for call in (lambda: vault.get("n"), lambda: vault.set("n", "s3cret"), lambda: vault.delete("n")):
        with pytest.raises(error, match=words) as raised:
            call()
        assert "s3cret" not in str(raised.value)


def test_a_reader_is_not_kept_by_a_dialog_and_gets_the_secret_once_it_is_answered(backend):
    vault = KeyringVault(read_timeout_s=0.02)
    vault.set(NAME, "one")
    backend.locked = True
    for _ in range(3):
        with pytest.raises(VaultWaiting, match="enter it there"):
            vault.get(NAME)
    backend.answer(unlock=True)
    assert settled(vault) == "one"
    assert backend.asked == 1


def test_a_dismissed_dialog_is_not_opened_again_until_a_person_wants_it(backend):
    vault = KeyringVault(read_timeout_s=HANGS_S)
    vault.set(NAME, "one")
    backend.locked = True
    backend.answer(unlock=False)
    for _ in range(3):
        with pytest.raises(VaultLocked):
            vault.get(NAME)
    assert backend.asked == 1
    vault.allow_prompt()
    backend.answer(unlock=True)
    assert vault.get(NAME) == "one"


def test_a_dialog_dismissed_after_its_reader_went_is_remembered_too(backend):
    vault = KeyringVault(read_timeout_s=0.02)
    backend.locked = True
    with pytest.raises(VaultWaiting):
        vault.get(NAME)
    backend.answer(unlock=False)
    for _ in range(2):
        with pytest.raises(VaultLocked):
            settled(vault)
    assert backend.asked == 1


def test_what_a_person_enters_is_asked_for_even_after_a_dismissal(backend):
    vault = KeyringVault(read_timeout_s=HANGS_S)
    backend.locked = True
    backend.answer(unlock=False)
    with pytest.raises(VaultLocked):
        vault.get(NAME)
    backend.answer(unlock=True)
    vault.set(NAME, "two")
    assert vault.get(NAME) == "two"


def test_what_nobody_asked_for_opens_no_dialog_and_changes_no_answer(backend, monkeypatch):
    vault = KeyringVault(read_timeout_s=HANGS_S)
    vault.set_without_prompt(NAME, "one")
    assert vault.get(NAME) == "one"
    backend.locked = True
    with monkeypatch.context() as patch:
        patch.setattr(vault, "_door", lambda: _KeyringState.LOCKED)
        with pytest.raises(VaultLocked):
            vault.set_without_prompt(NAME, "two")
    assert backend.asked == 0
    backend.answer(unlock=False)
    with pytest.raises(VaultLocked):
        vault.get(NAME)  # the dialog still opens once
    assert backend.asked == 1
    with pytest.raises(VaultLocked):
        vault.set_without_prompt(NAME, "two")
    with pytest.raises(VaultLocked):
        vault.get(NAME)
    assert backend.asked == 1
    vault.allow_prompt()
    backend.answer(unlock=True)
    assert vault.get(NAME) == "one"


def test_a_read_that_nobody_asked_for_opens_no_dialog_and_changes_no_answer(backend, monkeypatch):
    vault = KeyringVault(read_timeout_s=HANGS_S)
    vault.set(NAME, "one")
    assert vault.get_without_prompt(NAME) == "one"
    assert vault.get_without_prompt("another") is None
    backend.locked = True
    with monkeypatch.context() as patch:
        patch.setattr(vault, "_door", lambda: _KeyringState.LOCKED)
        with pytest.raises(VaultLocked):
            vault.get_without_prompt(NAME)
    assert backend.asked == 0
    backend.answer(unlock=False)
    with pytest.raises(VaultLocked):
        vault.get(NAME)  # the dialog still opens once
    assert backend.asked == 1


def test_a_keyring_that_hangs_keeps_nobody_who_writes_unasked(backend):
    vault = KeyringVault(read_timeout_s=0.02)
    backend.locked = True
    with pytest.raises(VaultWaiting):
        vault.set_without_prompt(NAME, "two")
    backend.answer(unlock=True)


def test_a_command_says_once_that_the_keyring_waits_and_goes_on(backend):
    vault = KeyringVault(read_timeout_s=0.02)
    vault.set(NAME, "one")
    backend.locked = True
    said, pauses = [], []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            backend.answer(unlock=True)

    assert retry_while_waiting(lambda: vault.get(NAME), said.append, pause) == "one"
    assert len(said) == 1


def test_a_command_ends_if_nobody_answers_the_keyring(backend):
    vault = KeyringVault(read_timeout_s=0.02)
    vault.set(NAME, "one")
    backend.locked = True
    said, pauses = [], []
    with pytest.raises(VaultWaiting):
        retry_while_waiting(lambda: vault.get(NAME), said.append, pauses.append)
    assert (len(said), len(pauses)) == (1, ASKED_AT_MOST - 1)
    backend.answer(unlock=True)


def test_the_line_waits_for_a_locked_keyring_and_goes_on_by_itself_after_one_dialog(
    backend, library, new_take, new_sync_worker, service, drive
):
    vault = KeyringVault(read_timeout_s=HANGS_S)
    vault.set(NAME, "right-key")
    backend.locked = True
    backend.answer(unlock=False)
    library.queue(new_take())

    def connect():
        credentials = Credentials("account", vault.get(NAME))
        return Client("http://service.test", credentials, retries=RetryRule.NEVER, transport=service)

    sync_worker = new_sync_worker(client_factory=connect)
    drive(sync_worker, seconds=60)
    assert sync_worker.status.on_hold is Fix.UNLOCK_KEYRING
    assert (backend.asked, library.counts()[OutboxState.WAITING]) == (1, 1)
    vault.allow_prompt()
    backend.answer(unlock=True)
    drive(sync_worker, lambda: library.counts()[OutboxState.DONE] == 1)
    assert (backend.asked, library.counts()[OutboxState.DONE]) == (1, 1)
    assert sync_worker.status.on_hold is None


@pytest.mark.parametrize("unsafe", [null.Keyring(), PlainFileKeyring()])
def test_a_keyring_that_forgets_or_writes_a_file_is_not_used(unsafe):
    with installed(unsafe):
        with pytest.raises(VaultMissing, match="does not keep keys safe"):
            KeyringVault(read_timeout_s=HANGS_S).set(NAME, "one")
        with pytest.raises(VaultMissing):
            keyring_name()


def test_a_keyring_that_is_started_later_is_found(monkeypatch):
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    with installed(keyring.backends.fail.Keyring()):
        vault = KeyringVault(read_timeout_s=HANGS_S)
        with pytest.raises(VaultMissing):
            vault.get(NAME)
        with pytest.raises(VaultMissing, match="no keyring"):
            keyring_name()
        monkeypatch.setattr(Startable, "running", True)
        vault.set(NAME, "one")
        assert vault.get(NAME) == "one"
        assert isinstance(keyring.get_keyring(), Startable)
