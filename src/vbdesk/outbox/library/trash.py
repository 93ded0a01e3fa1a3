"""The trash: deleted recordings, which can be restored for some days; then their keys are destroyed.

A deleted recording keeps its rows and its sound. `recordings.deleted_at` says that it is in the trash, and only queries
that name the schema `main` or the view `trash` see it then (`tables.VIEWS`).

The days also pass without a network, but not by a jump of the clock (`day_count`).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from vbdesk.contract.timestamps import is_plausible_now
from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.day_count import DayCount, DaysOfUse
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasures
from vbdesk.outbox.library.service_times import ServiceTimes
from vbdesk.outbox.library.settings import LibrarySettings
from vbdesk.outbox.library.sound_files import SoundFiles
from vbdesk.outbox.library.states import AT_THE_SERVICE, NotAllowed, OutboxState
from vbdesk.outbox.library.store import Store, UnknownTake, time_text

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


class Trash:
    """The trash of one library. Every method reads or writes the disk."""

    def __init__(
        self,
        store: Store,
        sounds: SoundFiles,
        erasures: PendingErasures | None,
        times: ServiceTimes,
        days_of_use: DaysOfUse,
        settings: Callable[[], LibrarySettings],
        recall: Callable[[Collection[str]], None],
    ) -> None:
        """Make it; `recall` takes recordings of subjects that have withdrawn consent out of the queue."""
        self._store, self._sounds, self._erasures = store, sounds, erasures
        self._times, self._days_of_use = times, days_of_use
        self._settings, self._recall = settings, recall

    def items(self) -> list[TrashedRecording]:
        """The deleted recordings, the last deleted first."""
        days = timedelta(days=self._settings().trash_days)
        return [_trashed(item, days) for item in self._store.trashed("TRUE")]

    def holds(self, take_id: str) -> bool:
        """Whether a recording is in the trash."""
        return bool(self._store.trashed("take_id = ?", (take_id,)))

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
                self._store.set_deleted(take_id, time_text(self._days_of_use.count().latest))
                self._store.note(AuditAction.TRASHED, take_id)

    def restore(self, take_id: str) -> None:
        """Put a recording back as it was.

        Raises:
            NotAllowed: somebody else changed its entry, or its file was imported again since.
            UnknownTake: it is not in the trash.
        """
        with self._store.changing():
            found = self._store.trashed("take_id = ?", (take_id,))
            if not found:
                raise UnknownTake(NOT_HERE)
            (item,) = found
            if item.fault is not None:
                raise NotAllowed(ENTRY_CHANGED)
            if item.source_sha256 and any(
                other.source_sha256 == item.source_sha256 for other in self._store.items("imported")
            ):
                raise NotAllowed(
                    message(
                        "The file of this recording was imported again after it was deleted, so it would be here "
                        "twice. Leave this one in the trash, or delete the other one first."
                    )
                )
            self._store.set_deleted(take_id, None)
            self._store.note(AuditAction.RESTORED_FROM_TRASH, take_id)
            self._recall([item.group_id])
        if item.reference is not None and item.state in _UNSENT:
            self._times.review(take_id)  # more may be known about the clock by now

    def destroy(self, take_ids: Collection[str], detail: str = "", part: AuditPart | None = None) -> None:
        """Destroy the keys of recordings in the trash, then their sounds; ids that are not there are skipped.

        Args:
            take_ids: the recordings.
            detail: for the audit log; says only that they were in the trash if empty.
            part: named in the audit log; the one that has opened the library if None.
        """
        with self._store.changing():
            self.remove([take_id for take_id in take_ids if self.holds(take_id)], detail, part)

    def remove(self, take_ids: Collection[str], detail: str = "", part: AuditPart | None = None) -> None:
        """Destroy the keys of recordings, in the trash or not, then their sounds. Within a transaction."""
        self._sounds.destroy_afterwards(take_ids, entries=True)
        for take_id in take_ids:
            if self._erasures is not None:
                self._erasures.add(take_id, ErasureScope.EVERYTHING)
            where = _FROM_TRASH if self.holds(take_id) else ""
            self._store.forget(take_id)
            self._store.note(AuditAction.DELETED, take_id, detail or where, part=part)

    def destroy_due(self) -> bool:
        """Destroy some of what was kept long enough; True if there was anything. Cheap if there is not.

        Not while the list may be an older copy: a newer one may have restored the recording.
        """
        if self._store.sending_blocked:
            return False
        if not self._store.trashed("TRUE") or not is_plausible_now(self._store.clock.now()):
            return False
        count = self._days_of_use.count()
        self._date_again(count)
        days = self._settings().trash_days
        if not self._due(count, days):
            return False
        with self._store.changing():  # what was restored or deleted again meanwhile stays
            self.destroy(self._due(count, days)[-AT_ONCE_MOST:], _AFTER_DAYS.format(days), AuditPart.SYNC_WORKER)
        return True

    def _due(self, count: DayCount, days: int) -> list[str]:
        """Recordings that were kept long enough, the last deleted first; a changed one is not among them."""
        found = [each for each in self._store.trashed("TRUE") if each.fault is None]
        return [item.take_id for item in found if item.deleted_at and count.have_passed(item.deleted_at, days)]

    def _date_again(self, count: DayCount) -> None:
        """Count from now for entries whose time of deletion is in the future: the clock was wrong then."""
        if self._dated_after(count.latest + CLOCK_AHEAD):
            with self._store.changing():  # what was restored or destroyed meanwhile does not come back
                for take_id in self._dated_after(count.latest + CLOCK_AHEAD):
                    self._store.set_deleted(take_id, time_text(count.latest))

    def _dated_after(self, moment: datetime) -> list[str]:
        found = self._store.trashed("deleted_at > ?", (time_text(moment),))
        return [item.take_id for item in found if item.fault is None]


_UNSENT = frozenset({OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION})


def refuse_unless_deletable(item: RecordingItem) -> None:
    """Raise NotAllowed while the service may have a recording without a result, or another computer is to send it."""
    if item.state is OutboxState.HANDED_OVER:
        raise NotAllowed(message("This recording was handed over to be sent elsewhere. Take it back, then delete it."))
    if item.fault is not None:  # a changed entry gets no result
        return
    if item.unanswered:
        raise NotAllowed(
            message("The service may have this recording already. Wait until that is known, then delete it.")
        )
    if item.state in AT_THE_SERVICE:
        raise NotAllowed(message("This recording is being analysed. Wait for the result, then delete it."))


def refuse_unless_erasable(item: RecordingItem) -> None:
    """Raise NotAllowed while a service elsewhere certainly has a recording without a result.

    A withdrawn consent may block sending and searching, so nobody waits for an answer or for another computer.
    """
    if item.fault is None and item.state in AT_THE_SERVICE:
        refuse_unless_deletable(item)


def _trashed(item: RecordingItem, days: timedelta) -> TrashedRecording:
    if item.fault is not None or item.deleted_at is None:
        return TrashedRecording(item.take_id, None, None, None, ENTRY_CHANGED)
    return TrashedRecording(item.take_id, item.deleted_at, item.deleted_at + days, item)
