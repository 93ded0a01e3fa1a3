"""What the service on this computer still has to erase, of recordings that were removed here.

The transaction that removes a recording adds an entry; the service's confirmation deletes it. So a crash, or a service
that is down, only delays the erasure. Entries are encrypted settings of the library.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.store import Store

_NAME = "erasure/"


class ErasureScope(StrEnum):
    """How much of a recording is erased."""

    SOUND = "sound"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """One recording that the service has to erase.

    Attributes:
        job_ids: every job that the service ever made for it.
        upload_refs: an upload that never became a job.
    """

    take_id: str
    group_id: str
    what: ErasureScope
    job_ids: tuple[str, ...]
    upload_refs: tuple[str, ...]


class PendingErasures:
    """The entries of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_known(self, take_id: str, what: ErasureScope) -> None:
        """Plan an erasure of a recording of the list. Within the transaction that removes it."""
        row = self._store.row(take_id)
        uploads = self._store.rows(
            "SELECT upload_ref FROM pending WHERE take_id = ? AND upload_ref IS NOT NULL", (take_id,)
        )
        upload_ref = uploads[0]["upload_ref"] if uploads else None
        self.add(take_id, what, str(row["group_id"]), job_id=row["job_id"], upload_ref=upload_ref)

    def add(
        self, take_id: str, what: ErasureScope, group_id: str, *, job_id: object = None, upload_ref: object = None
    ) -> None:
        """Plan an erasure if the service has anything of it. Within the transaction that removes the recording.

        Args:
            take_id: the recording.
            what: how much of it.
            group_id: its subject; empty if unknown.
            job_id: its present job, if any; the jobs that the library has noted are added.
            upload_ref: its upload, if any.
        """
        noted = self._store.rows("SELECT job_id FROM jobs WHERE take_id = ?", (take_id,))
        job_ids = {str(row["job_id"]) for row in noted} | ({str(job_id)} if job_id is not None else set())
        upload_refs = () if upload_ref is None else (str(upload_ref),)
        if job_ids or upload_refs:
            self._store_row(PendingErasure(take_id, group_id, what, tuple(sorted(job_ids)), upload_refs))

    def due(self) -> list[PendingErasure]:
        """Erasures that the service should do now."""
        names: Sequence[str] = [
            row["name"] for row in self._store.rows("SELECT name FROM settings WHERE name LIKE 'erasure/%' ORDER BY 1")
        ]
        found = [self._read(name.removeprefix(_NAME)) for name in names]
        return [erasure for erasure in found if erasure is not None]

    def settle(self, erasure: PendingErasure) -> None:
        """Delete an entry that the service has confirmed, unless it asks for more by now.

        The cached trajectory of the subject still holds what was erased, so it is read again.
        """
        with self._store.changing():
            if self._read(erasure.take_id) == erasure:
                self._store.drop("settings", _NAME + erasure.take_id)
            if erasure.what is ErasureScope.EVERYTHING:
                self._store.forget_trajectory(erasure.group_id)
            self._store.note(AuditAction.ERASED_AT_SERVICE, erasure.take_id, erasure.what, part=AuditPart.SYNC_WORKER)

    def _read(self, take_id: str) -> PendingErasure | None:
        """One entry; None if there is none, or somebody else wrote it."""
        content = self._store.setting(_NAME + take_id)
        if content is None:
            return None
        entry = json.loads(content)
        return PendingErasure(
            take_id,
            entry["group"],
            ErasureScope(entry["what"]),
            tuple(entry["jobs"]),
            tuple(entry["uploads"]),
        )

    def _store_row(self, erasure: PendingErasure) -> None:
        entry = {
            "group": erasure.group_id,
            "what": erasure.what,
            "jobs": erasure.job_ids,
            "uploads": erasure.upload_refs,
        }
        self._store.keep_setting(_NAME + erasure.take_id, json.dumps(entry).encode())
