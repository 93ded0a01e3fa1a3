"""Key-encryption key: 32 random bytes, kept apart from the data that they protect.

The key is never stored in the data folder. It comes from standard input, from a file outside that folder, or from a
command such as that of a vault. Several keys may be given, one per line in hexadecimal digits: the first encrypts, all
of them decrypt.
"""

import hmac
import logging
import os
import re
import secrets
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa

from vbdesk.language import message, system_reason
from vbdesk.privacy import FILE_MODE
from vbdesk.service.kernel.settings import Settings

KEY_BYTES = 32
COMMAND_LIMIT_S = 60.0
MOST_KEYS = 20
_LINE = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_NAMING = b"name of the key"
_LONGEST = MOST_KEYS * 100

log = logging.getLogger(__name__)


class KeyUnusable(Exception, sa.exc.DontWrapMixin):
    """No key, a wrong one, or several sources of keys; one sentence for the operator, without the key."""


@dataclass(frozen=True, slots=True, repr=False)
class EncryptionKey:
    """A key-encryption key."""

    secret: bytes

    @property
    def name(self) -> str:
        """Public identifier of the key, stored with the data keys that it encrypted."""
        return hmac.digest(self.secret, _NAMING, "sha256").hex()[:12]

    def __repr__(self) -> str:
        return f"EncryptionKey({self.name})"


EncryptionKeys = tuple[EncryptionKey, ...]
"""The first encrypts, all decrypt; an empty tuple turns encryption off."""


def new_key() -> EncryptionKey:
    """Create a random key."""
    return EncryptionKey(secrets.token_bytes(KEY_BYTES))


def read_stdin(stream: TextIO) -> EncryptionKeys:
    """Read the keys from a stream to its end. Raises KeyUnusable."""
    return _parsed(
        stream.read(_LONGEST + 1),
        message("Standard input holds no encryption key: it must be 64 hexadecimal digits, one key a line."),
    )


def find_keys(settings: Settings, given: EncryptionKeys = ()) -> EncryptionKeys:
    """Return the keys in `given`, else those of the settings' file or command; may be empty.

    Raises:
        KeyUnusable: the file or the command gives no key, or there are several sources.
    """
    sources = [bool(given), settings.key_file is not None, settings.key_command is not None]
    if sum(sources) > 1:
        raise KeyUnusable(message("Give the encryption key in one way only: by --key-stdin, key_file or key_command."))
    if given:
        return given
    if settings.key_file is not None:
        return _from_file(settings.key_file)
    if settings.key_command is not None:
        return _from_command(settings.key_command)
    return ()


def create_key_file(path: Path) -> EncryptionKey:
    """Create a key file with one new key. Raises FileExistsError, OSError."""
    key = new_key()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(_line(key))
        file.flush()
        os.fsync(file.fileno())
    return key


def replace_key_file(path: Path, keys: EncryptionKeys) -> None:
    """Replace the keys in the file atomically. Raises OSError."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines(_line(key) for key in keys)
            file.flush()
            os.fsync(file.fileno())
        if sys.platform != "win32" and os.geteuid() == 0:  # root rotates; the service's user must still be able to read
            before = path.stat()
            os.chown(temporary, before.st_uid, before.st_gid)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _line(key: EncryptionKey) -> str:
    return f"{key.secret.hex()}\n"


def _from_file(path: Path) -> EncryptionKeys:
    try:
        if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077 and not _is_credential(path):
            log.warning("Users other than its owner may read the encryption key file %s. Run chmod 600 on it.", path)
        with path.open(encoding="utf-8", errors="replace") as file:
            return _parsed(
                file.read(_LONGEST + 1),
                message(
                    "The file {file} holds no encryption key: it must be 64 hexadecimal digits, one key a line.",
                    file=path,
                ),
            )
    except OSError as error:
        raise KeyUnusable(
            message(
                "The encryption key file {file} cannot be read: {reason}. Check that it exists and who may read it.",
                file=path,
                reason=system_reason(error),
            )
        ) from None


def _is_credential(path: Path) -> bool:
    """Return whether systemd provided the file: its group bits are an access list."""
    return os.environ.get("CREDENTIALS_DIRECTORY") == str(path.parent)


def _from_command(command: tuple[str, ...]) -> EncryptionKeys:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except OSError as error:
        raise KeyUnusable(
            message(
                "The key_command {command} cannot be run: {reason}.", command=command[0], reason=system_reason(error)
            )
        ) from None
    except subprocess.TimeoutExpired:
        raise KeyUnusable(
            message(
                "The key_command {command} did not end within {seconds} s. Check that its vault responds.",
                command=command[0],
                seconds=COMMAND_LIMIT_S,
            )
        ) from None
    if done.returncode:  # its output may contain a secret
        raise KeyUnusable(
            message(
                "The key_command {command} failed with status {status}. Run it manually to see why.",
                command=command[0],
                status=str(done.returncode),
            )
        )
    return _parsed(
        done.stdout[: _LONGEST + 1].decode("utf-8", "replace"),
        message(
            "The key_command {command} gives no encryption key: it must be 64 hexadecimal digits, one key a line.",
            command=command[0],
        ),
    )


def _parsed(text: str, otherwise: str) -> EncryptionKeys:
    """The keys in a text, one a line. Raises KeyUnusable with the sentence `otherwise`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or len(text) > _LONGEST or not all(_LINE.fullmatch(line) for line in lines):
        raise KeyUnusable(otherwise)
    return tuple(EncryptionKey(bytes.fromhex(line)) for line in dict.fromkeys(map(str.lower, lines)))
