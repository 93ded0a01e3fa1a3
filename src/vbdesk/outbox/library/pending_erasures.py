"""What the service on this computer still has to erase, of recordings that were removed here.

The transaction that removes a recording adds an entry; the service's confirmation deletes it. So a crash, or a service
that is down, only delays the erasure. Entries are encrypted settings of the library.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.store import Store

_NAME = "erasure/"


class ErasureScope(StrEnum):
    """How much of a recording is erased."""

    SOUND = "sound"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """One recording that the service has to erase, or the group of a subject that was erased.

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

    def add(self, take_id: str, what: ErasureScope) -> None:
        """Plan an erasure if the service has anything of a recording. Within the transaction that removes it.

        What somebody else has changed names no subject, job or upload: they may be those of another recording.
        """
        group_id, upload_refs = "", set[str]()
        job_ids = {
            str(row["job_id"]) for row in self._store.rows("SELECT job_id FROM jobs WHERE take_id = ?", (take_id,))
        }
        if self._store.is_intact(take_id):
            row = self._store.row(take_id)
            query = "SELECT upload_ref FROM main.pending WHERE take_id = ? AND upload_ref IS NOT NULL"
            upload_refs = {str(event["upload_ref"]) for event in self._store.rows(query, (take_id,))}
            group_id = str(row["group_id"])
            job_ids |= set() if row["job_id"] is None else {str(row["job_id"])}
        if job_ids or upload_refs:
            self._store_row(PendingErasure(take_id, group_id, what, tuple(sorted(job_ids)), tuple(upload_refs)))

    def add_subject(self, group_id: str) -> None:
        """Plan the erasure of a subject's group, which names no job. Within the transaction that erases the subject."""
        self._store_row(PendingErasure(new_id(), group_id, ErasureScope.EVERYTHING, (), ()))

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
        self._store.store_setting(_NAME + erasure.take_id, json.dumps(entry).encode())
