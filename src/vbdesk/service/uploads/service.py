"""Uploads: sent to the store by signed address, then usable for any number of jobs for a day."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.errors import INVALID_UPLOAD_REF
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import MAX_AUDIO_BYTES, Plan
from vbdesk.contract.uploads import UploadGrant, UploadRequest
from vbdesk.service.accounts.service import require_active
from vbdesk.service.kernel.db.events import UploadMinted, publish
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.errors import AudioTooLarge, InvalidRequest, QuotaExceeded
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account
from vbdesk.service.storage.addresses import ANY_AUDIO, LengthRange, UploadAddresses
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectMissing, ObjectStore
from vbdesk.service.uploads import repository

USABLE = timedelta(hours=24)
"""How long an upload is usable, counted from the end of its address."""

UPLOADS_FOLDER = "uploads"
AT_ONCE = 200
A_FEW = 8


@dataclass(frozen=True, slots=True)
class StoredAudio:
    """An uploaded file: its key in the object store, the declared content type, its size in bytes."""

    key: str
    content_type: str
    size: int


class UploadService:
    """Rules of uploads; no database connection is held while the store is called."""

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        addresses: UploadAddresses,
        clock: Clock,
        valid_s: float,
        quotas: Mapping[Plan, int] | None = None,
    ) -> None:
        """Create the service; `quotas` are bytes by plan, and other plans have no quota."""
        self._quotas = quotas or {}
        self._database = database
        self._store = store
        self._addresses = addresses
        self._clock = clock
        self._valid_s = valid_s

    @classmethod
    def of(cls, context: Context) -> "UploadService":
        """Create the upload service of a running service."""
        settings = context.settings
        quotas = {plan: settings.quota_bytes(plan) for plan in settings.upload_quota_mb}
        return cls(context.database, context.storage, context.addresses, context.clock, settings.upload_valid_s, quotas)

    def mint(self, account: Account, body: UploadRequest) -> UploadGrant:
        """Create an upload address. The file's name is not kept: it may name a person.

        Raises:
            AudioTooLarge: the declared size is above the limit.
            QuotaExceeded: the account's unused uploads leave no room for it.
            Unauthorized: the account was suspended or deleted meanwhile.
        """
        length = ANY_AUDIO
        if body.size_bytes is not None:
            if body.size_bytes > MAX_AUDIO_BYTES:
                raise AudioTooLarge
            length = LengthRange(body.size_bytes, body.size_bytes)
        now = self._clock.now()
        upload_ref = new_id()
        address = self._addresses.mint(upload_key(upload_ref), body.content_type, length, now, self._valid_s)

        def store() -> None:
            with self._database.writing() as connection:
                require_active(connection, account.account_id, alone=True)
                self._require_quota(connection, account, length.most, now)
                repository.insert(
                    connection,
                    upload_ref=upload_ref,
                    account_id=account.account_id,
                    content_type=body.content_type,
                    created_at=now,
                    expires_at=address.expires_at,
                    usable_until=address.expires_at + USABLE,
                    held_bytes=length.most,
                )
                publish(connection, UploadMinted())

        # Addresses that expired unused are looked up with every mint, so that few are ever left.
        self._settle(account, now, A_FEW, only_expired=True)
        try:
            store()
        except QuotaExceeded:
            self._settle(account, now, AT_ONCE)
            store()
        return UploadGrant(
            upload_url=address.url,
            upload_ref=upload_ref,
            expires_at=address.expires_at,
            required_headers=address.required_headers,
        )

    def _require_quota(self, connection: Connection, account: Account, wanted: int, now: datetime) -> None:
        quota = self._quotas.get(account.plan)
        if quota is None or repository.sum_held(connection, account.account_id, now) + wanted <= quota:
            return
        release_at = repository.find_next_release(connection, account.account_id, now)
        wait_s = (release_at - now).total_seconds() if release_at else 0.0
        raise QuotaExceeded(quota, max(1, math.ceil(wait_s)))

    def _settle(self, account: Account, now: datetime, limit: int, *, only_expired: bool = False) -> None:
        """Look up reserved uploads in the store: each then counts its actual size, or nothing.

        An open address without a file keeps its reservation.
        """
        with self._database.reading() as connection:
            unsettled = repository.list_unsettled(connection, account.account_id, now, limit, only_expired=only_expired)
        sizes: dict[str, int] = {}
        for row in unsettled:
            size = self._find_size(upload_key(row.upload_ref))
            if size is not None or row.expires_at < now:
                sizes[row.upload_ref] = size or 0
        if sizes:
            with self._database.writing() as connection:
                repository.settle(connection, sizes)

    def _find_size(self, key: str) -> int | None:
        """Return the file's size, None where there is none; remove a file above the limit."""
        try:
            size = self._store.size(key)
        except ObjectMissing:
            return None
        if size > MAX_AUDIO_BYTES:
            self._store.delete(key)
            return 0
        return size

    def resolve(self, account: Account, upload_ref: str) -> StoredAudio:
        """Return the uploaded file of a reference.

        Raises:
            InvalidRequest: unknown, of another account, never uploaded, or expired.
            AudioTooLarge: larger than allowed, on a store that cannot enforce the size; the file is removed.
        """
        if "\0" in upload_ref:  # PostgreSQL refuses NUL characters
            raise InvalidRequest(INVALID_UPLOAD_REF)
        with self._database.reading() as connection:
            content_type = repository.find_content_type(connection, account.account_id, upload_ref, self._clock.now())
        if content_type is None:
            raise InvalidRequest(INVALID_UPLOAD_REF)
        key = upload_key(upload_ref)
        try:
            size = self._store.size(key)
        except ObjectMissing:
            raise InvalidRequest(INVALID_UPLOAD_REF) from None
        if size > MAX_AUDIO_BYTES:
            self._store.delete(key)
            raise AudioTooLarge
        return StoredAudio(key, content_type, size)

    def remove_past(self) -> int:
        """Delete expired uploads, each file before its row; return how many."""
        removed = 0
        while True:
            with self._database.reading() as connection:
                past = repository.list_past(connection, self._clock.now(), AT_ONCE)
            for upload_ref in past:
                delete_everywhere(self._store, upload_key(upload_ref))
            if past:
                with self._database.writing() as connection:
                    repository.delete(connection, past)
            removed += len(past)
            if len(past) < AT_ONCE:
                return removed


def upload_key(upload_ref: str) -> str:
    """Return the object key of an upload."""
    return f"{UPLOADS_FOLDER}/{upload_ref}"


class StoredUploads:
    """Looks up addresses of the embedded store in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admits(self, key: str) -> bool:
        """Return whether a file may be stored; keys outside the uploads belong to the service."""
        upload_ref = _ref_of(key)
        if upload_ref is None:
            return True
        with self._database.reading() as connection:
            return repository.is_open(connection, upload_ref)

    def note_stored(self, key: str, size: int) -> bool:
        """Return whether the file may stay; count it again if its reservation has ended."""
        upload_ref = _ref_of(key)
        if upload_ref is None:
            return True
        with self._database.reading() as connection:
            if not repository.is_open(connection, upload_ref):
                return False
            counted = repository.counts(connection, upload_ref)
        if not counted:
            with self._database.writing() as connection:
                repository.settle(connection, {upload_ref: size})
        return True


def _ref_of(key: str) -> str | None:
    folder, _, upload_ref = key.partition("/")
    return upload_ref if folder == UPLOADS_FOLDER else None
