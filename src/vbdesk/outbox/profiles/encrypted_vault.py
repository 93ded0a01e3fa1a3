"""Secrets in a file, each encrypted with the key of the service on this computer.

They are the vault of profiles on a computer without a keyring. With a keyring they are a copy, so that the recovery key
restores access to the recordings if the keyring is lost.
"""

import json
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from filelock import FileLock

from vbdesk.capture.encrypted_take import sync_folder
from vbdesk.language import message
from vbdesk.outbox.profiles.shared_files import replace_shared
from vbdesk.outbox.profiles.vault import PassphraseLocked, VaultFailed
from vbdesk.privacy import FILE_MODE, make_private, owner_only_opener

SECRETS_FILE = "desk-secrets.json"
_NONCE_BYTES = 12


class EncryptedVault:
    """Secrets of the desk in the folder of the service on this computer. Every method reads or writes the disk.

    Attributes:
        service_key: the key of that service, which encrypts them.
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._path = folder / SECRETS_FILE
        self.service_key = key
        self._cipher = AESGCM(HKDF(SHA256(), 32, None, b"vbdesk secrets of the desk").derive(key))

    def names(self) -> list[str]:
        """Names of the stored secrets. Raises VaultFailed."""
        return list(self._load())

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none. Raises VaultFailed."""
        sealed = self._load().get(name)
        if sealed is None:
            return None
        try:
            content = bytes.fromhex(sealed)
            return self._cipher.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], name.encode()).decode()
        except (ValueError, InvalidTag):
            raise _damaged() from None

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`; there is never a prompt."""
        return self.get(name)

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`. Raises VaultFailed, OSError."""
        nonce = os.urandom(_NONCE_BYTES)
        with self._changing():
            sealed = nonce + self._cipher.encrypt(nonce, secret.encode(), name.encode())
            self._save({**self._load(), name: sealed.hex()})

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`; there is never a prompt."""
        self.set(name, secret)

    def delete(self, name: str) -> None:
        """Delete `name` if it exists. Raises VaultFailed, OSError."""
        with self._changing():
            known = self._load()
            if known.pop(name, None) is not None:
                self._save(known)

    def allow_prompt(self) -> None:
        """Do nothing: there is never a prompt."""

    def _changing(self) -> FileLock:
        make_private(self._path.parent)
        return FileLock(self._path.with_suffix(".lock"), mode=FILE_MODE, is_singleton=False)

    def _load(self) -> dict[str, str]:
        if not self._path.exists():
            return {}
        try:
            sealed = json.loads(self._path.read_text(encoding="utf-8"))["sealed"]
            return {str(name): str(text) for name, text in sealed.items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _damaged() from None

    def _save(self, sealed: dict[str, str]) -> None:
        write_json_atomically(self._path, {"format": 1, "sealed": sealed})


class UnlockableVault:
    """An `EncryptedVault` that opens with a passphrase, or with the keyring, while the desk runs.

    Attributes:
        replaces_keyring: whether the app lock is on, so that secrets are here and not in the keyring.
    """

    def __init__(self) -> None:
        self._sealed: EncryptedVault | None = None
        self.replaces_keyring = False

    @property
    def service_key(self) -> bytes | None:
        """The key of the service on this computer; None before `unlock`."""
        return None if self._sealed is None else self._sealed.service_key

    def unlock(self, sealed: EncryptedVault) -> None:
        """Unlock it until the program ends."""
        self._sealed = sealed

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none. Raises VaultLocked, VaultFailed."""
        return self._opened().get(name)

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`; there is no prompt here."""
        return self._opened().get(name)

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`. Raises VaultLocked, VaultFailed, OSError."""
        self._opened().set(name, secret)

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`; there is no prompt here."""
        self._opened().set(name, secret)

    def delete(self, name: str) -> None:
        """Delete `name`. Raises VaultLocked, VaultFailed, OSError."""
        self._opened().delete(name)

    def allow_prompt(self) -> None:
        """Do nothing: there is no prompt here."""

    def _opened(self) -> EncryptedVault:
        if self._sealed is None:
            raise PassphraseLocked(
                message("The keys of this computer are locked. Open the desk and enter your passphrase.")
            )
        return self._sealed


def write_json_atomically(path: Path, document: dict[str, object]) -> None:
    """Write JSON readable only for its owner; a crash leaves the old or the new file."""
    unfinished = path.with_suffix(".new")
    with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
        json.dump(document, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    replace_shared(unfinished, path)
    sync_folder(path.parent)


def _damaged() -> VaultFailed:
    return VaultFailed(
        message(
            "The file {file} of this computer's service is damaged, so its secrets do not open. "
            "Nothing was changed; restore the file from a backup.",
            file=SECRETS_FILE,
        )
    )
