"""Data keys of a database: random keys, encrypted by the key-encryption key.

The database stores a data key only encrypted (AES-256-GCM). The newest data key encrypts new data; older ones still
decrypt. A change of the key-encryption key only encrypts these few rows again.
"""

import base64
import binascii
import hmac
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection

from vbdesk.language import N_, joined, message
from vbdesk.service.encryption.keys import EncryptionKey, EncryptionKeys, KeyUnusable
from vbdesk.service.kernel.db.session import Database, insert_into
from vbdesk.service.kernel.db.tables import data_keys, encryption_state
from vbdesk.service.kernel.encrypted_text import NO_KEY, PREFIX

KEY_ID_BYTES = 8
NONCE_BYTES = 12
TAG_BYTES = 16
DATA_KEY_BYTES = 32
WRAPPED_BYTES = KEY_ID_BYTES + NONCE_BYTES + DATA_KEY_BYTES + TAG_BYTES
"""Size of a file's own key in the file: id of the data key, nonce, encrypted key and tag."""

_TEXTS, _FILES, _KEYS = b"texts", b"keys of files", b"data key "


class Damaged(Exception, sa.exc.DontWrapMixin):
    """Encrypted data was altered, truncated, or encrypted with a key that the database does not have."""


@dataclass(frozen=True, slots=True, repr=False)
class _DataKey:
    key_id: bytes
    texts: AESGCM
    files: AESGCM


class DataKeys:
    """Encrypts and decrypts with the data keys of one database; thread-safe.

    The first use calls `find_keys` and reads the database. So every method may raise KeyUnusable.
    """

    def __init__(self, database: Database, find_keys: Callable[[], EncryptionKeys]) -> None:
        self._database = database
        self._find_keys = find_keys
        self._keys: EncryptionKeys = ()
        self._lock = threading.Lock()
        self._by_id: dict[bytes, _DataKey] = {}
        self._newest: _DataKey | None = None

    def open(self) -> _DataKey:
        """Read the data keys at the first call; return the newest. Raises KeyUnusable."""
        if self._newest is None:
            with self._lock:
                if self._newest is None:
                    self._keys = self._find_keys()
                    self._newest = self._load()
        return self._newest

    def encrypt_text(self, text: str, purpose: str) -> str:
        """Encrypt `text` for a column, which `purpose` names."""
        nonce = os.urandom(NONCE_BYTES)
        key = self.open()
        encrypted = key.texts.encrypt(nonce, text.encode(), purpose.encode())
        return PREFIX + base64.b64encode(key.key_id + nonce + encrypted).decode("ascii")

    def decrypt_text(self, stored: str, purpose: str) -> str:
        """Decrypt the result of `encrypt_text` for the same purpose. Raises Damaged."""
        try:
            raw = base64.b64decode(stored[len(PREFIX) :], validate=True)
            key = self._find(raw[:KEY_ID_BYTES])
            nonce, encrypted = raw[KEY_ID_BYTES:][:NONCE_BYTES], raw[KEY_ID_BYTES + NONCE_BYTES :]
            return key.texts.decrypt(nonce, encrypted, purpose.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise Damaged(N_("A stored text cannot be decrypted.")) from None

    def wrap(self, file_key: bytes) -> bytes:
        """Encrypt a file's own key to `WRAPPED_BYTES` bytes."""
        nonce = os.urandom(NONCE_BYTES)
        key = self.open()
        return key.key_id + nonce + key.files.encrypt(nonce, file_key, None)

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt the result of `wrap`. Raises Damaged."""
        try:
            key = self._find(wrapped[:KEY_ID_BYTES])
            return key.files.decrypt(wrapped[KEY_ID_BYTES:][:NONCE_BYTES], wrapped[KEY_ID_BYTES + NONCE_BYTES :], None)
        except (InvalidTag, ValueError):
            raise Damaged(N_("The key of a stored file cannot be decrypted.")) from None

    def _find(self, key_id: bytes) -> _DataKey:
        self.open()
        if key_id not in self._by_id:
            with self._lock:
                self._newest = self._load()  # another process may have added one
        try:
            return self._by_id[key_id]
        except KeyError:
            raise Damaged(N_("The database does not have the data key.")) from None

    def _load(self) -> _DataKey:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(data_keys).order_by(data_keys.c.created_at.desc())).all()
        for row in rows:
            key_id = bytes.fromhex(row.key_id)
            if key_id not in self._by_id:
                self._by_id[key_id] = _derived(key_id, _decrypted(row, self._keys))
        if not rows:
            raise KeyUnusable(N_("The database has lost its data keys. Restore it from a backup. Nothing was changed."))
        return self._by_id[bytes.fromhex(rows[0].key_id)]


def is_encrypted(database: Database) -> bool:
    """Return whether the database has data keys and so needs a key-encryption key."""
    with database.reading() as connection:
        return connection.execute(sa.select(data_keys.c.key_id).limit(1)).first() is not None


def open_data_keys(database: Database, keys: EncryptionKeys, now: Callable[[], datetime]) -> DataKeys | None:
    """Open the data keys of `database`; create the first one when a key is given.

    Returns None where nothing is encrypted and no key is given.

    Raises:
        KeyUnusable: the database is encrypted, and no key is given or none decrypts it.
    """
    if not is_encrypted(database):
        if not keys:
            return None
        _begin(database, keys[0], now())
    if not keys:
        raise KeyUnusable(joined(NO_KEY, message("Nothing was changed.")))
    opened = DataKeys(database, lambda: keys)
    opened.open()
    return opened


def rewrap(database: Database, keys: EncryptionKeys, now: datetime) -> int:
    """Encrypt every data key with the first of `keys` and add a new one; return how many there were.

    Raises:
        KeyUnusable: none of `keys` decrypts one of them; nothing was changed.
    """
    with database.writing() as connection:
        rows = connection.execute(sa.select(data_keys).with_for_update()).all()
        for row in rows:
            key_id = bytes.fromhex(row.key_id)
            values = _encrypted(key_id, _decrypted(row, keys), keys[0])
            connection.execute(sa.update(data_keys).where(data_keys.c.key_id == row.key_id).values(values))
        latest = max(row.created_at for row in rows)
        _add(connection, keys[0], max(now, latest))
    return len(rows)


def wrapped_by(database: Database) -> set[str]:
    """Return the names of the key-encryption keys that the data keys need."""
    with database.reading() as connection:
        return set(connection.execute(sa.select(data_keys.c.wrapped_by)).scalars())


def _begin(database: Database, key: EncryptionKey, now: datetime) -> None:
    """Create the first data key; the single state row makes concurrent processes create only one."""
    with database.writing() as connection:
        first = insert_into(connection, encryption_state).values(only_row=1, began_at=now)
        statement = first.on_conflict_do_nothing().returning(encryption_state.c.only_row)
        if connection.execute(statement).one_or_none() is None:
            return
        _add(connection, key, now)


def _add(connection: Connection, key: EncryptionKey, now: datetime) -> None:
    key_id = os.urandom(KEY_ID_BYTES)
    values = _encrypted(key_id, os.urandom(DATA_KEY_BYTES), key)
    connection.execute(sa.insert(data_keys).values(key_id=key_id.hex(), created_at=now, **values))


def _encrypted(key_id: bytes, secret: bytes, key: EncryptionKey) -> dict[str, object]:
    nonce = os.urandom(NONCE_BYTES)
    wrapped = nonce + AESGCM(key.secret).encrypt(nonce, secret, _KEYS + key_id)
    return {"wrapped": wrapped, "wrapped_by": key.name}


def _decrypted(row: sa.Row[tuple[object, ...]], keys: Iterable[EncryptionKey]) -> bytes:
    wrapped: bytes = row.wrapped
    for key in keys:
        if key.name != row.wrapped_by:
            continue
        try:
            return AESGCM(key.secret).decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _KEYS + bytes.fromhex(row.key_id)
            )
        except (InvalidTag, ValueError):
            break
    raise KeyUnusable(
        message(
            "The encryption key does not fit the data of this service, which needs the key named {name}. Give that "
            "key, or restore the database that belongs to this one. Nothing was changed.",
            name=row.wrapped_by,
        )
    )


def _derived(key_id: bytes, secret: bytes) -> _DataKey:
    texts, files = (AESGCM(hmac.digest(secret, purpose, "sha256")) for purpose in (_TEXTS, _FILES))
    return _DataKey(key_id, texts, files)
