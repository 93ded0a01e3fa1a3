"""The courier's side of the library: what is to be done, and each step on the way as one transaction."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from vbdesk.contract.jobs import Job, JobStatus
from vbdesk.outbox.items import RecordingItem, write_result
from vbdesk.outbox.states import Fix, IllegalMove, OutboxState
from vbdesk.outbox.store import FOLLOW, Store, UnknownTake, time_text

_REPORTED = {
    JobStatus.RUNNING: OutboxState.RUNNING,
    JobStatus.DONE: OutboxState.DONE,
    JobStatus.FAILED: OutboxState.FAILED,
    JobStatus.TIMED_OUT: OutboxState.TIMED_OUT,
}
_ENDED_BADLY = {
    OutboxState.FAILED: "The service could not analyse this recording. It is kept and can be sent again.",
    OutboxState.TIMED_OUT: "The service gave no result in time. The recording is kept and can be sent again.",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something to be done for one recording.

    Attributes:
        event_id: stays the same while the same request is repeated.
        follows: the service has the job, and its end is waited for; else the recording is still to be sent.
        attempts: how often it went wrong.
        not_before: when it may be tried again.
        upload_ref: the bytes are at the storage already.
        asked_at: the service was asked for the analysis, and no answer has come.
    """

    event_id: str
    take_id: str
    follows: bool
    attempts: int
    not_before: datetime | None
    upload_ref: str | None
    asked_at: datetime | None


class Line:
    """The recordings that are on their way."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def recover(self) -> None:
        """After a start: an upload that was under way is not any more."""
        with self._store.changing():
            for row in self._store.rows("SELECT take_id FROM recordings WHERE state = ?", (OutboxState.UPLOADING,)):
                self._store.move(row["take_id"], OutboxState.WAITING)

    def events(self) -> list[Event]:
        """What is to be done, by the time of recording."""
        rows = self._store.rows(
            "SELECT pending.* FROM pending JOIN recordings USING (take_id) "
            "WHERE state IN (?, ?, ?, ?) ORDER BY recorded_at, take_id",
            (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.SUBMITTED, OutboxState.RUNNING),
        )
        return [_event(row) for row in rows]

    def item(self, event: Event) -> RecordingItem:
        """The recording of an event. Raises UnknownTake once it is discarded."""
        return self._store.get(event.take_id)

    def begin_upload(self, event: Event) -> bool:
        """From waiting to uploading; False if a person has changed their mind."""
        return self._try_move(event, OutboxState.UPLOADING)

    def is_wanted(self, event: Event) -> bool:
        """Whether an upload under way is still wanted."""
        try:
            return self._store.get(event.take_id).state is OutboxState.UPLOADING
        except UnknownTake:
            return False

    def keep_upload(self, event: Event, upload_ref: str | None) -> None:
        """Remember that the bytes are at the storage, or with None that they are not."""
        self._write(event, "upload_ref = ?", upload_ref)

    def ask(self, event: Event) -> bool:
        """Note, before the request leaves, that the service is asked; False if it is not wanted any more."""
        with self._store.changing():
            if not self.is_wanted(event):
                return False
            self._write(event, "asked_at = ?", self._store.now())
            return True

    def not_asked(self, event: Event) -> None:
        """The service has certainly not taken the recording."""
        self._write(event, "asked_at = NULL")

    def taken(self, event: Event, job_id: str) -> None:
        """The service has the recording as `job_id`."""
        with self._store.changing() as database:
            database.execute("INSERT INTO jobs VALUES (?, ?)", (job_id, event.take_id))
            self._store.update(event.take_id, {"job_id": job_id})
            self._store.move(event.take_id, OutboxState.SUBMITTED)
            self._store.add_event(event.take_id, FOLLOW)

    def wait(self, event: Event, not_before: datetime | None = None, *, failed: bool = False) -> None:
        """Back into the line, to be tried again at `not_before`; `failed` counts it as an attempt."""
        with self._store.changing():
            when = None if not_before is None else time_text(not_before)
            self._write(event, "not_before = ?, attempts = attempts + ?", when, int(failed))
            if self.is_wanted(event):  # else it waits already, or a person has taken it out
                self._store.move(event.take_id, OutboxState.WAITING)

    def need_attention(self, event: Event, reason: str, fix: Fix) -> None:
        """Out of the line, until a person decides."""
        self._try_move(event, OutboxState.NEEDS_ATTENTION, reason, fix)

    def report(self, event: Event, job: Job) -> bool:
        """Take in what the service says of the job; True when it has ended."""
        state = _REPORTED.get(job.status)
        if state is None or state is self._store.get(event.take_id).state:
            return False
        with self._store.changing():
            if job.result is not None:
                self._store.keep_result(event.take_id, write_result(job.result), job.completed_at)
            reason = _ENDED_BADLY.get(state)
            self._store.move(event.take_id, state, reason, Fix.TRY_AGAIN if reason else None)
            if job.status.terminal:
                self._store.remove_event(event.take_id)
        return job.status.terminal

    def is_known_job(self, job_id: str) -> bool:
        """Whether an answer has named this job before."""
        return bool(self._store.rows("SELECT 1 FROM jobs WHERE job_id = ?", (job_id,)))

    def progress(self, event: Event, sent: int, total: int) -> None:
        """Bytes of the upload under way."""
        self._store.report_progress(event.take_id, sent, total)

    def _try_move(self, event: Event, state: OutboxState, reason: str | None = None, fix: Fix | None = None) -> bool:
        """Move along the table; False where a person was faster."""
        with self._store.changing():
            try:
                if self._store.get(event.take_id).state is not state:
                    self._store.move(event.take_id, state, reason, fix)
            except (IllegalMove, UnknownTake):
                return False
        return True

    def _write(self, event: Event, assignment: str, *values: object) -> None:
        with self._store.changing() as database:
            database.execute(
                f"UPDATE pending SET {assignment} WHERE event_id = ?",  # noqa: S608 - assignments are ours
                (*values, event.event_id),
            )


def _event(row: sqlite3.Row) -> Event:
    return Event(
        event_id=row["event_id"],
        take_id=row["take_id"],
        follows=row["kind"] == FOLLOW,
        attempts=row["attempts"],
        not_before=None if row["not_before"] is None else datetime.fromisoformat(row["not_before"]),
        upload_ref=row["upload_ref"],
        asked_at=None if row["asked_at"] is None else datetime.fromisoformat(row["asked_at"]),
    )
