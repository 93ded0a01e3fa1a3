"""Submitting many files, each once: what was begun stands in a journal, and a second run goes on from there."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.audio import AudioSource
from vbdesk.client.client import Client
from vbdesk.client.clock import CancelFlag, SystemTimekeeper, Timekeeper
from vbdesk.client.errors import (
    AudioRefused,
    Cancelled,
    ClientError,
    Conflict,
    InsufficientCredits,
    NotFound,
    ServiceUnavailable,
    UnexpectedAnswer,
    UploadFailed,
    UploadRefInvalid,
)
from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.client.submission_journal import Entry, Journal
from vbdesk.client.submission_recovery import (
    CLOCK_TOLERANCE,
    SEARCH_AFTER_S,
    OwnJob,
    Unproven,
    find_own_job,
    is_answer_to,
    key_is_kept,
    may_have_been_taken,
    resembles,
    search_span,
)
from vbdesk.client.uploads import Progress
from vbdesk.contract.jobs import GroupJob
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_AUDIO_BYTES, MAX_RETRIES

_MOMENT = re.compile(  # in ranges, so that the number of a subject before it is not taken for a year
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])[T_ .-]*"
    r"([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(Z|[+-](?:0\d|1[0-4]):?(?:00|15|30|45))?(?!\d)"
)
_OTHER_TIME = timedelta(seconds=1)  # services keep fewer digits, and times of files get some of their own
_NO_FIT = frozenset({"EntityTooLarge", "EntityTooSmall"})
_UNPROVEN = (
    "The service may have this recording: its answer was lost, and no job there is proved to be its own. "
    "Look at the jobs of the subject, or send it again at its price."
)
_KEY_USED = "The service has the key of this recording for another one, so it was not sent. Send it again at its price."


@dataclass(frozen=True, slots=True)
class FileToSubmit:
    """One recording in a file, and where it belongs.

    Attributes:
        recorded_at: when it was made; its place in the subject's history. Without a fraction of a second it gets one at
            random, so that two recordings of one second differ.
        target: model or sign to analyse it for.
        longitudinal: score it against the group's history.
        duration_s: its length where known; services that keep fewer digits of a time are searched by it too.
        attempt: 2 and more send a recording again whose analysis failed or timed out, or of which nobody knows whether
            the service has it.
    """

    path: Path
    group_id: str
    recorded_at: datetime
    target: AnalysisTarget
    longitudinal: bool = False
    diarize: bool = False
    duration_s: float | None = None
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a file.

    Attributes:
        job_id: its job; None if it was refused, or is not known.
        refusal: why, in sentences for a person; None if it was taken.
        recorded_at: its capture time at the service: that of the first time it was sent, whatever is said of it now.
        unproven: the service may have it, and no job is proved to be its own. It is not sent again before a person says
            so, with `attempt` one higher.
        earlier: an earlier run had sent it already, or the same sound stands twice in this one.
    """

    file: FileToSubmit
    job_id: str | None
    refusal: str | None = None
    earlier: bool = False
    unproven: bool = False
    recorded_at: datetime | None = None


def submit_files(
    client: Client,
    files: Iterable[FileToSubmit],
    journal: Path,
    *,
    progress: Progress | None = None,
    cancel: CancelFlag | None = None,
    timekeeper: Timekeeper | None = None,
) -> Iterator[Submitted]:
    """Send each file that `journal` does not know of, one after the other, and give what became of each as it goes.

    The journal knows recordings by their sound, group and target, not by their names; keep one per account. It is
    written before each step, so that a run which was broken off is simply begun again: nothing is sent twice. Where an
    answer was lost, a service that keeps idempotency keys is asked again with the same key; at another one the group's
    jobs are searched for the recording's own capture time. What neither proves is `unproven`. `recorded_at` is moved on
    by microseconds where another recording of the journal has it already.

    Args:
        client: speaks for the account.
        files: what to send; a generator will do.
        journal: a file, made if there is none; it holds group ids and digests, and neither names nor sound.
        progress: called with the bytes sent and all bytes of the file under way.
        cancel: set to stop.
        timekeeper: real time by default.

    Raises:
        ClientError: of the line as a whole: no connection, wrong key, no credits, unknown target. Begin again later.
        InUse, JsonLinesDamaged, OSError: the journal cannot be used.
    """
    with exclusive_lock(journal.with_name(f"{journal.name}.lock")):
        sender = _Sender(client, Journal(journal), progress, cancel, timekeeper or SystemTimekeeper())
        for file in files:
            yield sender.send(file)


def recorded_at_in_name(name: str, zone: tzinfo = UTC) -> datetime | None:
    """The moment that stands in a file name, such as `ward4_2026-03-01_09-30-12.wav`; None if there is none.

    Date and time to the minute are needed, with or without signs between them. Behind them may stand `Z` or an offset;
    without one the time is that of `zone`.
    """
    for found in _MOMENT.finditer(name):
        year, month, day, hours, minutes, seconds, offset = found.groups()
        text = f"{year}-{month}-{day}T{hours}:{minutes}:{seconds or '00'}{offset or ''}"
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a lost answer is searched by."""

    target: AnalysisTarget
    recorded_at: datetime
    time_is_unique: bool
    duration_s: float | None


class _Sender:
    """Brings one file after the other to the service."""

    def __init__(
        self,
        client: Client,
        journal: Journal,
        progress: Progress | None,
        cancel: CancelFlag | None,
        timekeeper: Timekeeper,
    ) -> None:
        self._client = client
        self._journal = journal
        self._progress = progress
        self._cancel = cancel
        self._time = timekeeper

    def send(self, file: FileToSubmit) -> Submitted:
        try:
            source = AudioSource.from_path(file.path)
            key = _key(file)
        except (ValueError, OSError) as error:
            return Submitted(file, None, _words(error))
        entry = self._journal.get(key)
        if entry is not None and entry.unproven and self._journal.get(_key(later := _next(file))) is not None:
            return self.send(later)  # a person had it sent again
        if entry is not None and (entry.job_id or entry.refusal):
            return _outcome(file, entry, earlier=True)
        if source.size_bytes > MAX_AUDIO_BYTES:
            return Submitted(file, None, "The recording is larger than 32 MB. Save it as FLAC, or cut it.")
        entry = entry or self._journal.begin(key, file.group_id, file.recorded_at)
        try:
            entry = self._sent(file, source, entry)
        except (AudioRefused, UploadFailed) as error:
            if isinstance(error, UploadFailed) and error.code not in _NO_FIT:
                raise  # a fault of the storage, not of this recording
            entry = self._journal.write(replace(entry, asked=False, refusal=error.sentence))
        return _outcome(file, entry)

    def _sent(self, file: FileToSubmit, source: AudioSource, entry: Entry) -> Entry:
        """Upload and submit until the service has taken the recording; each step is written down before the next."""
        attempts = 0
        while True:
            if entry.asked:
                entry = self._recovered(file, source, entry, attempts)
            if entry.job_id is not None or entry.unproven:
                return entry
            if entry.upload_ref is None:
                upload_ref = self._client.uploads.send(source, progress=self._progress, cancel=self._cancel)
                entry = self._journal.write(replace(entry, upload_ref=upload_ref))
            try:
                return self._submitted(file, entry)
            except ClientError as error:
                attempts += 1
                entry = self._after(error, entry)
                if attempts > MAX_RETRIES and not entry.unproven:
                    raise

    def _submitted(self, file: FileToSubmit, entry: Entry) -> Entry:
        """Ask for the analysis. The note of the first asking stays: from it on the service may have kept the key."""
        asked = entry
        if not entry.asked:
            if self._client.server_time is None:
                self._client.account.credits()  # tells the service's time, and what it promises
            now, kept_s = self._client.server_time, self._client.key_kept_s
            asked = self._journal.write(replace(entry, asked=True, asked_service_at=now, key_kept_s=kept_s))
        job = self._client.analyze(
            file.target,
            entry.upload_ref or "",
            group_id=entry.group_id,
            longitudinal=file.longitudinal,
            recorded_at=entry.recorded_at,
            diarize=file.diarize,
            idempotency_key=entry.key,
            after_faults=False,
            cancel=self._cancel,
        )
        if self._journal.is_known_job(job.job_id) or not is_answer_to(job, entry.group_id):  # another recording's
            raise UnexpectedAnswer
        at = job.recorded_at if isinstance(job, GroupJob) else None
        taken = replace(asked, asked=False, job_id=job.job_id)
        if at is not None and abs(at - entry.recorded_at) >= _OTHER_TIME:  # the key was used before, by another run
            taken = replace(taken, recorded_at=at)
        return self._journal.write(taken)

    def _after(self, error: ClientError, entry: Entry) -> Entry:
        """What is known of a recording once a submit of it has failed.

        `entry` is as it was before the request: an earlier one may have been taken, unless the error proves that the
        service has nothing by this key.
        """
        known = self._journal.get(entry.key) or entry
        if isinstance(error, Conflict):
            return self._journal.write(replace(known, asked=False, unproven=True, refusal=_KEY_USED))
        if isinstance(error, UploadRefInvalid):
            return self._journal.write(replace(known, asked=entry.asked, upload_ref=None))
        if may_have_been_taken(error) or isinstance(error, ServiceUnavailable):
            return known
        nothing_there = not entry.asked or isinstance(error, InsufficientCredits | AudioRefused)
        self._journal.write(replace(known, asked=not nothing_there))
        raise error

    def _recovered(self, file: FileToSubmit, source: AudioSource, entry: Entry, attempts: int) -> Entry:
        """Find out whether the service has a recording whose answer was lost; as `entry` if it is to be repeated."""
        self._client.account.credits()  # tells the service's time now
        if key_is_kept(entry.asked_service_at, entry.key_kept_s, self._client.server_time):
            if attempts:
                self._time.sleep(FIRST_RETRY_DELAY_S * 2.0 ** (attempts - 1), self._cancel)
            return entry
        asked = _Asked(file.target, entry.recorded_at, entry.time_is_unique, file.duration_s)
        found: OwnJob | Unproven | None = None
        waited_s = 0.0
        for after_s in SEARCH_AFTER_S:  # a request on its way when the line broke may still arrive
            self._time.sleep(after_s - waited_s, self._cancel)
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            waited_s = after_s
            found = self._found(asked, entry)
            if isinstance(found, OwnJob):
                return self._journal.write(replace(entry, asked=False, job_id=found.job_id))
        if found is not None or self._is_perhaps_outside(asked, source, entry):
            return self._journal.write(replace(entry, unproven=True, refusal=_UNPROVEN))
        return self._journal.write(replace(entry, asked=False))

    def _found(self, asked: _Asked, entry: Entry) -> OwnJob | Unproven | None:
        from_, to = search_span(asked)
        try:
            jobs = list(self._client.groups.all_jobs(entry.group_id, from_=from_, to=to))
        except NotFound:
            return None
        return find_own_job(asked, jobs, self._journal.is_known_job, entry.asked_service_at)

    def _is_perhaps_outside(self, asked: _Asked, source: AudioSource, entry: Entry) -> bool:
        """Whether the account has a job like it: its group may have been deleted."""
        asked_at = entry.asked_service_at
        if asked_at is None:
            return False
        for listed in self._client.jobs.all():
            if listed.created_at < asked_at - CLOCK_TOLERANCE:
                return False
            if not self._journal.is_known_job(listed.job_id):
                job = self._client.jobs.get(listed.job_id, self._cancel)
                if resembles(asked, job, source.size_bytes, asked_at):
                    return True
        return False


def _outcome(file: FileToSubmit, entry: Entry, *, earlier: bool = False) -> Submitted:
    return Submitted(file, entry.job_id, entry.refusal, earlier, entry.unproven, entry.recorded_at)


def _next(file: FileToSubmit) -> FileToSubmit:
    return replace(file, attempt=file.attempt + 1)


def _key(file: FileToSubmit) -> str:
    """Names a recording by its sound and what is asked of it, so that neither a new name nor a new place matters."""
    with file.path.open("rb") as sound:
        digest = hashlib.file_digest(sound, "sha256").hexdigest()
    asked = f"{file.target.kind}:{file.target.name}:{file.longitudinal}:{file.diarize}:{file.attempt}:{file.group_id}"
    return hashlib.sha256(f"{digest}:{asked}".encode()).hexdigest()


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"The file cannot be read: {error.strerror or type(error).__name__}."
    return str(error)
