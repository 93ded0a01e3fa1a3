"""Where secrets live: the keyring of the operating system, or memory for one session; never a file.

A locked keyring blocks its caller, for ever if nobody answers the system's dialog: never call a vault on the thread of
a window.
"""

import threading
from typing import Protocol

SERVICE_NAME = "vbdesk"


class VaultError(Exception):
    """A secret could not be read or written; `str(error)` is one sentence for a person."""


class VaultMissing(VaultError):
    """There is no keyring on this computer."""


class VaultLocked(VaultError):
    """The keyring is locked, and was not unlocked when the system asked."""


class VaultFailed(VaultError):
    """The keyring does not answer as it should."""


class Vault(Protocol):
    """A place for secrets. Every method may block and may raise VaultError."""

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""


class KeyringVault:
    """The keyring of the operating system."""

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""
        import keyring  # 0.2 to 0.5 s, so not at start-up

        try:
            return keyring.get_password(SERVICE_NAME, name)
        except Exception as error:
            raise _explained(error) from error

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""
        import keyring

        try:
            keyring.set_password(SERVICE_NAME, name, secret)
        except Exception as error:
            raise _explained(error) from error

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""
        import keyring
        from keyring.errors import PasswordDeleteError

        try:
            keyring.delete_password(SERVICE_NAME, name)
        except PasswordDeleteError:
            if self.get(name) is not None:
                raise VaultFailed(
                    "The keyring did not delete the key. Delete it in the system's password manager."
                ) from None
        except Exception as error:
            raise _explained(error) from error


class MemoryVault:
    """Secrets for one session: gone when the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""
        with self._lock:
            return self._secrets.get(name)

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""
        with self._lock:
            self._secrets[name] = secret

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""
        with self._lock:
            self._secrets.pop(name, None)


def _explained(error: Exception) -> VaultError:
    """The keyring's error as ours; back ends raise errors of their own libraries too."""
    from keyring.errors import KeyringLocked, NoKeyringError

    if isinstance(error, NoKeyringError):
        return VaultMissing("This computer has no keyring. Start one, or keep the keys for this session only.")
    if isinstance(error, KeyringLocked):
        return VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")
    return VaultFailed("The keyring does not answer. Nothing was changed; log in again or restart the computer.")
