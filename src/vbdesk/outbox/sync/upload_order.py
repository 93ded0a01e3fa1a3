"""In which order recordings are uploaded: the oldest first, as `UploadQueue` lists them, by their urgency."""

from collections.abc import Sequence

from vbdesk.outbox.sync.upload_queue import PendingEvent


def sendable(events: Sequence[PendingEvent]) -> list[PendingEvent]:
    """The recordings that may be sent now, oldest first as given.

    While one recording of a subject has an unknown outcome, no other of that subject is sent. A service may store
    few digits of `recorded_at`, so the search could confuse the two.
    """
    unclear = {event.group_id for event in events if event.asked_at is not None and not event.follows}
    return [event for event in events if not event.follows and event.group_id not in unclear]


def urgency(event: PendingEvent) -> int:
    """Uploaded recordings come before others, and those that failed after all others; smaller is earlier."""
    return (2 if event.upload_ref else 3) + 2 * bool(event.attempts)
