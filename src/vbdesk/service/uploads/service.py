"""Uploads: minted, put to the store by signed address, then analysed any number of times for a day."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from vbdesk.contract.errors import INVALID_UPLOAD_REF
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER, UploadGrant, UploadRequest
from vbdesk.service.accounts.service import Account
from vbdesk.service.clock import Clock
from vbdesk.service.errors import InvalidRequest
from vbdesk.service.storage.signing import UploadSigner
from vbdesk.service.storage.store import ObjectMissing, ObjectStore
from vbdesk.service.uploads import repository

USABLE = timedelta(hours=24)
"""How long an upload may be analysed, counted from the end of its address's validity."""

UPLOADS_FOLDER = "uploads"


@dataclass(frozen=True, slots=True)
class StoredAudio:
    """An uploaded file: its key in the object store, the declared content type, its size in bytes."""

    key: str
    content_type: str
    size: int


class UploadService:
    """Rules of uploads."""

    def __init__(self, store: ObjectStore, signer: UploadSigner, clock: Clock, valid_s: float) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock
        self._valid_s = valid_s

    def mint(self, connection: Connection, account: Account, body: UploadRequest, origin: str) -> UploadGrant:
        """Grant one upload below the store's `origin`. The file's name is not kept: it may name a person."""
        now = self._clock.now()
        upload_ref = new_id()
        expires_at = now + timedelta(seconds=self._valid_s)
        headers = {"Content-Type": body.content_type, LENGTH_RANGE_HEADER: f"1,{MAX_AUDIO_BYTES}"}
        repository.insert(
            connection,
            upload_ref=upload_ref,
            account_id=account.account_id,
            content_type=body.content_type,
            created_at=now,
            expires_at=expires_at,
            usable_until=expires_at + USABLE,
        )
        return UploadGrant(
            upload_url=self._signer.sign(origin, upload_key(upload_ref), headers, now, self._valid_s),
            upload_ref=upload_ref,
            expires_at=expires_at,
            required_headers=headers,
        )

    def resolve(self, connection: Connection, account: Account, upload_ref: str) -> StoredAudio:
        """The uploaded file behind a reference.

        Raises:
            InvalidRequest: unknown, another account's, never written, or too old.
        """
        if "\0" in upload_ref:  # PostgreSQL cannot even be asked for it
            raise InvalidRequest(INVALID_UPLOAD_REF)
        content_type = repository.find_content_type(connection, account.account_id, upload_ref, self._clock.now())
        if content_type is None:
            raise InvalidRequest(INVALID_UPLOAD_REF)
        key = upload_key(upload_ref)
        try:
            return StoredAudio(key, content_type, self._store.size(key))
        except ObjectMissing:
            raise InvalidRequest(INVALID_UPLOAD_REF) from None

    def remove_past(self, connection: Connection) -> int:
        """Delete uploads that may no longer be used, file first; how many."""
        past = repository.list_past(connection, self._clock.now())
        for upload_ref in past:
            self._store.delete(upload_key(upload_ref))
        if past:
            repository.delete(connection, past)
        return len(past)


def upload_key(upload_ref: str) -> str:
    """Where the file lies in the object store."""
    return f"{UPLOADS_FOLDER}/{upload_ref}"
