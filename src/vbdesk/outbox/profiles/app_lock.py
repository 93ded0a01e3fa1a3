"""The app lock: while it is on, secrets of profiles are encrypted with a passphrase and not in the keyring.

The key file of the service on this computer says whether it is on (see `service_key`). Turning it on copies the secrets
into the encrypted vault before it deletes them from the keyring; turning it off does the reverse. A program that is
killed in between leaves each secret in at least one of both, and the next start with the passphrase finishes the work.
"""

import logging
from contextlib import suppress
from pathlib import Path

from vbdesk.language import message
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault, UnlockableVault
from vbdesk.outbox.profiles.profiles import COMPUTER_NAME, ProfileStore, profiles_folder, secret_names
from vbdesk.outbox.profiles.service_key import LockState, ServiceKey, ServiceKeyStore
from vbdesk.outbox.profiles.vault import Vault, VaultError, VaultFailed, VaultMissing

_MARK = "/high-water"

log = logging.getLogger(__name__)


class LockableVault:
    """Secrets of profiles: in the keyring or, while the app lock is on, encrypted with its passphrase.

    The marks that detect an older copy and the id of this computer stay in the keyring. They open nothing, and a copied
    folder must not bring them along.
    """

    def __init__(self, keyring: Vault, unlocked: UnlockableVault) -> None:
        self._keyring, self._unlocked = keyring, unlocked

    @property
    def service_key(self) -> bytes | None:
        """The key of the service on this computer; None if it is not open."""
        return self._unlocked.service_key

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none."""
        secret = self._unlocked.get(name) if self._is_in_file(name) else None
        return self._keyring.get(name) if secret is None else secret

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`, for work that no person started."""
        secret = self._unlocked.get(name) if self._is_in_file(name) else None
        return self._keyring.get_without_prompt(name) if secret is None else secret

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`."""
        self._home(name).set(name, secret)

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`, for work that no person started."""
        self._home(name).set_without_prompt(name, secret)

    def delete(self, name: str) -> None:
        """Delete `name` from the keyring or the file."""
        if not self._is_in_file(name):
            self._keyring.delete(name)
            return
        self._unlocked.delete(name)
        with suppress(VaultMissing):
            self._keyring.delete(name)

    def allow_prompt(self) -> None:
        """Allow the keyring's dialog again."""
        self._keyring.allow_prompt()

    def _is_in_file(self, name: str) -> bool:
        return self._unlocked.replaces_keyring and name != COMPUTER_NAME and not name.endswith(_MARK)

    def _home(self, name: str) -> Vault:
        return self._unlocked if self._is_in_file(name) else self._keyring


class AppLockSwitch:
    """Turns the app lock of this computer on and off. Every method blocks on the disk, most on the keyring too."""

    def __init__(
        self, data_dir: Path, service_dir: Path, config_dir: Path, keyring: Vault, unlocked: UnlockableVault
    ) -> None:
        self._data_dir, self._folder = data_dir, service_dir
        self._store = ServiceKeyStore(service_dir)
        self._profiles = ProfileStore(config_dir)
        self._keyring, self._unlocked = keyring, unlocked

    def turn_on(self, passphrase: str) -> ServiceKey:
        """Let `passphrase` open what the keyring has opened so far; also finishes a turning on that was broken off.

        Raises:
            PassphraseTooShort, PassphraseNeeded, ServiceKeyMissing: nothing is changed.
            PassphraseWrong: another passphrase was chosen before.
            VaultError: the keyring did not answer; secrets are still in it, and the passphrase is needed already.
        """
        if self._store.lock_state() is None:
            opened = self._store.begin_lock(passphrase, self._keyring)
        else:
            opened = self._store.unlock(passphrase)
        self._unlocked.unlock(EncryptedVault(self._folder, opened.key))
        self._move_into_file()
        return opened

    def turn_off(self, passphrase: str) -> None:
        """Put the secrets back into the keyring, which opens them from then on.

        Raises:
            PassphraseWrong, ServiceKeyMissing: nothing is changed.
            VaultError: the keyring did not take them; the lock stays on.
        """
        opened = self._store.unlock(passphrase)
        self._unlocked.unlock(EncryptedVault(self._folder, opened.key))
        self._store.note_lock(LockState.TURNING_OFF)
        self._move_into_keyring(opened.key)

    def key_was_opened(self, key: bytes) -> None:
        """Read secrets where they are now; finish what was broken off. The passphrase has opened `key`."""
        state = self._store.lock_state()
        self._unlocked.replaces_keyring = state is not None
        try:
            if state is LockState.TURNING_ON:
                self._move_into_file()
            elif state is LockState.TURNING_OFF:
                self._move_into_keyring(key)
        except VaultError as error:  # tried again at the next start
            log.warning("The app lock was not finished: %s", error)

    def _move_into_file(self) -> None:
        sealed = self._unlocked
        names = self._names()
        for name in names:
            secret = self._keyring.get(name)
            if secret is None:  # moved before
                continue
            sealed.set(name, secret)
            if sealed.get(name) != secret:
                raise VaultFailed(
                    message("The encrypted file does not give back a key as it was given. Nothing was deleted.")
                )
        sealed.replaces_keyring = True
        for name in names:
            self._keyring.delete(name)
        with suppress(VaultMissing):  # a computer without a keyring never had it there
            self._store.delete_from_keyring(self._keyring)
        self._store.note_lock(LockState.ON)

    def _move_into_keyring(self, key: bytes) -> None:
        try:
            for name in self._names():
                secret = self._unlocked.get(name)
                if secret is None:
                    continue
                self._keyring.set(name, secret)
                if self._keyring.get(name) != secret:
                    raise VaultFailed(
                        message("The keyring does not give back a key as it was given. The lock stays on.")
                    )
            self._store.end_lock(key, self._keyring)
        except VaultError:
            self._store.note_lock(LockState.TURNING_ON)  # what is in the keyring already is deleted there again
            raise
        self._unlocked.replaces_keyring = False

    def _names(self) -> list[str]:
        """Secrets that the lock moves: of profiles that use the keyring, also of removed ones with recordings here."""
        others = {profile.profile_id for profile in self._profiles.all() if profile.secrets != "keyring"}
        ids = {profile.profile_id for profile in self._profiles.all()}
        with suppress(FileNotFoundError):
            ids |= {folder.name for folder in profiles_folder(self._data_dir).iterdir()}
        return [name for profile_id in sorted(ids - others) for name in secret_names(profile_id)]
