"""What the service on this computer still has to erase, of recordings that were removed here.

An entry is made in the transaction that removes the recording, and leaves once the service has confirmed. So a crash,
or a service that cannot erase now, only delays it. Entries are encrypted settings of the library, and proved as those.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from vbdesk.outbox.library.audit import Deed, Part
from vbdesk.outbox.library.store import Store

_NAME = "erasure/"


class Erase(StrEnum):
    """How much of a recording goes."""

    SOUND = "sound"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class OwedErasure:
    """One recording that the service has to erase.

    Attributes:
        job_ids: every job that the service ever answered with for it.
        upload_refs: an upload that never became a job.
        ready: False while the removal can still be undone here.
    """

    take_id: str
    group_id: str
    what: Erase
    job_ids: tuple[str, ...]
    upload_refs: tuple[str, ...]
    ready: bool = True


class OwedErasures:
    """The entries of one library. Every method touches the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def owe(self, take_id: str, what: Erase, *, ready: bool = True) -> None:
        """Have the service erase a recording, if it has anything of it. Within the transaction that removes it here."""
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
        self._keep(OwedErasure(take_id, str(group_id), what, tuple(job_ids), tuple(upload_refs), ready))

    def withdraw(self, take_id: str) -> None:
        """The recording was brought back. Within a transaction."""
        self._store.drop("settings", _NAME + take_id)

    def release(self) -> None:
        """What was put away can be brought back no longer, so the service has to erase it too."""
        waiting = [owed for owed in self._all() if not owed.ready]
        if waiting:
            with self._store.changing():
                for owed in waiting:
                    self._keep(replace(owed, ready=True))

    def due(self) -> list[OwedErasure]:
        """What the service is to erase now."""
        return [owed for owed in self._all() if owed.ready]

    def settle(self, owed: OwedErasure) -> None:
        """The service has confirmed; an entry that asks for more by now stays.

        The history of the subject, as it was read before, holds what was erased: it is read again.
        """
        with self._store.changing():
            if self._read(owed.take_id) == owed:
                self._store.drop("settings", _NAME + owed.take_id)
            if owed.what is Erase.EVERYTHING:
                self._store.forget_trajectory(owed.group_id)
            self._store.note(Deed.ERASED_AT_SERVICE, owed.take_id, owed.what, part=Part.COURIER)

    def _all(self) -> list[OwedErasure]:
        names: Sequence[str] = [
            row["name"] for row in self._store.rows("SELECT name FROM settings WHERE name LIKE 'erasure/%' ORDER BY 1")
        ]
        found = [self._read(name.removeprefix(_NAME)) for name in names]
        return [owed for owed in found if owed is not None]

    def _read(self, take_id: str) -> OwedErasure | None:
        """One entry; None if there is none, or somebody else wrote it."""
        content = self._store.setting(_NAME + take_id)
        if content is None:
            return None
        entry = json.loads(content)
        return OwedErasure(
            take_id,
            entry["group"],
            Erase(entry["what"]),
            tuple(entry["jobs"]),
            tuple(entry["uploads"]),
            bool(entry["ready"]),
        )

    def _keep(self, owed: OwedErasure) -> None:
        entry = {
            "group": owed.group_id,
            "what": owed.what,
            "jobs": owed.job_ids,
            "uploads": owed.upload_refs,
            "ready": owed.ready,
        }
        self._store.keep_setting(_NAME + owed.take_id, json.dumps(entry).encode())
