"""The sync worker's view of the library: pending events, and each step as one transaction."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vbdesk.contract.jobs import Job, JobStatus
from vbdesk.contract.limits import MAX_RETRIES
from vbdesk.language import N_
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.consent_gate import ConsentGate
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.items import RecordingItem, metadata_of, write_result
from vbdesk.outbox.library.rows import event_is_authentic
from vbdesk.outbox.library.states import ON_THEIR_WAY, Fix, IllegalStateChange, OutboxState
from vbdesk.outbox.library.store import FOLLOW, NOT_ASKED, SEND_ANYWAY, Store, UnknownTake, time_text

_REPORTED = {
    JobStatus.RUNNING: OutboxState.RUNNING,
    JobStatus.DONE: OutboxState.DONE,
    JobStatus.FAILED: OutboxState.FAILED,
    JobStatus.TIMED_OUT: OutboxState.TIMED_OUT,
}
UPLOAD_LIFETIME = timedelta(hours=24)  # how long a service keeps an unused upload
JUST_DONE = timedelta(days=1)  # an earlier run has read subjects with older results
_FOLLOWING = frozenset({OutboxState.SUBMITTED, OutboxState.RUNNING})
_TO_SEND = frozenset({OutboxState.WAITING, OutboxState.UPLOADING})
_ENDED_BADLY = {
    OutboxState.FAILED: N_("The service could not analyse this recording. It is kept and can be sent again."),
    OutboxState.TIMED_OUT: N_("The service gave no result in time. The recording is kept and can be sent again."),
}


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """Something to be done for one recording.

    Attributes:
        follows: the service has the job and its end is awaited; else the recording is still to be sent.
        attempts: how often it failed.
        not_before: when it may be retried.
        upload_ref: set once the bytes are at the storage.
        asked_at: when the analysis was requested, without an answer yet; by this computer's clock.
        asked_service_at: when it was requested first, by the service's clock; None if unknown.
        named: whether that request named its submission to a service that reads the reference.
        group_id: the subject.
        duration_s: length of the recording.
        released: a person said to send it now, where recordings are sent manually.
        shared: it was handed over in a bundle, so another computer may send it too, and the service is searched first;
            unless a person said to send it anyway.
    """

    event_id: str
    take_id: str
    follows: bool
    attempts: int
    not_before: datetime | None
    upload_ref: str | None
    asked_at: datetime | None
    asked_service_at: datetime | None
    named: bool
    group_id: str
    duration_s: float
    released: bool
    shared: bool


class UploadQueue:
    """The recordings that are on their way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._consent = ConsentGate(store)

    def recover(self) -> None:
        """Put interrupted uploads back into the queue, after a start."""
        with self._store.changing():
            for take_id in self._take_ids("SELECT take_id FROM recordings WHERE state = ?", OutboxState.UPLOADING):
                self._store.move(take_id, OutboxState.WAITING)

    def events(self) -> list[PendingEvent]:
        """Events by recording time; while sending is blocked, only those of jobs at the service.

        Where the profile requires consent, recordings without it wait.
        """
        return self._events(_FOLLOWING if self._store.sending_blocked else ON_THEIR_WAY)

    def following(self) -> list[PendingEvent]:
        """Events of jobs at the service."""
        return self._events(_FOLLOWING)

    def handed_over(self) -> list[PendingEvent]:
        """Events that another computer is to send, by recording time; none while sending is blocked."""
        return [] if self._store.sending_blocked else self._events({OutboxState.HANDED_OVER})

    def item(self, event: PendingEvent) -> RecordingItem:
        """The recording of an event. Raises UnknownTake if it was deleted."""
        return self._store.get(event.take_id)

    def begin_upload(self, event: PendingEvent) -> bool:
        """Move from waiting to uploading; False if it was cancelled or sending is blocked."""
        with self._store.changing():
            allowed = not self._store.sending_blocked and self._consents(event)
            return allowed and self._try_move(event, OutboxState.UPLOADING)

    def is_wanted(self, event: PendingEvent) -> bool:
        """Whether a running upload is still wanted."""
        try:
            return self._store.get(event.take_id).state is OutboxState.UPLOADING
        except UnknownTake:
            return False

    def store_upload(self, event: PendingEvent, upload_ref: str) -> None:
        """Record that the bytes are at the storage."""
        with self._store.changing():
            self._write(event, {"upload_ref": upload_ref, "uploaded_at": self._store.now()})
            self._note(AuditAction.UPLOADED, event)

    def forget_upload(self, event: PendingEvent) -> None:
        """Record that the bytes are no longer at the storage."""
        self._write(event, {"upload_ref": None, "uploaded_at": None})

    def store_digest(self, event: PendingEvent, sha256: str) -> None:
        """Record which bytes are sent."""
        with self._store.changing():
            self._store.update(event.take_id, {"sent_sha256": sha256})

    def mark_asked(
        self,
        event: PendingEvent,
        service_time: datetime | None = None,
        *,
        named: bool = False,
        says_language: bool = False,
    ) -> bool:
        """Record, before the request leaves, that the analysis is requested; False if it is no longer wanted.

        The note of an earlier unanswered request stays, since the service may have its reference.

        Args:
            event: of the recording.
            service_time: the service's time now; None if unknown.
            named: whether the service has announced that it reads the reference.
            says_language: whether the request says what is known about the language; a repeat has to do the same.
        """
        with self._store.changing():
            if self._store.sending_blocked or not self.is_wanted(event):
                return False
            if event.asked_at is None:
                when = None if service_time is None else time_text(service_time)
                self._write(event, {"asked_at": self._store.now(), "asked_service_at": when})
                item = self._store.get(event.take_id)
                sent = says_language if item.spoken.is_known else item.spoken_sent
                if (named, sent) != (item.named, item.spoken_sent):
                    self._store.store_details(event.take_id, replace(metadata_of(item), named=named, spoken_sent=sent))
            return True

    def mark_not_asked(self, event: PendingEvent) -> None:
        """Record that the service has certainly not accepted the recording."""
        self._write(event, NOT_ASKED)

    def mark_taken(self, event: PendingEvent, job_id: str) -> None:
        """Record that the service has the recording as `job_id`."""
        with self._store.changing():
            self._store.add("jobs", job_id, event.take_id)
            self._store.update(event.take_id, {"job_id": job_id})
            self._note(AuditAction.SENT, event, "" if self.is_wanted(event) else "found at the service")
            self._store.move(event.take_id, OutboxState.SUBMITTED)
            self._store.add_event(event.take_id, FOLLOW)

    def requeue(self, event: PendingEvent, not_before: datetime | None = None, *, failed: bool = False) -> None:
        """Put it back into the queue, to be retried at `not_before`; `failed` counts it as an attempt."""
        with self._store.changing():
            when = None if not_before is None else time_text(not_before)
            kept = self._store.event(event.event_id)
            attempts = event.attempts if kept is None else kept["attempts"]
            self._write(event, {"not_before": when, "attempts": attempts + int(failed)})
            if self.is_wanted(event):  # else it already waits, or was cancelled
                self._store.move(event.take_id, OutboxState.WAITING)

    def postpone(self, event: PendingEvent, not_before: datetime, reason: str) -> None:
        """Put it back after its last retry, with the reason; retried at `not_before`, or by `retry_postponed`."""
        with self._store.changing():
            self.requeue(event, not_before, failed=True)
            if self._store.get(event.take_id).state is OutboxState.WAITING:
                self._store.update(event.take_id, {"reason": reason})

    def retry_postponed(self) -> None:
        """Retry those that have used their retries: the service is back."""
        query = "SELECT take_id FROM pending WHERE attempts > ? AND not_before IS NOT NULL"
        take_ids = self._take_ids(query, MAX_RETRIES)
        if take_ids:
            with self._store.changing():
                for take_id in take_ids:
                    self._store.write_event_of(take_id, {"not_before": None})

    def need_attention(self, event: PendingEvent, reason: str, fix: Fix) -> None:
        """Take it out of the queue until a person decides."""
        self._try_move(event, OutboxState.NEEDS_ATTENTION, reason, fix)

    def apply_job(self, event: PendingEvent, job: Job) -> bool:
        """Store the state and result of a job; True if it has ended."""
        state = _REPORTED.get(job.status)
        if state is None or state is self._store.get(event.take_id).state:
            return False
        with self._store.changing():
            if job.result is not None:
                self._store.store_result(event.take_id, write_result(job.result), job.completed_at)
            reason = _ENDED_BADLY.get(state)
            self._store.move(event.take_id, state, reason, Fix.TRY_AGAIN if reason else None)
            if job.status.terminal:
                self._store.remove_event(event.take_id)
                self._note(AuditAction.RESULT_RECEIVED, event, str(state))
        return job.status.terminal

    def is_known_job(self, job_id: str) -> bool:
        """Whether an earlier answer named this job."""
        return bool(self._store.rows("SELECT 1 FROM jobs WHERE job_id = ?", (job_id,)))

    def subjects_to_read(self) -> list[str]:
        """Subjects with a recent result whose trajectory was not read since."""
        rows = self._store.rows(
            "SELECT group_id, max(updated_at) AS done_at, read_at "
            "FROM recordings LEFT JOIN trajectories USING (group_id) "
            "WHERE state = ? AND updated_at > ? GROUP BY group_id HAVING read_at IS NULL OR read_at < done_at",
            (OutboxState.DONE, time_text(self._store.clock.now() - JUST_DONE)),
        )
        return [row["group_id"] for row in rows]

    def progress(self, event: PendingEvent, sent: int, total: int) -> None:
        """Report the progress of an upload."""
        self._store.report_progress(event.take_id, sent, total)

    def _note(self, what: AuditAction, event: PendingEvent, detail: str = "") -> None:
        self._store.note(what, event.take_id, detail, AuditPart.SYNC_WORKER)

    def _take_ids(self, query: str, *values: object) -> list[str]:
        """Take ids that a query finds, without changed rows: they must not block the others."""
        rows = self._store.rows(query, values)
        return [row["take_id"] for row in rows if self._store.is_intact(row["take_id"])]

    def _events(self, states: Collection[OutboxState]) -> list[PendingEvent]:
        marks = ", ".join("?" * len(states))
        rows = self._store.rows(
            "SELECT pending.*, state, group_id, recorded_at, duration_s, bundle_id, event_mac "  # noqa: S608
            f"FROM pending JOIN recordings USING (take_id) WHERE state IN ({marks}) ORDER BY recorded_at, take_id",
            tuple(states),
        )
        for row in rows:
            if not event_is_authentic(row, self._store.cipher):
                self._store.reread(row["take_id"])
        now, faulty = self._store.clock.now(), self._store.faulty
        known = [row for row in self._allowed(rows) if row["take_id"] not in faulty]
        return [_event(row, now, named=self._is_named(row)) for row in known]

    def _is_named(self, row: DatabaseRow) -> bool:
        """Whether the unanswered request of this computer named its submission; a copy searches first."""
        return row["asked_service_at"] is not None and self._store.get(row["take_id"]).named

    def _consents(self, event: PendingEvent) -> bool:
        """Whether the consent policy lets a recording go."""
        try:
            item = self._store.get(event.take_id)
        except UnknownTake:
            return False
        return self._consent.refusal(item.group_id, item.recorded_at) is None

    def _allowed(self, rows: list[DatabaseRow]) -> list[DatabaseRow]:
        """Rows that the consent policy lets go; what was sent or handed over is always followed."""
        if self._consent.rules().policy is not ConsentPolicy.REQUIRED:
            return rows
        consents = self._consent.all()
        return [
            row
            for row in rows
            if row["state"] not in _TO_SEND
            or consents.refusal(row["group_id"], _moment(row["recorded_at"]) or self._store.clock.now()) is None
        ]

    def _try_move(
        self, event: PendingEvent, state: OutboxState, reason: str | None = None, fix: Fix | None = None
    ) -> bool:
        """Change the state; False if a person was faster."""
        with self._store.changing():
            try:
                if self._store.get(event.take_id).state is not state:
                    self._store.move(event.take_id, state, reason, fix)
            except (IllegalStateChange, UnknownTake):
                return False
        return True

    def _write(self, event: PendingEvent, columns: Mapping[str, object]) -> None:
        with self._store.changing():
            self._store.write_event(event.event_id, columns)


def _event(row: DatabaseRow, now: datetime, *, named: bool) -> PendingEvent:
    uploaded_at = _moment(row["uploaded_at"])
    still_there = uploaded_at is not None and timedelta(0) <= now - uploaded_at < UPLOAD_LIFETIME
    return PendingEvent(
        event_id=row["event_id"],
        take_id=row["take_id"],
        follows=row["state"] in _FOLLOWING,
        attempts=row["attempts"] if isinstance(row["attempts"], int) else 0,
        not_before=_moment(row["not_before"]),
        upload_ref=row["upload_ref"] if still_there else None,
        asked_at=None if row["asked_at"] is None else _moment(row["asked_at"]) or now,
        asked_service_at=_moment(row["asked_service_at"]),
        named=named,
        group_id=row["group_id"],
        duration_s=row["duration_s"],
        released=bool(row["released"]),
        shared=row["bundle_id"] is not None and row["kind"] != SEND_ANYWAY,
    )


def _moment(text: object) -> datetime | None:
    """A time of an event; None if missing or damaged: no event may block the others."""
    try:
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment
