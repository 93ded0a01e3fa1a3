"""The courier's side of the library: what is to be done, and each step on the way as one transaction."""

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from vbdesk.contract.jobs import Job, JobStatus
from vbdesk.contract.limits import MAX_RETRIES
from vbdesk.outbox.library.audit import Deed, Part
from vbdesk.outbox.library.items import RecordingItem, write_result
from vbdesk.outbox.library.rows import event_is_proved
from vbdesk.outbox.library.states import ON_THEIR_WAY, Fix, IllegalMove, OutboxState
from vbdesk.outbox.library.store import FOLLOW, NOT_ASKED, SEND_ANYWAY, Store, UnknownTake, time_text

_REPORTED = {
    JobStatus.RUNNING: OutboxState.RUNNING,
    JobStatus.DONE: OutboxState.DONE,
    JobStatus.FAILED: OutboxState.FAILED,
    JobStatus.TIMED_OUT: OutboxState.TIMED_OUT,
}
UPLOAD_KEPT = timedelta(hours=24)  # how long services keep an upload that nothing was asked of
JUST_DONE = timedelta(days=1)  # subjects whose last result is older were read by an earlier run, or nobody waits
_FOLLOWING = frozenset({OutboxState.SUBMITTED, OutboxState.RUNNING})
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
        asked_at: the service was asked for the analysis, and no answer has come; by the clock of this computer.
        asked_service_at: when it was asked first, by the service's clock; None if that is not known.
        key_kept_s: for how many seconds the service had promised then to keep the key; None: no promise.
        group_id: the subject.
        duration_s: length of the recording.
        released: a person said to send it now, where recordings are sent by hand.
        shared: it was handed over in a bundle once, so another computer may send it too, and the service is searched
            first; unless a person said to send it all the same.
    """

    event_id: str
    take_id: str
    follows: bool
    attempts: int
    not_before: datetime | None
    upload_ref: str | None
    asked_at: datetime | None
    asked_service_at: datetime | None
    key_kept_s: int | None
    group_id: str
    duration_s: float
    released: bool
    shared: bool


class Line:
    """The recordings that are on their way."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def recover(self) -> None:
        """After a start: an upload that was under way is not any more."""
        with self._store.changing():
            for take_id in self._take_ids("SELECT take_id FROM recordings WHERE state = ?", OutboxState.UPLOADING):
                self._store.move(take_id, OutboxState.WAITING)

    def events(self) -> list[Event]:
        """What is to be done, by the time of recording; while nothing may be sent, what is waited for alone."""
        return self._events(_FOLLOWING if self._store.held else ON_THEIR_WAY)

    def following(self) -> list[Event]:
        """Which analyses are waited for."""
        return self._events(_FOLLOWING)

    def handed_over(self) -> list[Event]:
        """What another computer is to send, by the time of recording; none while nothing may be sent."""
        return [] if self._store.held else self._events({OutboxState.HANDED_OVER})

    def item(self, event: Event) -> RecordingItem:
        """The recording of an event. Raises UnknownTake once it is discarded."""
        return self._store.get(event.take_id)

    def begin_upload(self, event: Event) -> bool:
        """From waiting to uploading; False if a person has changed their mind, or nothing may be sent."""
        with self._store.changing():
            return not self._store.held and self._try_move(event, OutboxState.UPLOADING)

    def is_wanted(self, event: Event) -> bool:
        """Whether an upload under way is still wanted."""
        try:
            return self._store.get(event.take_id).state is OutboxState.UPLOADING
        except UnknownTake:
            return False

    def keep_upload(self, event: Event, upload_ref: str) -> None:
        """Remember that the bytes are at the storage."""
        with self._store.changing():
            self._write(event, {"upload_ref": upload_ref, "uploaded_at": self._store.now()})
            self._note(Deed.UPLOADED, event)

    def forget_upload(self, event: Event) -> None:
        """The bytes are not at the storage any more."""
        self._write(event, {"upload_ref": None, "uploaded_at": None})

    def keep_digest(self, event: Event, sha256: str) -> None:
        """Remember which bytes are sent."""
        with self._store.changing():
            self._store.update(event.take_id, {"sent_sha256": sha256})

    def ask(self, event: Event, service_time: datetime | None = None, key_kept_s: int | None = None) -> bool:
        """Note, before the request leaves, that the service is asked; False if it is not wanted any more.

        Where an earlier request was not answered, its note stays: from then on the service may have kept the key.

        Args:
            event: of the recording.
            service_time: the service's time now; None if it is not known.
            key_kept_s: for how many seconds it promises to keep the key; None: no promise.
        """
        with self._store.changing():
            if self._store.held or not self.is_wanted(event):
                return False
            if event.asked_at is None:
                when = None if service_time is None else time_text(service_time)
                columns = {"asked_at": self._store.now(), "asked_service_at": when, "key_kept_s": key_kept_s}
                self._write(event, columns)
            return True

    def not_asked(self, event: Event) -> None:
        """The service has certainly not taken the recording."""
        self._write(event, NOT_ASKED)

    def taken(self, event: Event, job_id: str) -> None:
        """The service has the recording as `job_id`."""
        with self._store.changing():
            self._store.add("jobs", job_id, event.take_id)
            self._store.update(event.take_id, {"job_id": job_id})
            self._note(Deed.SENT, event, "" if self.is_wanted(event) else "found at the service")
            self._store.move(event.take_id, OutboxState.SUBMITTED)
            self._store.add_event(event.take_id, FOLLOW)

    def wait(self, event: Event, not_before: datetime | None = None, *, failed: bool = False) -> None:
        """Back into the line, to be tried again at `not_before`; `failed` counts it as an attempt."""
        with self._store.changing():
            when = None if not_before is None else time_text(not_before)
            kept = self._store.event(event.event_id)
            attempts = event.attempts if kept is None else kept["attempts"]
            self._write(event, {"not_before": when, "attempts": attempts + int(failed)})
            if self.is_wanted(event):  # else it waits already, or a person has taken it out
                self._store.move(event.take_id, OutboxState.WAITING)

    def give_up_for_now(self, event: Event, not_before: datetime, reason: str) -> None:
        """Back into the line after its last retry, with the reason; to be tried at `not_before`, or by `try_again`."""
        with self._store.changing():
            self.wait(event, not_before, failed=True)
            if self._store.get(event.take_id).state is OutboxState.WAITING:
                self._store.update(event.take_id, {"reason": reason})

    def try_again(self) -> None:
        """The service is back: let those that have had their retries go once more."""
        query = "SELECT take_id FROM pending WHERE attempts > ? AND not_before IS NOT NULL"
        take_ids = self._take_ids(query, MAX_RETRIES)
        if take_ids:
            with self._store.changing():
                for take_id in take_ids:
                    self._store.write_event_of(take_id, {"not_before": None})

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
                self._note(Deed.RESULT_RECEIVED, event, str(state))
        return job.status.terminal

    def is_known_job(self, job_id: str) -> bool:
        """Whether an answer has named this job before."""
        return bool(self._store.rows("SELECT 1 FROM jobs WHERE job_id = ?", (job_id,)))

    def subjects_to_read(self) -> list[str]:
        """Subjects that got a result lately and whose history was not read since."""
        rows = self._store.rows(
            "SELECT group_id, max(updated_at) AS done_at, read_at "
            "FROM recordings LEFT JOIN trajectories USING (group_id) "
            "WHERE state = ? AND updated_at > ? GROUP BY group_id HAVING read_at IS NULL OR read_at < done_at",
            (OutboxState.DONE, time_text(self._store.clock.now() - JUST_DONE)),
        )
        return [row["group_id"] for row in rows]

    def progress(self, event: Event, sent: int, total: int) -> None:
        """Bytes of the upload under way."""
        self._store.report_progress(event.take_id, sent, total)

    def _note(self, what: Deed, event: Event, detail: str = "") -> None:
        self._store.note(what, event.take_id, detail, Part.COURIER)

    def _take_ids(self, query: str, *values: object) -> list[str]:
        """Those that a query of ours finds; one that somebody else has changed must not be in the way of the others."""
        rows = self._store.rows(query, values)
        return [row["take_id"] for row in rows if self._store.is_as_written(row["take_id"])]

    def _events(self, states: Collection[OutboxState]) -> list[Event]:
        marks = ", ".join("?" * len(states))
        rows = self._store.rows(
            "SELECT pending.*, state, group_id, duration_s, bundle_id, event_mac "  # noqa: S608
            f"FROM pending JOIN recordings USING (take_id) WHERE state IN ({marks}) ORDER BY recorded_at, take_id",
            tuple(states),
        )
        for row in rows:
            if not event_is_proved(row, self._store.seal):
                self._store.look_again(row["take_id"])
        now, faulty = self._store.clock.now(), self._store.faulty
        return [_event(row, now) for row in rows if row["take_id"] not in faulty]

    def _try_move(self, event: Event, state: OutboxState, reason: str | None = None, fix: Fix | None = None) -> bool:
        """Move along the table; False where a person was faster."""
        with self._store.changing():
            try:
                if self._store.get(event.take_id).state is not state:
                    self._store.move(event.take_id, state, reason, fix)
            except (IllegalMove, UnknownTake):
                return False
        return True

    def _write(self, event: Event, columns: Mapping[str, object]) -> None:
        with self._store.changing():
            self._store.write_event(event.event_id, columns)


def _event(row: sqlite3.Row, now: datetime) -> Event:
    uploaded_at = _moment(row["uploaded_at"])
    still_there = uploaded_at is not None and timedelta(0) <= now - uploaded_at < UPLOAD_KEPT
    return Event(
        event_id=row["event_id"],
        take_id=row["take_id"],
        follows=row["state"] in _FOLLOWING,
        attempts=row["attempts"] if isinstance(row["attempts"], int) else 0,
        not_before=_moment(row["not_before"]),
        upload_ref=row["upload_ref"] if still_there else None,
        asked_at=None if row["asked_at"] is None else _moment(row["asked_at"]) or now,
        asked_service_at=_moment(row["asked_service_at"]),
        key_kept_s=row["key_kept_s"],
        group_id=row["group_id"],
        duration_s=row["duration_s"],
        released=bool(row["released"]),
        shared=row["bundle_id"] is not None and row["kind"] != SEND_ANYWAY,
    )


def _moment(text: object) -> datetime | None:
    """A time of an event; None for none, and for one that somebody else has spoilt: no event stops the others."""
    try:
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment
