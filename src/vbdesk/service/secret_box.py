"""The service's own keys: made at first start, kept beside the database, never in it."""

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SECRETS_FILE = "secrets"
_NONCE_BYTES = 12


class SecretsDamaged(Exception):
    """The key file cannot be read; one sentence for the operator."""


class SecretBox:
    """Seals what the service must read again, and derives its signing keys.

    Every key is derived from one root key for one purpose, so that a sealed text of one kind cannot pass for another.
    """

    def __init__(self, root_key: bytes) -> None:
        self._root_key = root_key

    def key_for(self, purpose: str) -> bytes:
        """A 32-byte key of its own for `purpose`."""
        return hmac.new(self._root_key, purpose.encode(), hashlib.sha256).digest()

    def seal(self, text: str, purpose: str) -> bytes:
        """Encrypt `text` (AES-256-GCM)."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self.key_for(purpose)).encrypt(nonce, text.encode(), None)

    def unseal(self, sealed: bytes, purpose: str) -> str:
        """Decrypt what `seal` made for the same purpose.

        Raises:
            ValueError: it was sealed with another key or for another purpose, or it was altered.
        """
        try:
            text = AESGCM(self.key_for(purpose)).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
        except InvalidTag as error:
            raise ValueError("A stored secret cannot be read with the keys of this data folder.") from error
        return text.decode()


def load_or_create_secrets(data_dir: Path) -> SecretBox:
    """The keys of `data_dir`; the first caller makes them, also when several start at once.

    Raises:
        SecretsDamaged: the file is damaged.
    """
    path = data_dir / SECRETS_FILE
    if not path.exists():
        _create(path)
    try:
        return SecretBox(bytes.fromhex(json.loads(path.read_text("utf-8"))["root_key"]))
    except (ValueError, KeyError, TypeError) as error:
        raise SecretsDamaged(f"The key file {path} is damaged. Restore it from a backup.") from error


def _create(path: Path) -> None:
    """Write a complete file under another name, then link it into place: whoever links first wins."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".secrets-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"root_key": secrets.token_hex(32)}, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        Path(temporary).unlink()
