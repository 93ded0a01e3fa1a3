"""The service's own keys: a file outside the database, created at the first start.

The file holds one root key, `{"root_key": HEX}`, or several, `{"root_keys": [{"key": HEX, "seals_from": TIME}, ...]}`.
All of them decrypt. The newest key whose `seals_from` has passed encrypts. So an operator can copy a new key to every
machine before the first of them uses it.
"""

import hmac
import json
import logging
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from filelock import FileLock

from vbdesk.clock import utc_now
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import message, system_reason
from vbdesk.privacy import FILE_MODE
from vbdesk.service.kernel.settings import Settings

SECRETS_FILE = "secrets"
# purposes, not secrets
WEBHOOK_SECRET = "webhook secret"  # noqa: S105
CLIENT_REF_KEY = "client reference key"
_NONCE_BYTES = 12
_ROOT_KEY_BYTES = 32
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_NAMING = b"name of the key"

log = logging.getLogger(__name__)


class SecretsDamaged(Exception):
    """The key file cannot be read; the message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class RootKey:
    """A root key and the time from which it encrypts."""

    key: bytes
    seals_from: datetime = _EVER

    @property
    def name(self) -> str:
        """Public identifier of the key, safe to show in reports."""
        return hmac.digest(self.key, _NAMING, "sha256").hex()[:12]


RootKeys = tuple[RootKey, ...]
"""Newest first."""


class SecretBox:
    """Encrypts secrets that the service must read again, and derives its signing keys.

    Every key is derived from a root key for one purpose: a text encrypted for one purpose does not decrypt for another.
    """

    def __init__(self, root_keys: Callable[[], RootKeys], now: Callable[[], datetime]) -> None:
        """Create the box; it calls `root_keys` at every use, since the keys may change."""
        self._root_keys = root_keys
        self._now = now

    def key_for(self, purpose: str) -> bytes:
        """Return the 32-byte key that signs and encrypts for `purpose` now."""
        return self.keys_for(purpose)[0]

    def keys_for(self, purpose: str) -> tuple[bytes, ...]:
        """Return every valid key for `purpose`; the first one signs and encrypts now."""
        return tuple(hmac.digest(root.key, purpose.encode(), "sha256") for root in sealing_first(*self._both()))

    def seal(self, text: str, purpose: str) -> bytes:
        """Encrypt `text` (AES-256-GCM)."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self.key_for(purpose)).encrypt(nonce, text.encode(), None)

    def unseal(self, sealed: bytes, purpose: str) -> str:
        """Decrypt the result of `seal` for the same purpose, with any of the keys.

        Raises:
            ValueError: it was encrypted with another key or for another purpose, or it was altered.
        """
        for key in self.keys_for(purpose):
            with suppress(InvalidTag):
                return _decrypt(key, sealed)
        raise ValueError("A stored secret cannot be read with the keys of this service.")

    def is_sealed_now(self, sealed: bytes, purpose: str) -> bool:
        """Return whether the current key encrypted it."""
        try:
            _decrypt(self.key_for(purpose), sealed)
        except InvalidTag:
            return False
        return True

    def _both(self) -> tuple[RootKeys, datetime]:
        return self._root_keys(), self._now()


def sealing_first(keys: RootKeys, now: datetime) -> RootKeys:
    """Return the keys, beginning with the one that encrypts at `now`."""
    sealing = next((key for key in keys if key.seals_from <= now), keys[-1])
    return (sealing, *(key for key in keys if key is not sealing))


class KeyFile:
    """Root keys in a file that only its owner may read; each use detects a changed file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: RootKeys = ()

    def read(self) -> RootKeys:
        """Read the keys from the file.

        Raises:
            SecretsDamaged: the file is damaged or cannot be read.
        """
        try:
            return _parsed(json.loads(self.path.read_text("utf-8")))
        except OSError as error:
            raise SecretsDamaged(
                message(
                    "The key file {file} cannot be read: {reason}. Check that it exists and who may read it.",
                    file=self.path,
                    reason=system_reason(error),
                )
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise SecretsDamaged(
                message("The key file {file} is damaged. Restore it from a backup.", file=self.path)
            ) from error

    def current(self) -> RootKeys:
        """Return the keys, read again when the file has changed.

        While the file cannot be read, the keys read before stay in use.

        Raises:
            SecretsDamaged: the file could not be read yet.
        """
        seen = self._state()
        if seen != self._seen or not self._keys:
            try:
                self._keys = self.read()
            except SecretsDamaged as damage:
                if not self._keys:
                    raise
                log.error("%s The keys read before stay in use.", damage)
            self._seen = seen
        return self._keys

    def create(self) -> None:
        """Create a file with one key, unless there is one; of concurrent calls one wins."""
        if not self.path.exists():
            self._write({"root_key": secrets.token_hex(_ROOT_KEY_BYTES)}, first=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change keys alone for the block: of two changes at once, one would lose the key that the other added.

        Raises:
            OSError: the folder of the file cannot be written.
        """
        lock = self.path.with_name(f"{self.path.name}.lock")
        with FileLock(lock, mode=FILE_MODE):
            self._give_to_owner(lock)
            yield

    def rotate(self, seals_from: datetime) -> RootKey:
        """Add a key that encrypts from that time on. Call it, and `replace`, inside `changing`."""
        added = RootKey(secrets.token_bytes(_ROOT_KEY_BYTES), seals_from)
        self.replace((added, *self.read()))
        return added

    def replace(self, keys: RootKeys) -> None:
        """Replace the keys in the file."""
        listed = [{"key": key.key.hex(), "seals_from": format_timestamp(key.seals_from)} for key in keys]
        self._write({"root_keys": listed})

    def others_may_read(self) -> bool:
        """Return whether others than its owner may read the file; False on Windows, which has no modes.

        Also False for a systemd credential: its group bits are an access list.
        """
        if os.name == "nt" or os.environ.get("CREDENTIALS_DIRECTORY") == str(self.path.parent):
            return False
        return bool(stat.S_IMODE(self.path.stat().st_mode) & 0o077)

    def _state(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _write(self, content: dict[str, Any], *, first: bool = False) -> None:
        """Write a complete temporary file, then rename it; `first` never replaces a file."""
        descriptor, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=".secrets-")  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            if first:
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
                with suppress(PermissionError):  # on Windows, while another process reads it by its other name
                    Path(temporary).unlink()
                return
            self._give_to_owner(Path(temporary))
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _give_to_owner(self, path: Path) -> None:
        """Give a file that root made to the owner of the key file, who must be able to use it."""
        if sys.platform != "win32" and os.geteuid() == 0:
            before = self.path.stat()
            os.chown(path, before.st_uid, before.st_gid)


def key_file_of(settings: Settings) -> KeyFile:
    """Return the key file of these settings; it is in the data folder by default."""
    return KeyFile(settings.secrets_file or settings.data_dir / SECRETS_FILE)


def open_secrets(settings: Settings, is_needed: Callable[[], bool] = lambda: False) -> SecretBox:
    """Open the keys of `settings`.

    In the data folder the first caller creates them. A file shared by several processes is never created automatically:
    each process would create its own and could not read what another encrypted.

    Args:
        settings: says where the file is.
        is_needed: whether the database holds secrets encrypted with a missing file's keys; then no file is created.

    Raises:
        SecretsDamaged: the file is damaged, or it is missing where it is named or needed.
    """
    file = key_file_of(settings)
    if settings.secrets_file is None:
        if not file.path.exists() and is_needed():
            raise SecretsDamaged(missing_but_needed(file.path))
        file.create()
    elif not file.path.exists():
        raise SecretsDamaged(
            message(
                "The key file {file} is missing. Copy that of the other processes there; for a new service make one "
                "with vbdesk admin secrets create.",
                file=file.path,
            )
        )
    file.current()
    if file.others_may_read():
        log.warning("Users other than its owner may read the key file %s. Run chmod 600 on it.", file.path)
    return SecretBox(file.current, utc_now)


def missing_but_needed(path: Path) -> str:
    """Return the error text for a missing key file that the database's secrets need."""
    return message(
        "The key file {file} is missing, and the database holds webhook secrets that only its keys open. Restore it "
        "from a backup, or, if it is lost for good, make a new one with vbdesk admin secrets create --forget-webhooks.",
        file=path,
    )


def _parsed(content: Any) -> RootKeys:
    """Parse the file's content. Raises ValueError, KeyError, TypeError."""
    if "root_key" in content:
        return (RootKey(_root_key(content["root_key"])),)
    keys = [
        RootKey(_root_key(entry["key"]), datetime.fromisoformat(entry["seals_from"])) for entry in content["root_keys"]
    ]
    if not keys or any(key.seals_from.tzinfo is None for key in keys):
        raise ValueError
    return tuple(sorted(keys, key=lambda key: key.seals_from, reverse=True))


def _root_key(text: str) -> bytes:
    key = bytes.fromhex(text)
    if len(key) != _ROOT_KEY_BYTES:
        raise ValueError
    return key


def _decrypt(key: bytes, sealed: bytes) -> str:
    """Decrypt with one key. Raises InvalidTag."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None).decode()
    except ValueError:  # too short
        raise InvalidTag from None
