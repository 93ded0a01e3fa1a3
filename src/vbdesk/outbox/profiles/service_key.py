"""The key that the service on this computer encrypts its data with: made once per data folder, then stored.

It is stored in the keyring or, without a keyring or while the app lock is on, encrypted with a person's passphrase (see
`passphrase_wrap`). A file in the data folder says which. It does not hold the plain key, but an id for the keyring, a
check value that detects a wrong key, and the key encrypted with the passphrase. The key is never replaced once data may
be encrypted with it. `app_lock` moves it between the keyring and the passphrase.
"""

import base64
import hashlib
import hmac
import json
import secrets as random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from vbdesk.client.local_service import is_encrypted, key_fits
from vbdesk.contract.ids import new_id
from vbdesk.language import message
from vbdesk.outbox.profiles.encrypted_vault import SECRETS_FILE, EncryptedVault, write_json_atomically
from vbdesk.outbox.profiles.passphrase_wrap import WrappedKey, WrongPassphrase, read_wrapped, unwrap, wrap
from vbdesk.outbox.profiles.recovery_key import key_of_recovery, recovery_key_of
from vbdesk.outbox.profiles.vault import Vault, VaultFailed, VaultWaiting
from vbdesk.privacy import FILE_MODE, make_private

KEY_BYTES = 32
KEY_FILE = "desk-key.json"
PASSPHRASE_LEAST = 12
"""Minimum length of a new passphrase, as for a bundle."""
_OTHER_PROGRAM_S = 130.0  # a little longer than the timeout of the keyring's dialog


class LockState(StrEnum):
    """Where turning the app lock on or off has come to; off is None."""

    TURNING_ON = "turning on"
    ON = "on"
    TURNING_OFF = "turning off"


class ServiceKeyMissing(Exception):
    """This data folder has a key that is no longer where it was stored; `str(error)` is for a person."""


class PassphraseNeeded(Exception):
    """A passphrase is needed to get the key; `str(error)` is for a person."""


class AppLocked(PassphraseNeeded):
    """The app lock is on, so the passphrase opens every profile of this computer."""


class PassphraseWrong(Exception):
    """The passphrase is wrong; `str(error)` is for a person."""


class PassphraseTooShort(ValueError):
    """A new passphrase is too short; `str(error)` is for a person."""


class RecoveryKeyWrong(Exception):
    """It is the recovery key of another computer or folder; `str(error)` is for a person."""


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """The key, in memory.

    Attributes:
        key: 32 bytes; hidden from the repr.
        storage: where it is stored.
        recovery_due: whether nobody was offered the recovery key yet.
    """

    key: bytes = field(repr=False)
    storage: Literal["keyring", "passphrase"]
    recovery_due: bool

    @property
    def recovery_key(self) -> str:
        """The key in the form to write down."""
        return recovery_key_of(self.key)


@dataclass(frozen=True, slots=True)
class _Record:
    """Content of the key file."""

    key_id: str
    check: str
    wrapped: WrappedKey | None
    recovery_offered: bool
    lock: LockState | None = None

    @property
    def vault_name(self) -> str:
        """Name of the key in the keyring."""
        return f"local-service/{self.key_id}/key"

    def fits(self, key: bytes) -> bool:
        """Whether `key` is this key."""
        return len(key) == KEY_BYTES and hmac.compare_digest(self.check, _check_of(key))


class ServiceKeyStore:
    """The key of the service whose data is in `folder`. Every method blocks on the disk, most on the keyring too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / KEY_FILE

    def open(self, vault: Vault) -> ServiceKey:
        """The key from the keyring; random on first use.

        A lock on the folder is held until the file is written, so that two programs get the same key.

        Raises:
            PassphraseNeeded: a passphrase is needed, see `unlock`.
            ServiceKeyMissing: the keyring has lost it, see `recover`.
            VaultError: the keyring did not answer, or does not store what it is given; VaultMissing: there is none.
        """
        with self._locked():
            record = self._read()
            if record is None:
                self._refuse_new_key_for_old_data()
                return self._create_in(vault)
            if record.wrapped is not None:
                needed = PassphraseNeeded if record.lock is None else AppLocked
                raise needed(message("Enter the passphrase of this computer."))
            return _opened(record, self._from_keyring(record, vault))

    def create(self, passphrase: str) -> ServiceKey:
        """Make the key without a keyring, and store it encrypted with `passphrase`.

        Raises:
            PassphraseTooShort: the passphrase is too short.
            PassphraseNeeded, ServiceKeyMissing: there is a key already.
        """
        _refuse_short(passphrase)
        with self._locked():
            record = self._read()
            if record is not None and record.wrapped is not None:
                raise PassphraseNeeded(message("This computer has a passphrase already. Enter that one."))
            if record is not None:
                raise _missing()
            self._refuse_new_key_for_old_data()
            key = random.token_bytes(KEY_BYTES)
            key_id = new_id()
            record = _Record(key_id, _check_of(key), wrap(key, key_id, passphrase), recovery_offered=False)
            self._write(record)
            return _opened(record, key)

    def unlock(self, passphrase: str) -> ServiceKey:
        """Decrypt the key with `passphrase`. Takes a tenth of a second of one core, and 64 MiB.

        Raises:
            PassphraseWrong: the passphrase is wrong; nothing is changed.
            ServiceKeyMissing: the file with the encrypted key is gone or damaged.
        """
        record = self._read_wrapped()
        return _opened(record, _unwrapped(record, passphrase))

    def change_passphrase(self, old: str, new: str) -> None:
        """Encrypt the same key with another passphrase. The recovery key stays the same.

        Raises:
            PassphraseWrong, PassphraseTooShort, ServiceKeyMissing: nothing is changed.
        """
        _refuse_short(new)
        with self._locked():
            record = self._read_wrapped()
            key = _unwrapped(record, old)
            self._write(replace(record, wrapped=wrap(key, record.key_id, new)))

    def recover(self, typed: str, vault: Vault, passphrase: str | None = None) -> ServiceKey:
        """Restore the key from a recovery key, and store it: in the keyring, or encrypted with a new passphrase.

        Copies of the keyring's other secrets in the folder are put back into the keyring where they are missing.

        Raises:
            RecoveryKeyMistyped, RecoveryKeyWrong, PassphraseTooShort: nothing is changed.
            VaultError: the keyring did not answer; VaultMissing: there is none, so a passphrase is needed.
        """
        key = key_of_recovery(typed)
        if passphrase is not None:
            _refuse_short(passphrase)
        with self._locked():
            known = self._read_or_set_aside()
            if known is not None and not known.fits(key):
                raise RecoveryKeyWrong(
                    message(
                        "This is the recovery key of another computer, or of an earlier set-up. Nothing was changed; "
                        "look for the one that was written down here."
                    )
                )
            if known is None:
                self._refuse_key_that_opens_nothing(key)
            elif known.lock is not None and passphrase is None:
                raise PassphraseNeeded(message("The app lock is on. Choose a new passphrase too."))
            record = known or _Record(new_id(), _check_of(key), None, recovery_offered=True)
            if passphrase is not None:
                record = replace(record, wrapped=wrap(key, record.key_id, passphrase))
            else:
                record = replace(record, wrapped=None)
                _store_key(vault, record.vault_name, key)
                self._put_back(vault, key)
            self._write(replace(record, recovery_offered=True))
            return _opened(replace(record, recovery_offered=True), key)

    def passphrase_opens(self) -> bool:
        """Whether a passphrase opens the key. Raises ServiceKeyMissing."""
        record = self._read()
        return record is not None and record.wrapped is not None

    def lock_state(self) -> LockState | None:
        """State of the app lock; None if it is off. Raises ServiceKeyMissing."""
        record = self._read()
        return None if record is None else record.lock

    def begin_lock(self, passphrase: str, vault: Vault) -> ServiceKey:
        """Encrypt the key with `passphrase` too, the first step of turning the app lock on; makes a missing key.

        The recovery key is due from now on, until `recovery_was_offered`: a program that is killed while it shows the
        key shows it again at its next start.

        Raises:
            PassphraseTooShort, ServiceKeyMissing: nothing is changed.
            PassphraseNeeded: a passphrase opens the key already.
            VaultError: the keyring did not answer.
        """
        _refuse_short(passphrase)
        with self._locked():
            record = self._read()
            if record is None:
                self._refuse_new_key_for_old_data()
                key = random.token_bytes(KEY_BYTES)
                record = _Record(new_id(), _check_of(key), None, recovery_offered=False)
            elif record.wrapped is not None:
                raise PassphraseNeeded(message("This computer has a passphrase already. Enter that one."))
            else:
                key = self._from_keyring(record, vault)
            wrapped = wrap(key, record.key_id, passphrase)
            record = replace(record, wrapped=wrapped, lock=LockState.TURNING_ON, recovery_offered=False)
            self._write(record)
            return _opened(record, key)

    def note_lock(self, state: LockState) -> None:
        """Write how far turning the app lock on or off has come."""
        with self._locked():
            self._write(replace(self._read_wrapped(), lock=state))

    def delete_from_keyring(self, vault: Vault) -> None:
        """Delete the key from the keyring, since a passphrase opens it. Raises VaultError."""
        vault.delete(self._read_wrapped().vault_name)

    def end_lock(self, key: bytes, vault: Vault) -> None:
        """Store the key in the keyring and forget the passphrase, the last step of turning the app lock off.

        Raises:
            VaultError: the keyring does not store it; the passphrase still opens it.
        """
        with self._locked():
            record = self._read_wrapped()
            _store_key(vault, record.vault_name, key)
            self._write(replace(record, wrapped=None, lock=None))

    def recovery_was_offered(self) -> None:
        """Stop offering the recovery key."""
        with self._locked():
            record = self._read()
            if record is not None:
                self._write(replace(record, recovery_offered=True))

    def recovery_is_due(self) -> bool:
        """Whether nobody has confirmed yet that the recovery key was offered."""
        record = self._read()
        return record is not None and not record.recovery_offered

    def is_there(self) -> bool:
        """Whether this folder has a key."""
        return self._path.exists() or (self._folder / SECRETS_FILE).exists()

    def copy_secrets(self, vault: Vault, key: bytes, names: Iterable[str]) -> None:
        """Copy these secrets of the keyring, encrypted, next to the data, for a recovery. Raises VaultError."""
        copies = EncryptedVault(self._folder, key)
        for name in names:
            secret = vault.get(name)
            if secret is not None and copies.get(name) != secret:
                copies.set(name, secret)

    def _put_back(self, vault: Vault, key: bytes) -> None:
        copies = EncryptedVault(self._folder, key)
        for name in copies.names():
            secret = copies.get(name)
            if secret is not None and vault.get(name) is None:
                vault.set(name, secret)

    def _create_in(self, vault: Vault) -> ServiceKey:
        key = random.token_bytes(KEY_BYTES)
        record = _Record(new_id(), _check_of(key), None, recovery_offered=False)
        _store_key(vault, record.vault_name, key)
        self._write(record)
        return _opened(record, key)

    def _from_keyring(self, record: _Record, vault: Vault) -> bytes:
        text = vault.get(record.vault_name)
        if text is None:
            raise _missing()
        key = _decoded(text)
        if not record.fits(key):
            raise _missing()
        return key

    def _refuse_new_key_for_old_data(self) -> None:
        """Refuse a new key if another key has encrypted data, which would be lost."""
        if (self._folder / SECRETS_FILE).exists() or is_encrypted(self._folder):
            raise _missing()

    def _refuse_key_that_opens_nothing(self, key: bytes) -> None:
        """Refuse a recovery key that does not decrypt the existing data, if the file is missing."""
        copies = EncryptedVault(self._folder, key)
        names = copies.names()
        fits = key_fits(self._folder, key)
        with suppress(VaultFailed):
            for name in names[:1]:
                copies.get(name)
            names = []
        if names or not fits:
            raise RecoveryKeyWrong(
                message(
                    "This recovery key does not open the data on this computer. Nothing was changed; "
                    "look for the one that was written down here."
                )
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_private(self._folder)
        lock = FileLock(self._path.with_suffix(".lock"), mode=FILE_MODE, timeout=_OTHER_PROGRAM_S, is_singleton=False)
        try:
            lock.acquire()
        except Timeout:
            raise VaultWaiting(
                message(
                    "Another window or command of vbdesk is asking for the key of this computer. Close it, or wait."
                )
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _read(self) -> _Record | None:
        """Read the key file; None if there is none. Raises ServiceKeyMissing if it is damaged."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise _missing() from None
        try:
            return _read_record(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _missing() from None

    def _read_wrapped(self) -> _Record:
        """As `_read`, where a passphrase has to open the key. Raises ServiceKeyMissing if none does."""
        record = self._read()
        if record is None or record.wrapped is None:
            raise _missing()
        return record

    def _read_or_set_aside(self) -> _Record | None:
        """As `_read`; renames a damaged file."""
        try:
            return self._read()
        except ServiceKeyMissing:
            self._path.replace(self._path.with_suffix(".damaged"))
            return None

    def _write(self, record: _Record) -> None:
        document: dict[str, object] = {
            "format": 1,
            "key_id": record.key_id,
            "check": record.check,
            "recovery_offered": record.recovery_offered,
            "lock": record.lock,
            "passphrase": None if record.wrapped is None else record.wrapped.document(),
        }
        write_json_atomically(self._path, document)


def _opened(record: _Record, key: bytes) -> ServiceKey:
    storage: Literal["keyring", "passphrase"] = "keyring" if record.wrapped is None else "passphrase"
    return ServiceKey(key, storage, recovery_due=not record.recovery_offered)


def _read_record(document: dict[str, Any]) -> _Record:
    """Parse the key file. Raises ValueError, KeyError, TypeError."""
    said, lock = document["passphrase"], document.get("lock")
    return _Record(
        str(document["key_id"]),
        str(document["check"]),
        None if said is None else read_wrapped(said),
        bool(document["recovery_offered"]),
        None if lock is None else LockState(lock),
    )


def _check_of(key: bytes) -> str:
    return hmac.new(key, b"vbdesk key of the service on this computer", hashlib.sha256).hexdigest()[:32]


def _unwrapped(record: _Record, passphrase: str) -> bytes:
    if record.wrapped is None:
        raise _missing()
    try:
        return unwrap(record.wrapped, record.key_id, passphrase)
    except WrongPassphrase:
        raise PassphraseWrong(
            message("The passphrase is not right. Nothing is lost. Try again, or use the recovery key.")
        ) from None
    except ValueError:  # the file was changed: Argon2id refuses its parameters
        raise _missing() from None


def _store_key(vault: Vault, name: str, key: bytes) -> None:
    """Store the key in the keyring, and check that it reads back, before anything is encrypted with it."""
    vault.set(name, base64.b64encode(key).decode("ascii"))
    if _decoded(vault.get(name) or "") != key:
        raise VaultFailed(
            message(
                "The keyring does not give back the key of this computer as it was given. Nothing was encrypted "
                "with it."
            )
        )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _refuse_short(passphrase: str) -> None:
    if len(passphrase) < PASSPHRASE_LEAST:
        raise PassphraseTooShort(
            message(
                "A passphrase has at least {least} characters. Make it longer.",
                least=PASSPHRASE_LEAST,
            )
        )


def _missing() -> ServiceKeyMissing:
    return ServiceKeyMissing(
        message(
            "The key that opens the recordings and results on this computer is not where it was kept. "
            "Nothing was deleted. Enter the recovery key, or restore the keyring."
        )
    )
