"""What the service on this computer still has to erase, of recordings that were removed here.

The transaction that removes a recording adds an entry; the service's confirmation deletes it. So a crash, or a service
that is down, only delays the erasure. Entries are encrypted settings of the library.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        ready: False while the removal can still be undone here.
    """

    take_id: str
    group_id: str
    what: ErasureScope
    job_ids: tuple[str, ...]
    upload_refs: tuple[str, ...]
    ready: bool = True


class PendingErasures:
    """The entries of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, take_id: str, what: ErasureScope, *, ready: bool = True) -> None:
        """Plan an erasure if the service has anything of it. Within the transaction that removes the recording."""
        jobs = self._store.rows(
            "SELECT job_id FROM jobs WHERE take_id = ? "
            "UNION SELECT job_id FROM recordings WHERE take_id = ? AND job_id IS NOT NULL ORDER BY 1",
            (take_id, take_id),
        )
        uploads = self._store.rows(
            "SELECT upload_ref FROM pending WHERE take_id = ? AND upload_ref IS NOT NULL", (take_id,)
        )
        job_ids, upload_refs = [row["job_id"] for row in jobs], [row["upload_ref"] for row in uploads]
        if not job_ids and not upload_refs:
            return
        group_id = self._store.row(take_id)["group_id"]
        self._keep(PendingErasure(take_id, str(group_id), what, tuple(job_ids), tuple(upload_refs), ready))

    def withdraw(self, take_id: str) -> None:
        """Cancel an erasure: the recording was restored. Within a transaction."""
        self._store.drop("settings", _NAME + take_id)

    def release(self) -> None:
        """Make the erasures of trashed recordings due: they cannot be restored any more."""
        waiting = [owed for owed in self._all() if not owed.ready]
        if waiting:
            with self._store.changing():
                for owed in waiting:
                    self._keep(replace(owed, ready=True))

    def due(self) -> list[PendingErasure]:
        """Erasures that the service should do now."""
        return [owed for owed in self._all() if owed.ready]

    def settle(self, owed: PendingErasure) -> None:
        """Delete an entry that the service has confirmed, unless it asks for more by now.

        The cached trajectory of the subject still holds what was erased, so it is read again.
        """
        with self._store.changing():
            if self._read(owed.take_id) == owed:
                self._store.drop("settings", _NAME + owed.take_id)
            if owed.what is ErasureScope.EVERYTHING:
                self._store.forget_trajectory(owed.group_id)
            self._store.note(AuditAction.ERASED_AT_SERVICE, owed.take_id, owed.what, part=AuditPart.SYNC_WORKER)

    def _all(self) -> list[PendingErasure]:
        names: Sequence[str] = [
            row["name"] for row in self._store.rows("SELECT name FROM settings WHERE name LIKE 'erasure/%' ORDER BY 1")
        ]
        found = [self._read(name.removeprefix(_NAME)) for name in names]
        return [owed for owed in found if owed is not None]

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
            bool(entry["ready"]),
        )

    def _keep(self, owed: PendingErasure) -> None:
        entry = {
            "group": owed.group_id,
            "what": owed.what,
            "jobs": owed.job_ids,
            "uploads": owed.upload_refs,
            "ready": owed.ready,
        }
        self._store.keep_setting(_NAME + owed.take_id, json.dumps(entry).encode())
