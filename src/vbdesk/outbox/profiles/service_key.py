"""The key that the service on this computer encrypts its data with: made once for each data folder, and kept.

It is kept in the keyring, or encrypted with a person's passphrase where there is no keyring. A file in the folder of
the data says which, and holds no key: an id by which the keyring knows it, a value by which a wrong key is noticed, and
the key encrypted with the passphrase. The key is never replaced once data may be encrypted with it.

The passphrase becomes a key by Argon2id with the second recommended parameters of RFC 9106, section 4 (3 passes, 4
lanes, 64 MiB, a salt of 128 bits); the OWASP Password Storage Cheat Sheet asks for less (19 MiB, 2 passes). They are in
the file, so that a later release can raise them.
"""

import base64
import hashlib
import hmac
import json
import secrets as random
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from filelock import FileLock, Timeout

from vbdesk.client.local_service import is_encrypted, key_fits
from vbdesk.contract.ids import new_id
from vbdesk.outbox.profiles.encrypted_vault import SECRETS_FILE, SealedVault, write_whole
from vbdesk.outbox.profiles.recovery_key import key_of_recovery, recovery_key_of
from vbdesk.outbox.profiles.vault import Vault, VaultFailed, VaultWaiting
from vbdesk.privacy import FILE_MODE, make_private

KEY_BYTES = 32
KEY_FILE = "desk-key.json"
PASSPHRASE_LEAST = 12
"""Characters that a new passphrase has at least, as for a bundle."""
PASSES, LANES, MEMORY_KIB, SALT_BYTES = 3, 4, 64 * 1024, 16
_MOST_PASSES, _MOST_LANES, _MOST_MEMORY_KIB = 64, 64, 2 * 1024 * 1024  # a damaged file must not take all the memory
_NONCE_BYTES = 12
_OTHER_PROGRAM_S = 130.0  # a little longer than a person may take in front of the keyring's dialog


class ServiceKeyMissing(Exception):
    """There is a key of this data folder, and it is not where it was kept; `str(error)` is for a person."""


class PassphraseNeeded(Exception):
    """The key opens with a passphrase; `str(error)` is for a person."""


class PassphraseWrong(Exception):
    """The passphrase does not open the key; `str(error)` is for a person."""


class PassphraseTooShort(ValueError):
    """A new passphrase has too few characters; `str(error)` is for a person."""


class RecoveryKeyWrong(Exception):
    """It is the recovery key of another computer or folder; `str(error)` is for a person."""


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """The key, in memory.

    Attributes:
        key: 32 bytes; does not show itself.
        kept: where it is kept.
        recovery_due: nobody was offered the recovery key yet.
    """

    key: bytes = field(repr=False)
    kept: Literal["keyring", "passphrase"]
    recovery_due: bool

    @property
    def recovery_key(self) -> str:
        """The key as a person writes it down."""
        return recovery_key_of(self.key)


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """The key, encrypted with a passphrase."""

    salt: bytes
    passes: int
    lanes: int
    memory_kib: int
    sealed: bytes = field(repr=False)

    def derived(self, passphrase: str) -> bytes:
        text = unicodedata.normalize("NFC", passphrase)  # keyboards differ in how they make an accented letter
        argon2 = Argon2id(
            salt=self.salt, length=32, iterations=self.passes, lanes=self.lanes, memory_cost=self.memory_kib
        )
        return argon2.derive(text.encode())


@dataclass(frozen=True, slots=True)
class _Record:
    """What the file says."""

    key_id: str
    check: str
    wrapped: _Wrapped | None
    recovery_offered: bool

    @property
    def vault_name(self) -> str:
        """Name of the key in the keyring."""
        return f"local-service/{self.key_id}/key"

    def fits(self, key: bytes) -> bool:
        """Whether this is the key."""
        return len(key) == KEY_BYTES and hmac.compare_digest(self.check, _check_of(key))


class ServiceKeyStore:
    """The key of the service whose data is in `folder`. Every method blocks on the disk, most on the keyring too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / KEY_FILE

    def open(self, vault: Vault) -> ServiceKey:
        """The key from the keyring; made at random on first use.

        Two programs that ask at once get the same key: a lock on the folder is held until the file is written.

        Raises:
            PassphraseNeeded: it opens with a passphrase, see `unlock`.
            ServiceKeyMissing: the keyring does not have it any more, see `recover`.
            VaultError: the keyring did not answer, or does not keep what it is given; VaultMissing: there is none.
        """
        with self._locked():
            record = self._read()
            if record is None:
                self._refuse_new_key_for_old_data()
                return self._create_in(vault)
            if record.wrapped is not None:
                raise PassphraseNeeded("Enter the passphrase of this computer.")
            return _opened(record, self._from_keyring(record, vault))

    def create(self, passphrase: str) -> ServiceKey:
        """Make the key where there is no keyring, and keep it encrypted with `passphrase`.

        Raises:
            PassphraseTooShort: it is.
            PassphraseNeeded, ServiceKeyMissing: there is a key already.
        """
        _refuse_short(passphrase)
        with self._locked():
            record = self._read()
            if record is not None and record.wrapped is not None:
                raise PassphraseNeeded("This computer has a passphrase already. Enter that one.")
            if record is not None:
                raise _missing()
            self._refuse_new_key_for_old_data()
            key = random.token_bytes(KEY_BYTES)
            key_id = new_id()
            record = _Record(key_id, _check_of(key), _wrap(key, key_id, passphrase), recovery_offered=False)
            self._write(record)
            return _opened(record, key)

    def unlock(self, passphrase: str) -> ServiceKey:
        """The key that `passphrase` opens. Takes a tenth of a second of one core, and 64 MiB.

        Raises:
            PassphraseWrong: it does not open; nothing is changed.
            ServiceKeyMissing: the file that holds the encrypted key is gone or damaged.
        """
        record = self._read()
        if record is None or record.wrapped is None:
            raise _missing()
        return _opened(record, _unwrapped(record, record.wrapped, passphrase))

    def change_passphrase(self, old: str, new: str) -> None:
        """Encrypt the same key with another passphrase. The recovery key stays the same.

        Raises:
            PassphraseWrong, PassphraseTooShort, ServiceKeyMissing: nothing is changed.
        """
        _refuse_short(new)
        with self._locked():
            record = self._read()
            if record is None or record.wrapped is None:
                raise _missing()
            key = _unwrapped(record, record.wrapped, old)
            self._write(replace(record, wrapped=_wrap(key, record.key_id, new)))

    def recover(self, typed: str, vault: Vault, passphrase: str | None = None) -> ServiceKey:
        """Take the key from a recovery key, and keep it again: in the keyring, or encrypted with a new passphrase.

        What the folder keeps of the keyring's other secrets is put back into the keyring where it lacks them.

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
                    "This is the recovery key of another computer, or of an earlier set-up. Nothing was changed; "
                    "look for the one that was written down here."
                )
            if known is None:
                self._refuse_key_that_opens_nothing(key)
            record = known or _Record(new_id(), _check_of(key), None, recovery_offered=True)
            if passphrase is not None:
                record = replace(record, wrapped=_wrap(key, record.key_id, passphrase))
            else:
                record = replace(record, wrapped=None)
                _keep(vault, record.vault_name, key)
                self._put_back(vault, key)
            self._write(replace(record, recovery_offered=True))
            return _opened(replace(record, recovery_offered=True), key)

    def recovery_was_offered(self) -> None:
        """Never offer the recovery key again."""
        with self._locked():
            record = self._read()
            if record is not None:
                self._write(replace(record, recovery_offered=True))

    def recovery_is_due(self) -> bool:
        """Whether nobody was offered the recovery key yet."""
        record = self._read()
        return record is not None and not record.recovery_offered

    def is_there(self) -> bool:
        """Whether a key was made for this folder."""
        return self._path.exists() or (self._folder / SECRETS_FILE).exists()

    def copy_secrets(self, vault: Vault, key: bytes, names: Iterable[str]) -> None:
        """Keep these secrets of the keyring encrypted beside the data too, for a recovery. Raises VaultError."""
        copies = SealedVault(self._folder, key)
        for name in names:
            secret = vault.get(name)
            if secret is not None and copies.get(name) != secret:
                copies.set(name, secret)

    def _put_back(self, vault: Vault, key: bytes) -> None:
        copies = SealedVault(self._folder, key)
        for name in copies.names():
            secret = copies.get(name)
            if secret is not None and vault.get(name) is None:
                vault.set(name, secret)

    def _create_in(self, vault: Vault) -> ServiceKey:
        key = random.token_bytes(KEY_BYTES)
        record = _Record(new_id(), _check_of(key), None, recovery_offered=False)
        _keep(vault, record.vault_name, key)
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
        """Data that another key has encrypted would never open again, once this one was taken for its key."""
        if (self._folder / SECRETS_FILE).exists() or is_encrypted(self._folder):
            raise _missing()

    def _refuse_key_that_opens_nothing(self, key: bytes) -> None:
        """Without the file that tells, what the key does not open tells that it is another one."""
        copies = SealedVault(self._folder, key)
        names = copies.names()
        fits = key_fits(self._folder, key)
        with suppress(VaultFailed):
            for name in names[:1]:
                copies.get(name)
            names = []
        if names or not fits:
            raise RecoveryKeyWrong(
                "This recovery key does not open the data on this computer. Nothing was changed; "
                "look for the one that was written down here."
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_private(self._folder)
        lock = FileLock(self._path.with_suffix(".lock"), mode=FILE_MODE, timeout=_OTHER_PROGRAM_S, is_singleton=False)
        try:
            lock.acquire()
        except Timeout:
            raise VaultWaiting(
                "Another window or command of vbdesk is asking for the key of this computer. Close it, or wait."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _read(self) -> _Record | None:
        """What the file says; None if there is none. Raises ServiceKeyMissing if it is damaged."""
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

    def _read_or_set_aside(self) -> _Record | None:
        """As `_read`; a damaged file is kept under another name."""
        try:
            return self._read()
        except ServiceKeyMissing:
            self._path.replace(self._path.with_suffix(".damaged"))
            return None

    def _write(self, record: _Record) -> None:
        wrapped = record.wrapped
        document: dict[str, object] = {
            "format": 1,
            "key_id": record.key_id,
            "check": record.check,
            "recovery_offered": record.recovery_offered,
            "passphrase": None
            if wrapped is None
            else {
                "function": "argon2id",
                "salt": wrapped.salt.hex(),
                "passes": wrapped.passes,
                "lanes": wrapped.lanes,
                "memory_kib": wrapped.memory_kib,
                "sealed": wrapped.sealed.hex(),
            },
        }
        write_whole(self._path, document)


def _opened(record: _Record, key: bytes) -> ServiceKey:
    kept: Literal["keyring", "passphrase"] = "keyring" if record.wrapped is None else "passphrase"
    return ServiceKey(key, kept, recovery_due=not record.recovery_offered)


def _read_record(document: dict[str, Any]) -> _Record:
    """The file's content. Raises ValueError, KeyError, TypeError."""
    said = document["passphrase"]
    wrapped = None
    if said is not None:
        wrapped = _Wrapped(
            bytes.fromhex(said["salt"]),
            int(said["passes"]),
            int(said["lanes"]),
            int(said["memory_kib"]),
            bytes.fromhex(said["sealed"]),
        )
        if wrapped.passes > _MOST_PASSES or wrapped.lanes > _MOST_LANES or wrapped.memory_kib > _MOST_MEMORY_KIB:
            raise ValueError
    return _Record(str(document["key_id"]), str(document["check"]), wrapped, bool(document["recovery_offered"]))


def _check_of(key: bytes) -> str:
    return hmac.new(key, b"vbdesk key of the service on this computer", hashlib.sha256).hexdigest()[:32]


def _wrap(key: bytes, key_id: str, passphrase: str) -> _Wrapped:
    empty = _Wrapped(random.token_bytes(SALT_BYTES), PASSES, LANES, MEMORY_KIB, b"")
    nonce = random.token_bytes(_NONCE_BYTES)
    sealed = nonce + AESGCM(empty.derived(passphrase)).encrypt(nonce, key, key_id.encode())
    return replace(empty, sealed=sealed)


def _unwrapped(record: _Record, wrapped: _Wrapped, passphrase: str) -> bytes:
    nonce, sealed = wrapped.sealed[:_NONCE_BYTES], wrapped.sealed[_NONCE_BYTES:]
    try:
        return AESGCM(wrapped.derived(passphrase)).decrypt(nonce, sealed, record.key_id.encode())
    except InvalidTag:
        raise PassphraseWrong(
            "The passphrase is not right. Nothing is lost. Try again, or use the recovery key."
        ) from None
    except ValueError:  # the file was changed: parameters that Argon2id does not take
        raise _missing() from None


def _keep(vault: Vault, name: str, key: bytes) -> None:
    """Give the keyring the key, and see that it gives it back before anything is encrypted with it."""
    vault.set(name, base64.b64encode(key).decode("ascii"))
    if _decoded(vault.get(name) or "") != key:
        raise VaultFailed(
            "The keyring does not give back the key of this computer as it was given. Nothing was encrypted with it."
        )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _refuse_short(passphrase: str) -> None:
    if len(passphrase) < PASSPHRASE_LEAST:
        raise PassphraseTooShort(f"A passphrase has at least {PASSPHRASE_LEAST} characters. Make it longer.")


def _missing() -> ServiceKeyMissing:
    return ServiceKeyMissing(
        "The key that opens the recordings and results on this computer is not where it was kept. "
        "Nothing was deleted. Enter the recovery key, or restore the keyring."
    )
