"""The trash: deleted recordings, which can be restored for some days; then their keys are destroyed.

A row of the table `trash` holds everything that the library knew of a recording: its entry, its event, its result,
whether the result was opened, and the key of its sound. All but that key is encrypted together, bound to the take id
and the time of deletion. The sound keeps its file and its name, so
that the database alone says what is in the trash.

The days count by this computer's clock, so that they also pass without a network; where a service has confirmed the
time since the computer started, the earlier of both counts.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from vbdesk.contract.timestamps import is_plausible_now
from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.column_encryption import NONCE_BYTES, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasures
from vbdesk.outbox.library.recording_time import clock_text
from vbdesk.outbox.library.rows import item_of
from vbdesk.outbox.library.service_times import ServiceTimes
from vbdesk.outbox.library.settings import LibrarySettings
from vbdesk.outbox.library.sound_files import SoundFiles
from vbdesk.outbox.library.states import AT_THE_SERVICE, NotAllowed, OutboxState
from vbdesk.outbox.library.store import RecordingParts, Store, UnknownTake, time_text

AT_ONCE_MOST = 20  # recordings per step, since each step scrubs the database once
CLOCK_AHEAD = timedelta(days=1)  # a later time of deletion came from a wrong clock
ENTRY_CHANGED = N_(
    "This entry of the trash was changed by something other than vbdesk, so the recording cannot be restored."
)
NOT_HERE = N_("This recording is no longer in the trash.")
_FROM_TRASH, _AFTER_DAYS = "from the trash", "from the trash, after {} days"


@dataclass(frozen=True, slots=True)
class TrashedRecording:
    """A deleted recording.

    Attributes:
        deleted_at: when it was deleted, by this computer's clock; None if that cannot be read.
        destroyed_at: when its keys are destroyed; None if never automatically, because its entry was changed.
        item: the recording as it was; None if somebody else changed its entry.
        fault: one sentence if its entry was changed; it cannot be restored then.
    """

    take_id: str
    deleted_at: datetime | None
    destroyed_at: datetime | None
    item: RecordingItem | None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row of the trash, decrypted and authenticated."""

    deleted_at: datetime
    item: RecordingItem
    parts: RecordingParts


class Trash:
    """The trash of one library. Every method reads or writes the disk."""

    def __init__(
        self,
        store: Store,
        sounds: SoundFiles,
        erasures: PendingErasures | None,
        times: ServiceTimes,
        settings: Callable[[], LibrarySettings],
        recall: Callable[[Collection[str]], None],
    ) -> None:
        """Make it; `recall` takes recordings of subjects that have withdrawn consent out of the queue."""
        self._store, self._sounds, self._erasures = store, sounds, erasures
        self._times, self._settings, self._recall = times, settings, recall

    def items(self, group_id: str | None = None) -> list[TrashedRecording]:
        """The deleted recordings, of one subject or of all; the last deleted first."""
        days = timedelta(days=self._settings().trash_days)
        found = [self._trashed(row, days) for row in self._rows("ORDER BY deleted_at DESC, take_id")]
        if group_id is None:
            return found
        return [each for each in found if each.item is not None and each.item.group_id == group_id]

    def holds(self, take_id: str) -> bool:
        """Whether a recording is in the trash."""
        return bool(self._rows("WHERE take_id = ?", take_id))

    def put(self, *take_ids: str) -> None:
        """Move recordings to the trash, all or none. Place in the queue, result and sound come back with them.

        Raises:
            NotAllowed: one is at the service, or somebody else changed its entry.
            UnknownTake: there is no such recording.
        """
        with self._store.changing():
            for take_id in take_ids:
                item = self._store.get(take_id)
                refuse_unless_deletable(item)
                if item.fault is not None:
                    raise NotAllowed(
                        joined(item.fault, message("The trash does not keep such an entry: delete it for good."))
                    )
                self._keep(take_id, self._store.now(), self._store.parts(take_id))
                self._store.forget(take_id)
                self._store.note(AuditAction.TRASHED, take_id)

    def restore(self, take_id: str) -> None:
        """Put a recording back as it was.

        Raises:
            NotAllowed: something here has taken its place since.
            UnknownTake: it is not in the trash.
        """
        with self._store.changing():
            entry = self._entry(take_id)
            self._refuse_taken(entry)
            self._store.drop("trash", take_id)
            self._store.restore(self._searched_first(entry.parts))
            self._store.note(AuditAction.RESTORED_FROM_TRASH, take_id)
            self._recall([entry.item.group_id])
        if entry.item.reference is not None and entry.item.state in _UNSENT:
            self._times.review(take_id)  # more may be known about the clock by now

    def destroy(self, take_ids: Collection[str], detail: str = _FROM_TRASH, part: AuditPart | None = None) -> None:
        """Destroy the keys of recordings in the trash, then their sounds; ids that are not there are skipped.

        Args:
            take_ids: the recordings.
            detail: for the audit log.
            part: named in the audit log; the one that has opened the library if None.
        """
        with self._store.changing():
            rows = [row for take_id in take_ids for row in self._rows("WHERE take_id = ?", take_id)]
            self._sounds.destroy_afterwards([row["take_id"] for row in rows], [_mark_of(row) for row in rows])
            for row in rows:
                take_id = row["take_id"]
                if self._erasures is not None:
                    self._plan_erasure(row)
                self._store.drop("trash", take_id)
                self._store.note(AuditAction.DELETED, take_id, detail, part=part)

    def destroy_due(self) -> bool:
        """Destroy some of what was kept long enough; True if there was anything. Cheap if there is not.

        Not while the list may be an older copy: a newer one may have restored the recording.
        """
        if self._store.sending_blocked:
            return False
        days = self._settings().trash_days
        now = self._now()
        if not is_plausible_now(now):
            return False
        self._date_again(now)
        until = time_text(now - timedelta(days=days))
        if not self._due(until):
            return False
        with self._store.changing():  # what was restored or deleted again meanwhile stays
            self.destroy(self._due(until), _AFTER_DAYS.format(days), AuditPart.SYNC_WORKER)
        return True

    def _due(self, until: str) -> list[str]:
        due: list[str] = []
        for row in self._rows("WHERE deleted_at <= ? ORDER BY deleted_at", until):
            if self._open(row) is not None:  # a changed time of deletion destroys nothing
                due.append(row["take_id"])
            if len(due) == AT_ONCE_MOST:
                break
        return due

    def _now(self) -> datetime:
        here, there = self._store.clock.now(), self._times.service_time()
        return here if there is None else min(here, there)

    def _date_again(self, now: datetime) -> None:
        """Count from now for entries whose time of deletion is in the future: the clock was wrong then."""
        if any(self._early(now)):
            with self._store.changing():  # what was restored or destroyed meanwhile does not come back
                for entry in self._early(now):
                    if entry is not None:
                        self._keep(entry.item.take_id, time_text(now), entry.parts)

    def _early(self, now: datetime) -> list[_Entry | None]:
        rows = self._rows("WHERE deleted_at > ?", time_text(now + CLOCK_AHEAD))
        return [self._open(row) for row in rows]

    def _keep(self, take_id: str, deleted_at: str, parts: RecordingParts) -> None:
        content = json.dumps(parts.document(), default=lambda value: {"hex": value.hex()}).encode()
        sealed = self._store.cipher.encrypt(content, _place(take_id, deleted_at))
        self._store.put("trash", take_id, deleted_at, parts.recording["take_key"], sealed)

    def _rows(self, condition: str, *values: object) -> list[DatabaseRow]:
        query = f"SELECT take_id, deleted_at, take_key, sealed FROM trash {condition}"  # noqa: S608 - ours
        return self._store.rows(query, values)

    def _trashed(self, row: DatabaseRow, days: timedelta) -> TrashedRecording:
        entry = self._open(row)
        if entry is None:
            return TrashedRecording(row["take_id"], None, None, None, ENTRY_CHANGED)
        return TrashedRecording(row["take_id"], entry.deleted_at, entry.deleted_at + days, entry.item)

    def _entry(self, take_id: str) -> _Entry:
        rows = self._rows("WHERE take_id = ?", take_id)
        if not rows:
            raise UnknownTake(NOT_HERE)
        entry = self._open(rows[0])
        if entry is None:
            raise NotAllowed(ENTRY_CHANGED)
        return entry

    def _open(self, row: DatabaseRow) -> _Entry | None:
        """A row of the trash; None if somebody else wrote it."""
        try:
            content = self._store.cipher.decrypt(row["sealed"], _place(row["take_id"], row["deleted_at"]))
            parts = RecordingParts.of_document(json.loads(content, object_hook=_bytes), row["take_key"])
            item = item_of(parts.as_found(), self._store.cipher)
            deleted_at = datetime.fromisoformat(row["deleted_at"])
            return _Entry(deleted_at, item, parts) if item.fault is None else None
        except (InvalidTag, KeyError, TypeError, ValueError):
            return None

    def _refuse_taken(self, entry: _Entry) -> None:
        """Refuse to restore a recording that would be there twice, or would be sent twice."""
        item = entry.item
        if self._store.rows("SELECT 1 FROM recordings WHERE recorded_at = ?", (time_text(item.recorded_at),)):
            (when,) = clock_text(item.recorded_at)
            raise NotAllowed(
                message(
                    "Another recording has the time of this one by now, {when}, and two recordings cannot have the "
                    "same. Correct the time of the other one or delete it, then restore this one.",
                    when=when,
                )
            )
        if item.source_sha256 and any(
            other.source_sha256 == item.source_sha256 for other in self._store.items("imported")
        ):
            raise NotAllowed(
                message(
                    "The file of this recording was imported again after it was deleted, and both would be sent. "
                    "Delete the other one, then restore this one."
                )
            )
        event_id = None if entry.parts.event is None else entry.parts.event["event_id"]
        if event_id is not None and self._store.event(event_id) is not None:
            raise NotAllowed(message("Another recording is sent under the key of this one, so it cannot be restored."))

    def _searched_first(self, parts: RecordingParts) -> RecordingParts:
        """Ask the service first if the list was replaced since the deletion: the recording may have been sent."""
        if parts.event is None or parts.event["asked_at"] is not None or not self._store.must_search(parts.version):
            return parts
        return replace(parts, event={**parts.event, "asked_at": self._store.now()})

    def _plan_erasure(self, row: DatabaseRow) -> None:
        entry = self._open(row)
        if self._erasures is None:
            return
        if entry is None:
            self._erasures.add(row["take_id"], ErasureScope.EVERYTHING, "")
            return
        event = entry.parts.event or {}
        self._erasures.add(
            row["take_id"],
            ErasureScope.EVERYTHING,
            entry.item.group_id,
            job_id=entry.item.job_id,
            upload_ref=event.get("upload_ref"),
        )


_UNSENT = frozenset({OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION})


def refuse_unless_deletable(item: RecordingItem) -> None:
    """Raise NotAllowed while the service may have a recording without a result, or another computer is to send it."""
    if item.state is OutboxState.HANDED_OVER:
        raise NotAllowed(message("This recording was handed over to be sent elsewhere. Take it back, then delete it."))
    if item.fault is None and (item.state in AT_THE_SERVICE or item.unanswered):  # a changed entry gets no result
        raise NotAllowed(message("This recording is being analysed. Wait for the result, then delete it."))


def refuse_unless_erasable(item: RecordingItem) -> None:
    """Raise NotAllowed while a service elsewhere certainly has a recording without a result.

    A withdrawn consent may block sending and searching, so nobody waits for an answer or for another computer.
    """
    if item.fault is None and item.state in AT_THE_SERVICE:
        refuse_unless_deletable(item)


def _place(take_id: str, deleted_at: str) -> str:
    return f"trash/{take_id}/{deleted_at}"


def _mark_of(row: DatabaseRow) -> bytes:
    """The first bytes of an encrypted entry: without its nonce a copy of the rest says nothing."""
    sealed = row["sealed"]
    return sealed[: 2 * NONCE_BYTES] if isinstance(sealed, bytes) else b""


def _bytes(document: dict[str, Any]) -> Any:
    return bytes.fromhex(document["hex"]) if document.keys() == {"hex"} else document
