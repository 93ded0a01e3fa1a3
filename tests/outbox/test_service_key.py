"""The key of the local service: made once, stored, recovered, and in no file."""

import json
import multiprocessing
import random
import sys
import traceback
from pathlib import Path

import pytest

from vbdesk.outbox.profiles.encrypted_vault import SECRETS_FILE, EncryptedVault
from vbdesk.outbox.profiles.recovery_key import CHARACTERS, RecoveryKeyMistyped, key_of_recovery, recovery_key_of
from vbdesk.outbox.profiles.service_key import (
    KEY_FILE,
    PassphraseNeeded,
    PassphraseTooShort,
    PassphraseWrong,
    RecoveryKeyWrong,
    ServiceKeyMissing,
    ServiceKeyStore,
)
from vbdesk.outbox.profiles.vault import MemoryVault, VaultFailed, VaultMissing

sys.path.append(str(Path(__file__).parent))  # child processes import helpers by name

from key_request_process import ask

PASSPHRASE = "four calm otters swim"


class NoKeyring(MemoryVault):
    """A computer without a keyring."""

    def get(self, name):
        raise VaultMissing("This computer has no keyring.")

    def set(self, name, secret):
        raise VaultMissing("This computer has no keyring.")


def in_any_file(folder, key):
    """Files that contain the key, as bytes, hexadecimal digits or base 64."""
    import base64

    forms = [key, key.hex().encode(), key.hex().upper().encode(), base64.b64encode(key)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path.name for path in files if any(form in path.read_bytes() for form in forms)]


def test_the_key_is_made_once_and_stays_the_same(tmp_path):
    vault = MemoryVault()
    made = ServiceKeyStore(tmp_path).open(vault)
    assert len(made.key) == 32
    assert made.recovery_due
    assert ServiceKeyStore(tmp_path).open(vault).key == made.key
    assert in_any_file(tmp_path, made.key) == []


def test_each_data_folder_has_a_key_of_its_own(tmp_path):
    vault = MemoryVault()
    keys = [ServiceKeyStore(tmp_path / name).open(vault).key for name in ("one", "two")]
    assert keys[0] != keys[1]
    assert [ServiceKeyStore(tmp_path / name).open(vault).key for name in ("one", "two")] == keys


def test_processes_that_ask_at_once_get_the_same_key(tmp_path):
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        secrets, found, barrier = manager.dict(), manager.list(), manager.Barrier(3)
        arguments = (tmp_path / "service", secrets, barrier, found)
        processes = [context.Process(target=ask, args=arguments) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert len(found) == 3
        assert len(set(found)) == 1
        assert len(secrets) == 1


def test_a_key_that_the_keyring_lost_is_never_replaced(tmp_path):
    ServiceKeyStore(tmp_path).open(MemoryVault())
    before = (tmp_path / KEY_FILE).read_bytes()
    emptied = MemoryVault()
    with pytest.raises(
        ServiceKeyMissing, match=r"Nothing was deleted\. Enter the recovery key, or restore the keyring"
    ):
        ServiceKeyStore(tmp_path).open(emptied)
    with pytest.raises(ServiceKeyMissing):
        ServiceKeyStore(tmp_path).create(PASSPHRASE)
    assert (tmp_path / KEY_FILE).read_bytes() == before
    assert emptied._secrets == {}


def test_another_key_under_its_name_in_the_keyring_is_not_used(tmp_path):
    vault = MemoryVault()
    ServiceKeyStore(tmp_path / "one").open(vault)
    ServiceKeyStore(tmp_path / "two").open(vault)
    one, two = vault._secrets
    vault._secrets[one] = vault._secrets[two]
    with pytest.raises(ServiceKeyMissing):
        ServiceKeyStore(tmp_path / "one").open(vault)


def test_a_lost_or_damaged_key_file_makes_no_new_key_where_secrets_are_kept(tmp_path):
    vault = MemoryVault()
    store = ServiceKeyStore(tmp_path)
    made = store.open(vault)
    vault.set("profile/p/library-key", "recordings")
    store.copy_secrets(vault, made.key, ["profile/p/library-key"])
    (tmp_path / KEY_FILE).write_text("{half")
    with pytest.raises(ServiceKeyMissing):
        store.open(vault)
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(ServiceKeyMissing):
        store.open(vault)
    assert store.recover(made.recovery_key, vault).key == made.key
    assert store.open(vault).key == made.key


def test_a_keyring_that_forgets_keeps_no_key(tmp_path):
    class Forgetful(MemoryVault):
        def set(self, name, secret):
            super().set(name, secret[:-4])

    with pytest.raises(VaultFailed, match="as it was given"):
        ServiceKeyStore(tmp_path).open(Forgetful())
    assert not (tmp_path / KEY_FILE).exists()


def test_a_passphrase_opens_the_key_and_a_wrong_one_loses_nothing(tmp_path):
    store = ServiceKeyStore(tmp_path)
    with pytest.raises(VaultMissing):
        store.open(NoKeyring())
    made = store.create(PASSPHRASE)
    before = (tmp_path / KEY_FILE).read_bytes()
    with pytest.raises(PassphraseNeeded):
        store.open(NoKeyring())
    with pytest.raises(PassphraseNeeded):
        store.open(MemoryVault())
    with pytest.raises(PassphraseWrong, match="Nothing is lost"):
        store.unlock("another passphrase")
    assert (tmp_path / KEY_FILE).read_bytes() == before
    assert store.unlock(PASSPHRASE).key == made.key
    assert in_any_file(tmp_path, made.key) == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and PASSPHRASE.encode() in path.read_bytes()]
    parameters = json.loads(before)["passphrase"]
    assert parameters["function"] == "argon2id"
    assert (parameters["passes"], parameters["lanes"], parameters["memory_kib"]) == (3, 4, 65536)


def test_a_second_passphrase_never_takes_the_place_of_the_first(tmp_path):
    store = ServiceKeyStore(tmp_path)
    made = store.create(PASSPHRASE)
    with pytest.raises(PassphraseNeeded):
        store.create("quite another passphrase")
    assert store.unlock(PASSPHRASE).key == made.key


def test_a_passphrase_is_the_same_however_its_letters_are_composed(tmp_path):
    store = ServiceKeyStore(tmp_path)
    made = store.create("Schl\u00f6sser am See")
    assert store.unlock("Schlo\u0308sser am See").key == made.key


def test_another_passphrase_opens_the_same_key_and_the_old_one_does_not(tmp_path):
    store = ServiceKeyStore(tmp_path)
    made = store.create(PASSPHRASE)
    with pytest.raises(PassphraseWrong):
        store.change_passphrase("not the old one", "a new passphrase")
    with pytest.raises(PassphraseTooShort):
        store.change_passphrase(PASSPHRASE, "too short")
    store.change_passphrase(PASSPHRASE, "a new passphrase")
    assert store.unlock("a new passphrase").key == made.key
    assert store.unlock("a new passphrase").recovery_key == made.recovery_key
    with pytest.raises(PassphraseWrong):
        store.unlock(PASSPHRASE)


def test_parameters_without_measure_in_the_file_are_refused_unread(tmp_path):
    store = ServiceKeyStore(tmp_path)
    store.create(PASSPHRASE)
    document = json.loads((tmp_path / KEY_FILE).read_text())
    document["passphrase"]["memory_kib"] = 2**31
    (tmp_path / KEY_FILE).write_text(json.dumps(document))
    with pytest.raises(ServiceKeyMissing):
        store.unlock(PASSPHRASE)


def test_the_recovery_key_brings_back_what_a_lost_keyring_held(tmp_path):
    vault = MemoryVault()
    store = ServiceKeyStore(tmp_path)
    made = store.open(vault)
    for name in ("profile/p/library-key", "profile/p/api-key"):
        vault.set(name, f"secret of {name}")
    store.copy_secrets(vault, made.key, ["profile/p/library-key", "profile/p/api-key", "profile/p/none"])
    assert b"secret of" not in (tmp_path / SECRETS_FILE).read_bytes()
    emptied = MemoryVault()
    assert store.recover(made.recovery_key.lower().replace("-", " "), emptied).key == made.key
    assert emptied._secrets == vault._secrets
    assert store.open(emptied).key == made.key


def test_the_recovery_key_and_a_new_passphrase_do_where_the_keyring_is_gone(tmp_path):
    vault = MemoryVault()
    store = ServiceKeyStore(tmp_path)
    made = store.open(vault)
    with pytest.raises(VaultMissing):
        store.recover(made.recovery_key, NoKeyring())
    assert store.recover(made.recovery_key, NoKeyring(), PASSPHRASE).storage == "passphrase"
    assert store.unlock(PASSPHRASE).key == made.key


def test_the_recovery_key_of_another_computer_changes_nothing(tmp_path):
    vault = MemoryVault()
    store = ServiceKeyStore(tmp_path)
    made = store.open(vault)
    before = dict(vault._secrets)
    with pytest.raises(RecoveryKeyWrong, match="Nothing was changed"):
        store.recover(recovery_key_of(bytes(32)), vault)
    assert vault._secrets == before
    assert store.open(vault).key == made.key


def test_the_recovery_key_is_offered_until_it_was_and_never_again(tmp_path):
    vault = MemoryVault()
    store = ServiceKeyStore(tmp_path)
    assert store.open(vault).recovery_due
    assert store.open(vault).recovery_due
    store.recovery_was_offered()
    assert not store.open(vault).recovery_due


def test_every_single_slip_of_the_pen_is_noticed():
    key = random.Random(7).randbytes(32)
    written = recovery_key_of(key)
    assert key_of_recovery(written) == key
    assert len(written.replace("-", "")) == CHARACTERS
    plain = written.replace("-", "")
    for place in range(CHARACTERS):
        for wrong in "0123456789ABCDEFGHJKMNPQRSTVWXYZ":
            if wrong != plain[place]:
                with pytest.raises(RecoveryKeyMistyped):
                    key_of_recovery(plain[:place] + wrong + plain[place + 1 :])
        with pytest.raises(RecoveryKeyMistyped):
            key_of_recovery(plain[:place] + plain[place + 1 :])
        exchanged = plain[:place] + plain[place : place + 2][::-1] + plain[place + 2 :]
        if exchanged != plain:
            with pytest.raises(RecoveryKeyMistyped):
                key_of_recovery(exchanged)


def test_letters_that_look_like_digits_are_read_as_those():
    key = bytes(range(32))
    written = recovery_key_of(key)
    assert key_of_recovery(written.replace("0", "o").replace("1", "l")) == key


def test_neither_key_nor_passphrase_shows_itself(tmp_path):
    store = ServiceKeyStore(tmp_path)
    made = store.create(PASSPHRASE)
    assert made.key.hex() not in repr(made) + str(made)
    assert repr(made.key) not in repr(made)
    shown = []
    for attempt in (
        lambda: store.unlock("a secret typed wrong"),
        lambda: store.recover("A secret typed wrong", MemoryVault()),
        lambda: store.recover(recovery_key_of(b"secret" + bytes(26)), MemoryVault()),
        lambda: EncryptedVault(tmp_path, made.key).get("unknown") or store.create("a secret typed wrong"),
    ):
        with pytest.raises(Exception) as caught:
            attempt()
        shown.append("".join(traceback.format_exception_only(caught.value)))
    assert not [text for text in shown if "secret typed" in text or recovery_key_of(b"secret" + bytes(26)) in text]
