"""What the courier does: each task of its agenda as one step that may be broken off anywhere and done again."""

import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from vbdesk.capture.clock import Clock
from vbdesk.client import AudioSource
from vbdesk.client.errors import (
    AudioRefused,
    ClientError,
    Conflict,
    ConnectionFailed,
    InsufficientCredits,
    NotFound,
    ServiceUnavailable,
    UnexpectedAnswer,
    UploadFailed,
)
from vbdesk.client.submission_recovery import (
    CLOCK_TOLERANCE,
    OwnJob,
    Unproven,
    find_own_job,
    is_answer_to,
    key_is_kept,
    resembles,
    search_span,
)
from vbdesk.client.submission_recovery import may_have_been_taken as may_still_arrive
from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import Job, JobStatus
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S, Bucket
from vbdesk.contract.longitudinal import TrajectoryRunning
from vbdesk.contract.uploads import UploadGrant
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.profiles.vault import VaultError
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.clock_check import FUTURE
from vbdesk.outbox.sync.connection import Connection, NoRoom
from vbdesk.outbox.sync.error_policy import may_have_been_taken
from vbdesk.outbox.sync.forecast import Measured
from vbdesk.outbox.sync.planning import Agenda
from vbdesk.outbox.sync.upload import Upload, upload_of
from vbdesk.outbox.sync.upload_queue import Event, Line

SUBJECT_AGAIN_S = 60.0
CONFIRMING = 3  # answers that are asked for until one agrees with another
PAGES_SEARCHED = 20  # of the account's jobs, 50 each, for one that is in no group any more
UNPROVEN = "The service may have this recording, but nothing proves it. Look again, or send it again at its price."
MAY_BE_SENT = (
    "Another computer may have sent this recording, but nothing proves it. Look again, or send it again at its price."
)


_NOTHING_BY_THIS_KEY = (InsufficientCredits, AudioRefused, Conflict)
"""Errors that a service which keeps keys gives only after it has looked for the key."""


class ClockWrong(Exception):
    """What the service grants has ended by the clock of this computer before it began."""


@dataclass(slots=True)
class _Granted:
    """An address for certain bytes, kept while the program runs: a broken upload may be repeated there.

    Attributes:
        unanswered: all of the bytes were sent there once, and no answer came.
    """

    grant: UploadGrant
    sha256: str
    unanswered: bool = False


class Steps:
    """One method a task. All raise ClientError, NoRoom and VaultError as the connection does."""

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        line: Line,
        connection: Connection,
        agenda: Agenda,
        clock: Clock,
        measured: Measured,
    ) -> None:
        self._library = library
        self._results = results
        self._line = line
        self._connection = connection
        self._agenda = agenda
        self._clock = clock
        self._measured = measured
        self._granted: dict[str, _Granted] = {}  # by event id
        self._taken_at: dict[str, float] = {}  # by take id
        self._of_others: dict[str, Job] = {}  # jobs that no recording here is known to have, as they were found
        self.stop = threading.Event()

    def send(self, event: Event) -> bool:
        """Mint, upload and submit, from wherever an earlier try came to; True if the service has it now.

        Raises:
            ClockWrong: the upload cannot begin.
            SealedError, AudioError, ValueError: the sound cannot be read or made small enough.
        """
        item = self._line.item(event)
        if not MIN_DURATION_S <= item.duration_s <= MAX_DURATION_S:
            self._line.need_attention(event, _length_fault(item), Fix.REVIEW_TAKE)
            return False
        if self._is_doubtful(event) or not self._line.begin_upload(event):
            return False
        upload_ref = event.upload_ref or self._upload(event, item)
        self._confirm_time()
        if self._is_doubtful(event):  # only now the service's time is known for certain
            return False
        if event.shared:
            found = self._found_in_group(event, item)
            if isinstance(found, OwnJob):
                self._begin_following(event, found.job_id)
                return True
            if found is not None:
                self._line.need_attention(event, MAY_BE_SENT, Fix.SEND_AGAIN)
                return False
        return self._submit(event, item, upload_ref)

    def search(self, event: Event) -> None:
        """Find out whether the service has a recording whose answer was lost.

        A service that keeps keys is asked again with the same key. At another one the recording's own job is searched
        for; after the last look it is sent again if there is none even like it, else a person decides.
        """
        item = self._line.item(event)
        self._hear()
        if key_is_kept(event.asked_service_at, event.key_kept_s, self._confirmed_time()):
            if self._line.begin_upload(event):
                self._submit(event, item, event.upload_ref or self._upload(event, item))
            return
        found = self._found_in_group(event, item)
        if isinstance(found, OwnJob):
            self._begin_following(event, found.job_id)
        elif not self._agenda.searched(event):
            return
        elif found is not None or self._is_perhaps_outside(event, item):
            by_another = event.shared and event.asked_service_at is None
            self._line.need_attention(event, MAY_BE_SENT if by_another else UNPROVEN, Fix.SEND_AGAIN)
        else:
            self._line.not_asked(event)

    def look_for(self, event: Event) -> None:
        """Look whether another computer has sent a recording that was handed over."""
        self._agenda.looked_for(event)
        found = self._found_in_group(event, self._line.item(event))
        if isinstance(found, OwnJob):
            self._begin_following(event, found.job_id)
        self._agenda.looked_for(event, answered=True)

    def follow(self, event: Event) -> None:
        """Ask how far an analysis is, and take in its result."""
        self._agenda.followed(event)
        try:
            with self._connection.asking(Bucket.POLLING) as client:
                job = self._results.reader_of(client).get(self._line.item(event).job_id or "")
        except NotFound:
            reason = "The service does not know this analysis any more. The recording is kept and can be sent again."
            self._line.need_attention(event, reason, Fix.TRY_AGAIN)
            return
        except UnexpectedAnswer:
            self._agenda.followed(event, odd=True)
            raise
        if self._line.report(event, job):
            self._agenda.ended(event)
            taken_at = self._taken_at.pop(event.take_id, None)
            if taken_at is not None and job.status is JobStatus.DONE:
                self._measured.analysis(taken_at, self._clock.monotonic())

    def read_subject(self, group_id: str) -> None:
        """Read and keep a subject's history."""
        self._agenda.read_subject(group_id, SUBJECT_AGAIN_S)
        try:
            with self._connection.asking(Bucket.GENERAL) as client:
                read = self._results.reader_of(client).trajectory(group_id)
        except NotFound:  # somebody has deleted the group
            self._agenda.subject_was_read(group_id)
            return
        if isinstance(read, TrajectoryRunning):
            self._agenda.read_subject(group_id, read.retry_after_seconds)
            return
        self._agenda.subject_was_read(group_id)

    def read_credits(self) -> int:
        """Read the balance."""
        self._agenda.credits_were_read()
        with self._connection.asking(Bucket.GENERAL) as client:
            return client.account.credits()

    def taken_since_s(self, event: Event) -> float:
        """Seconds since the service took a recording, as far as this run knows."""
        now = self._clock.monotonic()
        return now - self._taken_at.get(event.take_id, now)

    # Sending

    def _confirm_time(self) -> None:
        """Ask once more, or twice, where the service's time is not confirmed: a single answer may be wrong."""
        for _ in range(CONFIRMING):
            answer = self._connection.answer
            if self._connection.answered and (answer is None or self._library.times.agrees(answer)):
                return
            self.read_credits()

    def _is_doubtful(self, event: Event) -> bool:
        """Keep back a recording whose time is not certain: the histories of the service go by that time.

        A time that is a few minutes ahead comes without help; of another one a person decides.
        """
        times = self._library.times
        item, service_time = self._line.item(event), times.service_time()
        doubt = times.doubt(item)
        if doubt is not None or item.fix is Fix.SET_CLOCK:
            with self._library.store.changing():
                if doubt is not None:
                    times.mark(item, doubt)
                self._line.need_attention(event, self._line.item(event).reason or "", Fix.SET_CLOCK)
            return True
        if service_time is None or item.recorded_at <= service_time + FUTURE:
            return False
        self._line.wait(event, self._clock.now() + (item.recorded_at - service_time) - FUTURE)
        return True

    def _upload(self, event: Event, item: RecordingItem) -> str:
        """Bring the bytes to the storage; at an address that was granted before, if these bytes were to go there."""
        began = self._clock.monotonic()
        upload = upload_of(self._library, item)
        cancel = _NotWanted(self._line, event, self.stop)
        granted = self._granted.get(event.event_id)
        if granted is None or granted.sha256 != upload.sha256 or granted.grant.expires_at <= self._now():
            granted = self._granted[event.event_id] = self._mint(upload, cancel)
        self._line.keep_digest(event, upload.sha256)
        source = AudioSource.from_bytes(upload.content, upload.content_type)
        whole = False

        def advance(sent: int, total: int) -> None:
            nonlocal whole
            whole = sent >= total
            self._go_on(event, sent, total)

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
        self._line.keep_upload(event, granted.grant.upload_ref)
        self._measured.upload(item.duration_s, len(upload.content), self._clock.monotonic() - began)
        return granted.grant.upload_ref

    def _go_on(self, event: Event, sent: int, total: int) -> None:
        """Bytes of an upload are sent; on a slow line that takes minutes, in which the results of others still come."""
        self._line.progress(event, sent, total)
        due = self._agenda.poll_meanwhile(self._line.following)
        if due is not None:
            with suppress(ClientError, NoRoom, UnknownTake):  # it is asked after again in its turn, which tells more
                self.follow(due)

    def _mint(self, upload: Upload, cancel: "_NotWanted") -> _Granted:
        began = self._clock.monotonic()
        with self._connection.asking(Bucket.ANALYZE) as client:
            grant = client.uploads.mint(upload.content_type, None, cancel, size_bytes=len(upload.content))
        self._measured.request(self._clock.monotonic() - began)
        if self._connection.clock_is_wrong:
            self._confirm_time()
        if grant.expires_at <= self._now() or self._connection.clock_is_wrong:
            raise ClockWrong
        return _Granted(grant, upload.sha256)

    def _hear(self) -> None:
        """Have the service's time and its promise to keep keys, before it is asked for an analysis."""
        if not self._connection.answered:
            self.read_credits()

    def _submit(self, event: Event, item: RecordingItem, upload_ref: str) -> bool:
        """Ask for the analysis, or ask again with the same key where an earlier answer was lost."""
        self._hear()
        asked_before = event.asked_at is not None
        if not self._line.ask(event, self._confirmed_time(), self._connection.key_kept_s):
            return False
        began = self._clock.monotonic()
        try:
            with self._connection.asking(Bucket.ANALYZE) as client:
                job = client.analyze(
                    item.target,
                    upload_ref,
                    group_id=item.group_id,
                    longitudinal=item.longitudinal,
                    recorded_at=item.recorded_at,
                    idempotency_key=event.event_id,
                )
        except (NoRoom, VaultError):
            if not asked_before:
                self._line.not_asked(event)
            raise
        except ClientError as error:
            if may_have_been_taken(error):
                self._agenda.answer_lost(event, may_still_arrive=may_still_arrive(error))
            elif not asked_before or isinstance(error, _NOTHING_BY_THIS_KEY):
                self._line.not_asked(event)
            raise
        self._measured.request(self._clock.monotonic() - began)
        if self._line.is_known_job(job.job_id) or not is_answer_to(job, item.group_id):  # another recording's
            self._agenda.answer_lost(event, may_still_arrive=False)
            raise UnexpectedAnswer
        self._begin_following(event, job.job_id)
        return True

    def _begin_following(self, event: Event, job_id: str) -> None:
        self._line.taken(event, job_id)
        self._agenda.followed(event, taken=True)
        self._taken_at[event.take_id] = self._clock.monotonic()

    def _confirmed_time(self) -> datetime | None:
        """The time of day by the service's clock; None where it has told none since the computer started."""
        return self._connection.heard_time() or self._library.times.service_time()

    def _now(self) -> datetime:
        return self._connection.service_time()

    # Searching

    def _found_in_group(self, event: Event, item: RecordingItem) -> OwnJob | Unproven | None:
        first, last = search_span(item)
        found: list[GroupJobItem] = []
        page, pages = 0, 1
        while page < pages:
            try:
                with self._connection.asking(Bucket.GENERAL) as client:
                    answer = client.groups.jobs(item.group_id, page=page, from_=first, to=last)
            except NotFound:
                return None
            found += answer.jobs
            page, pages = page + 1, answer.total_pages
        return find_own_job(item, found, self._line.is_known_job, event.asked_service_at)

    def _is_perhaps_outside(self, event: Event, item: RecordingItem) -> bool:
        """Whether the account has a job like it that may have been in a group which somebody has deleted since."""
        asked_at = event.asked_service_at
        if asked_at is None and not event.shared and self._confirmed_time() is None:
            asked_at = event.asked_at  # of a service that never tells its time
        if asked_at is None:  # not asked by this computer, as far as is known
            return False
        size_bytes = len(upload_of(self._library, item).content)
        page, pages = 0, 1
        while page < min(pages, PAGES_SEARCHED):
            with self._connection.asking(Bucket.GENERAL) as client:
                answer = client.jobs.list(page)
            for listed in answer.jobs:
                if listed.created_at < asked_at - CLOCK_TOLERANCE:
                    return False
                if self._line.is_known_job(listed.job_id):
                    continue
                if resembles(item, self._job_of_another(listed.job_id), size_bytes, asked_at):
                    return True
            page, pages = page + 1, answer.total_pages
        return False

    def _job_of_another(self, job_id: str) -> Job:
        """A job without its result; kept, so that a search that is broken off does not read it again."""
        if job_id not in self._of_others:
            with self._connection.asking(Bucket.POLLING) as client:
                job = self._results.reader_of(client).get(job_id)
            self._of_others[job_id] = job.model_copy(update={"result": None})
        return self._of_others[job_id]


class _NotWanted:
    """Ends an upload when a person has cancelled it, or the courier is to stop."""

    def __init__(self, line: Line, event: Event, stop: threading.Event) -> None:
        self._line = line
        self._event = event
        self._stop = stop

    def is_set(self) -> bool:
        """Whether to end."""
        return self._stop.is_set() or not self._line.is_wanted(self._event)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the stop."""
        return self._stop.wait(timeout) or self.is_set()


def _length_fault(item: RecordingItem) -> str:
    if item.duration_s < MIN_DURATION_S:
        return f"{int(item.duration_s)} s of sound, under the {MIN_DURATION_S:.0f} s minimum, so it was not sent."
    return "The recording is longer than 20 minutes, so it was not sent. Trim it and try again."
