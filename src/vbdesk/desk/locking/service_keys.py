"""The local service's key: blocking operations behind the pages."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from vbdesk.desk.ports import DeskPorts
from vbdesk.language import N_, _, message
from vbdesk.outbox.profiles.app_lock import AppLockSwitch
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.recovery_key import recovery_key_of
from vbdesk.outbox.profiles.service_key import LockState, PassphraseNeeded, ServiceKeyMissing, ServiceKeyStore
from vbdesk.outbox.profiles.vault import VaultMissing
from vbdesk.privacy import owner_only_opener

_SAVED = N_("""Recovery key of vbdesk on this computer

    {lines}

Who has this key and the data folder can open the recordings and results on this computer. Keep it where only you have
it, and not on this computer. vbdesk asks for it when the keyring or the passphrase is lost.
""")


class SavedWithTheData(Exception):
    """The recovery key must not be saved next to the recordings; `str(error)` is for users."""


class ServiceKeys:
    """Opens, makes and recovers the key. Every method blocks: call it in a task."""

    def __init__(self, ports: DeskPorts) -> None:
        self._ports = ports
        self._store = ServiceKeyStore(ports.service_dir)
        self._switch = AppLockSwitch(
            ports.data_dir, ports.service_dir, ports.config_dir, ports.keyring, ports.passphrase_vault
        )

    def open(self) -> bytes:
        """Return the key; made at random on first use if there is a keyring.

        Raises:
            PassphraseNeeded: a person has to enter the passphrase.
            ServiceKeyMissing: a person has to enter the recovery key.
            VaultError: the keyring did not answer; VaultMissing: there is none, and no key was made yet.
        """
        known = self._ports.passphrase_vault.service_key
        if known is not None:
            return known
        try:
            return self._opened(self._store.open(self._ports.keyring).key)
        except VaultMissing:
            if not self._store.is_there():
                raise
            raise ServiceKeyMissing(
                message(
                    "This computer has no keyring any more, and the key to its recordings and results was in it. "
                    "Nothing was deleted. Start the keyring and try again, or enter the recovery key."
                )
            ) from None

    def opens(self, profile: Profile) -> bool:
        """Whether the key opens the secrets of `profile`. Raises VaultError.

        A missing or damaged key file says nothing about the app lock: then the keyring is asked for the secrets.
        """
        if profile.kind == "local" or profile.secrets != "keyring":
            return profile.kind == "local"
        with suppress(ServiceKeyMissing):
            if self._store.lock_state() is not None:
                return True
        return self._store.is_there() and self._ports.keyring.get(profile.api_key_name) is None

    def passphrase_opens(self) -> bool:
        """Whether a passphrase opens the key: the app lock is on, or there is no keyring. Raises ServiceKeyMissing."""
        return self._store.passphrase_opens()

    def app_lock(self) -> LockState | None:
        """State of the app lock; None if it is off. Raises ServiceKeyMissing."""
        return self._store.lock_state()

    def turn_lock_on(self, passphrase: str) -> str:
        """Let `passphrase` open the keys of this computer; returns the recovery key. See `AppLockSwitch.turn_on`."""
        return self._switch.turn_on(passphrase).recovery_key

    def turn_lock_off(self, passphrase: str) -> None:
        """Let the keyring open the keys of this computer again. See `AppLockSwitch.turn_off`."""
        self._switch.turn_off(passphrase)

    def unlock(self, passphrase: str) -> None:
        """Open the key with the passphrase. Raises PassphraseWrong, ServiceKeyMissing."""
        self._opened(self._store.unlock(passphrase).key)

    def create(self, passphrase: str) -> None:
        """Make the key without a keyring; with an existing passphrase, open it.

        Raises:
            PassphraseTooShort, PassphraseWrong, ServiceKeyMissing: no key is open.
        """
        try:
            self._opened(self._store.create(passphrase).key)
        except PassphraseNeeded:
            self.unlock(passphrase)

    def recover(self, typed: str, passphrase: str | None) -> None:
        """Open the key with the recovery key, and store it in the keyring or with a new passphrase.

        Raises:
            RecoveryKeyMistyped, RecoveryKeyWrong, PassphraseTooShort: nothing changed.
            VaultMissing: there is no keyring, and `passphrase` is None.
            VaultError: the keyring did not answer.
        """
        key = self._store.recover(typed, self._ports.keyring, passphrase).key
        self._opened(key)
        if passphrase is not None and self._store.lock_state() is None:
            self._use_passphrase()

    def change_passphrase(self, old: str, new: str) -> None:
        """Choose another passphrase. Raises PassphraseWrong, PassphraseTooShort, ServiceKeyMissing."""
        self._store.change_passphrase(old, new)

    def store_copies(self, profile: Profile, key: bytes) -> None:
        """Let the recovery key restore the keyring entries of a profile. Raises VaultError, OSError."""
        if profile.secrets == "keyring" and not self._ports.passphrase_vault.replaces_keyring:
            self._store.copy_secrets(self._ports.keyring, key, (profile.api_key_name, profile.library_key_name))

    def due_recovery_key(self) -> str | None:
        """The recovery key if it was not offered yet; None otherwise."""
        key = self._ports.passphrase_vault.service_key
        return recovery_key_of(key) if key is not None and self._store.recovery_is_due() else None

    def recovery_was_offered(self) -> None:
        """Mark the recovery key as offered."""
        self._store.recovery_was_offered()

    def save_recovery_key(self, recovery_key: str, file: Path) -> None:
        """Write the recovery key to a file that only its owner can read.

        Raises:
            SavedWithTheData: the file would be in the folder of the recordings.
            OSError: it could not be written.
        """
        folder = self._ports.data_dir.resolve()
        if file.resolve().is_relative_to(folder):
            raise SavedWithTheData(
                message(
                    "The recovery key was not saved, because this is the folder of the recordings: who takes the "
                    "folder would have the key too. Choose another folder, best on another disk."
                )
            )
        groups = recovery_key.split("-")
        lines = "\n    ".join("-".join(groups[start : start + 4]) for start in range(0, len(groups), 4))
        with open(file, "w", encoding="utf-8", opener=owner_only_opener) as target:
            target.write(_(_SAVED, lines=lines))

    def _opened(self, key: bytes) -> bytes:
        self._ports.passphrase_vault.unlock(EncryptedVault(self._ports.service_dir, key))
        self._switch.key_was_opened(key)
        return key

    def _use_passphrase(self) -> None:
        """Switch the profiles to the encrypted key file, since the keyring is gone."""
        profiles = ProfileStore(self._ports.config_dir)
        for profile in profiles.all():
            if profile.kind == "local" and profile.secrets == "keyring":
                profiles.save(replace(profile, secrets="passphrase"))
