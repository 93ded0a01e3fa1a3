"""What the sync worker does: each task is one step that may be interrupted and repeated."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from vbdesk.client import AudioSource, Client
from vbdesk.client.errors import (
    ClientError,
    Conflict,
    ConnectionFailed,
    NotFound,
    ServiceUnavailable,
    UnexpectedAnswer,
    UploadFailed,
)
from vbdesk.client.exactly_once import ExactlyOnce
from vbdesk.client.submission_recovery import (
    ProvenJob,
    UnprovenJob,
)
from vbdesk.clock import Clock
from vbdesk.contract.jobs import GroupJob, Job, JobStatus
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S, Bucket
from vbdesk.contract.longitudinal import TrajectoryRunning
from vbdesk.contract.rounding import whole
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE
from vbdesk.contract.uploads import UploadGrant
from vbdesk.language import N_, message
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.clock_check import FUTURE
from vbdesk.outbox.sync.connection import RequestBudgetUsedUp, ServiceConnection
from vbdesk.outbox.sync.forecast import MeasuredDurations
from vbdesk.outbox.sync.planning import Planner
from vbdesk.outbox.sync.upload_bytes import Upload, upload_of
from vbdesk.outbox.sync.upload_queue import PendingEvent, UploadQueue

SUBJECT_INTERVAL_S = 60.0
CONFIRMING = 3  # answers to request until two agree
JOBS_SEARCHED = 1000  # of the account, newest first, for a job that is in no group
UNPROVEN = N_("The service may have this recording, but nothing proves it. Look again, or send it again at its price.")
MAY_BE_SENT = N_(
    "Another computer may have sent this recording, but nothing proves it. Look again, or send it again at its price."
)


class ClockWrong(Exception):
    """By this computer's clock, the upload address expired before it was granted."""


@dataclass(slots=True)
class _Granted:
    """An upload address for certain bytes, kept in memory: an interrupted upload may be repeated there.

    Attributes:
        unanswered: all bytes were sent there once, and no answer came.
    """

    grant: UploadGrant
    sha256: str
    unanswered: bool = False


class TaskHandlers:
    """One method per task. All raise ClientError, RequestBudgetUsedUp and VaultError."""

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        line: UploadQueue,
        connection: ServiceConnection,
        agenda: Planner,
        clock: Clock,
        measured: MeasuredDurations,
    ) -> None:
        self._library = library
        self._results = results
        self._queue = line
        self._connection = connection
        self._planner = agenda
        self._clock = clock
        self._measured = measured
        self._granted: dict[str, _Granted] = {}  # by event id
        self._taken_at: dict[str, float] = {}  # by take id
        self._steps = ExactlyOnce(connection.requesting, self._queue.is_known_job, jobs_searched=JOBS_SEARCHED)
        self.stop = threading.Event()

    def send(self, event: PendingEvent) -> bool:
        """Upload and submit a recording, from where an earlier attempt ended; True if the service has it now.

        Raises:
            ClockWrong: the upload cannot begin.
            EncryptedFileError, AudioError, ValueError: the sound cannot be read or made small enough.
        """
        item = self._queue.item(event)
        if not MIN_DURATION_S <= item.duration_s <= MAX_DURATION_S:
            self._queue.need_attention(event, length_fault(item), Fix.REVIEW_TAKE)
            return False
        if self._is_doubtful(event) or not self._queue.begin_upload(event):
            return False
        item = self._queue.item(event)  # a person may have corrected its subject or time until the upload began
        upload_ref = event.upload_ref or self._upload(event, item)
        self._confirm_time()
        if self._is_doubtful(event):  # the service's time is confirmed only now
            return False
        if event.shared:
            found = self._found_in_group(event, item)
            if isinstance(found, ProvenJob):
                self._begin_following(event, found.job_id)
                return True
            if found is not None:
                self._queue.need_attention(event, MAY_BE_SENT, Fix.SEND_AGAIN)
                return False
        return self._submit(event, item, upload_ref)

    def find_lost_job(self, event: PendingEvent) -> None:
        """Find out whether the service has a recording whose answer was lost.

        A service that reads references gets the same request again. Otherwise the recording's own job is searched for.
        After the last search the recording is sent again if no job resembles it, else a person decides.
        """
        item = self._queue.item(event)
        self._read_service_time()
        if event.named and self._connection.reads_client_ref:
            if self._queue.begin_upload(event):
                self._submit(event, item, event.upload_ref or self._upload(event, item))
            return
        found = self._found_in_group(event, item)
        if isinstance(found, ProvenJob):
            self._begin_following(event, found.job_id)
        elif not self._planner.searched(event):
            return
        elif found is not None or self._may_have_left_group(event, item):
            by_another = event.shared and event.asked_service_at is None
            self._queue.need_attention(event, MAY_BE_SENT if by_another else UNPROVEN, Fix.SEND_AGAIN)
        else:
            self._queue.mark_not_asked(event)

    def find_handed_over(self, event: PendingEvent) -> None:
        """Search for a recording that was handed over: another computer may have sent it."""
        self._planner.searched_for_handed_over(event)
        found = self._found_in_group(event, self._queue.item(event))
        if isinstance(found, ProvenJob):
            self._begin_following(event, found.job_id)
        self._planner.searched_for_handed_over(event, answered=True)

    def poll_job(self, event: PendingEvent) -> None:
        """Read the state of a job, and store its result."""
        self._planner.polled(event)
        try:
            with self._connection.requesting(Bucket.POLLING) as client:
                job = self._results.reader_of(client).get(self._queue.item(event).job_id or "")
        except NotFound:
            reason = message(
                "The service does not know this analysis any more. The recording is kept and can be sent again."
            )
            self._queue.need_attention(event, reason, Fix.TRY_AGAIN)
            return
        except UnexpectedAnswer:
            self._planner.polled(event, invalid=True)
            raise
        if self._queue.apply_job(event, job):
            self._planner.ended(event)
            taken_at = self._taken_at.pop(event.take_id, None)
            if taken_at is not None and job.status is JobStatus.DONE:
                self._measured.analysis(taken_at, self._clock.monotonic())

    def read_subject(self, group_id: str) -> None:
        """Read and store a subject's trajectory."""
        self._planner.read_subject(group_id, SUBJECT_INTERVAL_S)
        try:
            with self._connection.requesting(Bucket.GENERAL) as client:
                read = self._results.reader_of(client).trajectory(group_id)
        except NotFound:  # the group was deleted
            self._planner.subject_was_read(group_id)
            return
        if isinstance(read, TrajectoryRunning):
            self._planner.read_subject(group_id, read.retry_after_seconds)
            return
        self._planner.subject_was_read(group_id)

    def read_credits(self) -> int:
        """Read the balance."""
        self._planner.credits_were_read()
        with self._connection.requesting(Bucket.GENERAL) as client:
            return client.account.credits()

    def taken_since_s(self, event: PendingEvent) -> float:
        """Seconds since the service accepted a recording, as far as this run knows."""
        now = self._clock.monotonic()
        return now - self._taken_at.get(event.take_id, now)

    # Sending

    def _confirm_time(self) -> None:
        """Read the service's time again until two answers agree: a single one may be wrong."""
        for _ in range(CONFIRMING):
            answer = self._connection.answer
            if self._connection.answered and (answer is None or self._library.times.agrees(answer)):
                return
            self.read_credits()

    def _is_doubtful(self, event: PendingEvent) -> bool:
        """Whether to keep a recording back because its time is uncertain: trajectories depend on it.

        A time a few minutes in the future resolves itself by waiting; any other doubt needs a person.
        """
        item, service_time = self._queue.item(event), self._library.times.service_time()
        if self._needs_decision(item):
            with self._library.store.changing():
                item = self._queue.item(event)  # a person may have decided meanwhile
                if self._needs_decision(item):
                    doubt = self._library.times.doubt(item)
                    if doubt is not None:
                        self._library.times.mark(item, doubt)
                    self._queue.need_attention(event, self._queue.item(event).reason or "", Fix.SET_CLOCK)
            return True
        if service_time is None or item.recorded_at <= service_time + FUTURE:
            return False
        self._queue.requeue(event, self._clock.now() + (item.recorded_at - service_time) - FUTURE)
        return True

    def _needs_decision(self, item: RecordingItem) -> bool:
        return item.fix is Fix.SET_CLOCK or self._library.times.doubt(item) is not None

    def _upload(self, event: PendingEvent, item: RecordingItem) -> str:
        """Upload the bytes; reuse an address that was granted for the same bytes before."""
        began = self._clock.monotonic()
        upload = upload_of(self._library, item)
        cancel = _NotWanted(self._queue, event, self.stop)
        granted = self._granted.get(event.event_id)
        if granted is None or granted.sha256 != upload.sha256 or granted.grant.expires_at <= self._now():
            granted = self._granted[event.event_id] = self._request_grant(upload, cancel)
        self._queue.store_digest(event, upload.sha256)
        source = AudioSource.from_bytes(upload.content, upload.content_type)
        whole = False

        def advance(sent: int, total: int) -> None:
            nonlocal whole
            whole = sent >= total
            self._poll_during_upload(event, sent, total)

        try:
            self._connection.client.uploads.put(
                granted.grant, source, progress=advance, cancel=cancel, sent_before=granted.unanswered
            )
        except UploadFailed:
            self._granted.pop(event.event_id)
            raise
        except (ConnectionFailed, ServiceUnavailable):
            granted.unanswered = granted.unanswered or whole
            raise
        self._granted.pop(event.event_id, None)
        self._queue.store_upload(event, granted.grant.upload_ref)
        self._measured.upload(item.duration_s, len(upload.content), self._clock.monotonic() - began)
        return granted.grant.upload_ref

    def _poll_during_upload(self, event: PendingEvent, sent: int, total: int) -> None:
        """Report progress, and poll other jobs: on a slow connection an upload takes minutes."""
        self._queue.progress(event, sent, total)
        due = self._planner.poll_meanwhile(self._queue.following)
        if due is not None:
            with suppress(
                ClientError, RequestBudgetUsedUp, UnknownTake
            ):  # the regular poll repeats it and handles the error
                self.poll_job(due)

    def _request_grant(self, upload: Upload, cancel: "_NotWanted") -> _Granted:
        began = self._clock.monotonic()
        with self._connection.requesting(Bucket.ANALYZE) as client:
            grant = client.uploads.mint(upload.content_type, None, cancel, size_bytes=len(upload.content))
        self._measured.request(self._clock.monotonic() - began)
        if self._connection.clock_is_wrong:
            self._confirm_time()
        if grant.expires_at <= self._now() or self._connection.clock_is_wrong:
            raise ClockWrong
        return _Granted(grant, upload.sha256)

    def _read_service_time(self) -> None:
        """Read the service's time and which fields it announces, before an analysis is requested."""
        if not self._connection.answered:
            self.read_credits()

    def _submit(self, event: PendingEvent, item: RecordingItem, upload_ref: str) -> bool:
        """Request the analysis; with the same reference again if an earlier answer was lost."""
        self._read_service_time()
        says_language = self._says_language(event, item)
        began = self._clock.monotonic()

        def ask(client: Client) -> Job | GroupJob:
            return client.analyze(
                item.target,
                upload_ref,
                group_id=item.group_id,
                longitudinal=item.longitudinal,
                recorded_at=item.recorded_at,
                client_ref=item.client_ref,
                spoken=item.spoken if says_language else UNKNOWN_LANGUAGE,
            )

        record = _EventRecord(
            event,
            self._queue,
            self._planner,
            service_time=self._confirmed_time(),
            named=self._connection.reads_client_ref,
            says_language=says_language,
            on_accepted=self._begin_following,
        )
        try:
            if not self._steps.request(record, item.group_id, ask):
                return False
        except Conflict:  # the reference is used: by a copy of this recording, or its job was erased
            found = self._steps.find_in_group(item, item.group_id, None)
            if not isinstance(found, ProvenJob):
                raise
            self._begin_following(event, found.job_id)
        self._measured.request(self._clock.monotonic() - began)
        return True

    def _says_language(self, event: PendingEvent, item: RecordingItem) -> bool:
        """Whether to say what is known about the language: as before if the request is repeated."""
        if event.asked_service_at is not None and item.spoken_sent is not None:
            return item.spoken_sent
        return self._connection.reads_language

    def _begin_following(self, event: PendingEvent, job_id: str) -> None:
        self._queue.mark_taken(event, job_id)
        self._planner.polled(event, taken=True)
        self._taken_at[event.take_id] = self._clock.monotonic()

    def _confirmed_time(self) -> datetime | None:
        """The time of day by the service's clock; None if unknown since the computer started."""
        return self._connection.last_answer_time() or self._library.times.service_time()

    def _now(self) -> datetime:
        return self._connection.service_time()

    # Searching

    def _found_in_group(self, event: PendingEvent, item: RecordingItem) -> ProvenJob | UnprovenJob | None:
        return self._steps.find_in_group(item, item.group_id, event.asked_service_at)

    def _may_have_left_group(self, event: PendingEvent, item: RecordingItem) -> bool:
        asked_at = event.asked_service_at
        if asked_at is None and not event.shared and self._confirmed_time() is None:
            asked_at = event.asked_at  # for a service that never sends its time
        if asked_at is None:  # this computer did not submit it
            return False
        return self._steps.may_have_left_group(item, len(upload_of(self._library, item).content), asked_at)


@dataclass(frozen=True, slots=True)
class _EventRecord:
    """The event of one recording, as the shared steps change it.

    Attributes:
        service_time: the service's time now; None if unknown.
        named: whether it has announced that it reads references.
        says_language: whether the request says what is known about the language.
        on_accepted: called with the event and the job's id.
    """

    event: PendingEvent
    queue: UploadQueue
    planner: Planner
    service_time: datetime | None
    named: bool
    says_language: bool
    on_accepted: Callable[[PendingEvent, str], None]

    @property
    def asked_before(self) -> bool:
        return self.event.asked_at is not None

    def mark_asked(self) -> bool:
        return self.queue.mark_asked(self.event, self.service_time, named=self.named, says_language=self.says_language)

    def mark_not_accepted(self) -> None:
        self.queue.mark_not_asked(self.event)

    def mark_lost(self, *, may_still_arrive: bool) -> None:
        self.planner.answer_lost(self.event, may_still_arrive=may_still_arrive)

    def mark_accepted(self, job: Job | GroupJob) -> None:
        self.on_accepted(self.event, job.job_id)


class _NotWanted:
    """Cancels an upload when a person has cancelled the recording, or the worker is to stop."""

    def __init__(self, line: UploadQueue, event: PendingEvent, stop: threading.Event) -> None:
        self._queue = line
        self._event = event
        self._stop = stop

    def is_set(self) -> bool:
        """Whether to cancel."""
        return self._stop.is_set() or not self._queue.is_wanted(self._event)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the stop."""
        return self._stop.wait(timeout) or self.is_set()


def length_fault(item: RecordingItem) -> str:
    """Why a recording outside of the limits of length was not sent."""
    if item.duration_s < MIN_DURATION_S:
        return message(
            "{length} s of sound, under the {least:.0f} s minimum, so it was not sent.",
            length=whole(item.duration_s),
            least=MIN_DURATION_S,
        )
    return message("The recording is longer than 20 minutes, so it was not sent. Trim it and try again.")
