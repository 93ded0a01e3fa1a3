"""Submit many files, each exactly once: a journal records each step, and a second run continues."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.audio import AudioSource
from vbdesk.client.client import Client
from vbdesk.client.errors import (
    AudioRefused,
    Cancelled,
    ClientError,
    Conflict,
    UploadFailed,
    UploadRefInvalid,
)
from vbdesk.client.exactly_once import ExactlyOnce
from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.client.submission_journal import SubmissionEntry, SubmissionJournal
from vbdesk.client.submission_recovery import (
    SEARCH_AFTER_S,
    ProvenJob,
    UnprovenJob,
    may_have_been_accepted,
)
from vbdesk.client.uploads import Progress
from vbdesk.clock import CancelFlag, Clock, SystemClock
from vbdesk.contract.jobs import GroupJob, Job
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_AUDIO_BYTES, MAX_RETRIES
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import N_, joined, message, system_reason

_MOMENT = re.compile(  # limited ranges, so that a subject's number is not parsed as a year
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])[T_ .-]*"
    r"([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(Z|[+-](?:0\d|1[0-4]):?(?:00|15|30|45))?(?!\d)"
)
_OTHER_TIME = timedelta(seconds=1)  # services store fewer digits, and files get random microseconds
_NO_FIT = frozenset({"EntityTooLarge", "EntityTooSmall"})
_UNPROVEN = N_(
    "The service may have this recording: its answer was lost, and no job there is proved to be its own. "
    "Look at the jobs of the subject, or send it again at its price."
)
_KEY_USED = N_(
    "The service has the key of this recording for another one, so it was not sent. Send it again at its price."
)


@dataclass(frozen=True, slots=True)
class FileToSubmit:
    """One recording in a file, and its destination.

    Attributes:
        recorded_at: when it was made; its place in the subject's history. Without a fraction of a second it gets random
            microseconds, so that two recordings of one second differ.
        target: model or sign to analyse it for.
        longitudinal: whether to score it against the group's history.
        duration_s: its length if known; helps to find it at services that store fewer digits of a time.
        spoken: what is known about its language; sent only to a service that announces that it reads it.
        attempt: 2 and more send a recording again whose analysis failed or timed out, or whose outcome is unknown.
    """

    path: Path
    group_id: str
    recorded_at: datetime
    target: AnalysisTarget
    longitudinal: bool = False
    diarize: bool = False
    duration_s: float | None = None
    attempt: int = 1
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE


@dataclass(frozen=True, slots=True)
class SubmissionOutcome:
    """What happened to a file.

    Attributes:
        job_id: its job; None if it was refused, or is unknown.
        refusal: why, in sentences for a person; None if it was accepted.
        recorded_at: its capture time at the service, from the first time it was sent.
        unproven: the service may have it, but no job is proved to be its own. It is sent again only if a person raises
            `attempt` by one.
        earlier: an earlier run had sent it, or this run has the same sound twice.
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
    clock: Clock | None = None,
) -> Iterator[SubmissionOutcome]:
    """Send each file that is not in `journal`, one after the other, and yield the outcome of each.

    The journal identifies recordings by sound, group and target, not by file name. It belongs to one account. It is
    written before each step. After an interruption, just run it again: nothing is sent twice.
    When an answer was lost, a service that reads references gets the same request again. At another one the
    group's jobs are searched for the recording's capture time. If neither proves the outcome, it is `unproven`.
    `recorded_at` is increased by microseconds until no other recording of the journal has it.

    Args:
        client: client of the account.
        files: what to send; may be a generator.
        journal: a file, created if missing; it holds group ids and digests, but no names and no sound.
        progress: called with the bytes sent and all bytes of the current file.
        cancel: set to stop.
        clock: the system's if None.

    Raises:
        ClientError: an error that concerns all files: no connection, wrong key, no credits, unknown target. Run it
            again.
        InUse, JsonLinesDamaged, OSError: the journal cannot be used.
    """
    with exclusive_lock(journal.with_name(f"{journal.name}.lock")):
        sender = _Sender(
            client, SubmissionJournal(journal, client.account_id), progress, cancel, clock or SystemClock()
        )
        for file in files:
            yield sender.send(file)


def recorded_at_in_name(name: str, zone: tzinfo = UTC) -> datetime | None:
    """The moment in a file name, such as `ward4_2026-03-01_09-30-12.wav`; None if there is none.

    It needs date and time to the minute, with or without separators. `Z` or an offset may follow; without one the time
    is in `zone`.
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

    @classmethod
    def of(cls, file: FileToSubmit, entry: SubmissionEntry) -> "_Asked":
        return cls(file.target, entry.recorded_at, entry.time_is_unique, file.duration_s)


class _Sender:
    """Sends one file after the other."""

    def __init__(
        self,
        client: Client,
        journal: SubmissionJournal,
        progress: Progress | None,
        cancel: CancelFlag | None,
        clock: Clock,
    ) -> None:
        self._client = client
        self._journal = journal
        self._progress = progress
        self._cancel = cancel
        self._time = clock
        self._steps = ExactlyOnce(lambda _: nullcontext(client), journal.is_known_job, cancel=cancel)

    def send(self, file: FileToSubmit) -> SubmissionOutcome:
        try:
            source, sha256 = _read(file.path)
        except (ValueError, OSError) as error:
            return SubmissionOutcome(file, None, _text(error))
        return self._send(file, source, sha256)

    def _send(self, file: FileToSubmit, source: AudioSource, sha256: str) -> SubmissionOutcome:
        key = _key(file, sha256)
        entry = self._journal.get(key)
        if entry is not None and self._journal.get(_key(later := _next(file), sha256)) is not None:
            return self._send(later, source, sha256)  # a person has raised its attempt
        if entry is not None and (entry.job_id or entry.refusal):
            return _outcome(file, entry, earlier=True)
        entry = entry or self._journal.begin(key, file.group_id, file.recorded_at)
        try:
            entry = self._sent(file, source, entry)
        except (AudioRefused, UploadFailed) as error:
            if isinstance(error, UploadFailed) and error.code not in _NO_FIT:
                raise  # a fault of the storage, not of this recording
            entry = self._journal.write(replace(entry, asked=False, refusal=error.sentence))
        return _outcome(file, entry)

    def _sent(self, file: FileToSubmit, source: AudioSource, entry: SubmissionEntry) -> SubmissionEntry:
        """Upload and submit until the service has accepted the recording; the journal is written before each step."""
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
                entry = self._after(error, file, entry.key)
                if attempts > MAX_RETRIES and not entry.unproven:
                    raise

    def _submitted(self, file: FileToSubmit, entry: SubmissionEntry) -> SubmissionEntry:
        """Request the analysis."""
        if not entry.asked and self._client.server_time is None:
            self._client.account.credits()  # reads the service's time and announcement
        spoken = entry.spoken if entry.asked else file.spoken if self._client.reads_language else UNKNOWN_LANGUAGE

        def ask(client: Client) -> Job | GroupJob:
            return client.analyze(
                file.target,
                entry.upload_ref or "",
                group_id=entry.group_id,
                longitudinal=file.longitudinal,
                recorded_at=entry.recorded_at,
                diarize=file.diarize,
                client_ref=entry.key,
                after_faults=False,
                cancel=self._cancel,
                spoken=spoken,
            )

        record = _JournalRecord(self._journal, entry, self._client, spoken)
        self._steps.request(record, entry.group_id, ask)
        return record.entry

    def _after(self, error: ClientError, file: FileToSubmit, key: str) -> SubmissionEntry:
        """What is known of a recording after a failed submit; raises an error that concerns all recordings."""
        entry = self._journal.entry(key)
        if isinstance(error, Conflict):
            return self._found_after_conflict(file, entry)
        if isinstance(error, UploadRefInvalid):
            return self._journal.write(replace(entry, upload_ref=None))
        if may_have_been_accepted(error):
            return entry
        raise error

    def _found_after_conflict(self, file: FileToSubmit, entry: SubmissionEntry) -> SubmissionEntry:
        """Search for the job of a reference that is used; otherwise a person decides."""
        found = self._steps.find_in_group(_Asked.of(file, entry), entry.group_id, None)
        if isinstance(found, ProvenJob):
            return self._journal.write(replace(entry, asked=False, job_id=found.job_id))
        return self._journal.write(replace(entry, unproven=True, refusal=_KEY_USED))

    def _recovered(
        self, file: FileToSubmit, source: AudioSource, entry: SubmissionEntry, attempts: int
    ) -> SubmissionEntry:
        """Find out whether the service has a recording whose answer was lost; `entry` itself means repeat."""
        self._client.account.credits()  # reads the service's time
        if entry.named and self._client.reads_client_ref:
            if attempts:
                self._time.sleep(FIRST_RETRY_DELAY_S * 2.0 ** (attempts - 1), self._cancel)
            return entry
        asked = _Asked.of(file, entry)
        found: ProvenJob | UnprovenJob | None = None
        waited_s = 0.0
        for after_s in SEARCH_AFTER_S:  # an interrupted request may still arrive
            self._time.sleep(after_s - waited_s, self._cancel)
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            waited_s = after_s
            found = self._steps.find_in_group(asked, entry.group_id, entry.asked_service_at)
            if isinstance(found, ProvenJob):
                return self._journal.write(replace(entry, asked=False, job_id=found.job_id))
        if found is not None or (
            entry.asked_service_at is not None
            and self._steps.may_have_left_group(asked, source.size_bytes, entry.asked_service_at)
        ):
            return self._journal.write(replace(entry, unproven=True, refusal=_UNPROVEN))
        return self._journal.write(replace(entry, asked=False))


class _JournalRecord:
    """The entry of one recording, as the shared steps change it."""

    def __init__(
        self, journal: SubmissionJournal, entry: SubmissionEntry, client: Client, spoken: SpokenLanguage
    ) -> None:
        self._journal = journal
        self._client = client
        self._spoken = spoken
        self.entry = entry

    @property
    def asked_before(self) -> bool:
        return self.entry.asked

    def mark_asked(self) -> bool:
        """The note of the first request stays, since the service may have its reference."""
        if not self.entry.asked:
            now, named = self._client.server_time, bool(self._client.reads_client_ref)
            self._change(asked=True, asked_service_at=now, named=named, spoken=self._spoken)
        return True

    def mark_not_accepted(self) -> None:
        self._change(asked=False)

    def mark_lost(self, *, may_still_arrive: bool) -> None:
        """The journal holds it as asked already."""

    def mark_accepted(self, job: Job | GroupJob) -> None:
        at = job.recorded_at if isinstance(job, GroupJob) else None
        if at is None or abs(at - self.entry.recorded_at) < _OTHER_TIME:
            at = self.entry.recorded_at  # else an earlier run used the key
        self._change(asked=False, job_id=job.job_id, recorded_at=at)

    def _change(self, **values: Any) -> None:
        self.entry = self._journal.write(replace(self.entry, **values))


def _outcome(file: FileToSubmit, entry: SubmissionEntry, *, earlier: bool = False) -> SubmissionOutcome:
    return SubmissionOutcome(file, entry.job_id, entry.refusal, earlier, entry.unproven, entry.recorded_at)


def _next(file: FileToSubmit) -> FileToSubmit:
    return replace(file, attempt=file.attempt + 1)


def _read(path: Path) -> tuple[AudioSource, str]:
    """The recording and its SHA-256. It is read once: the file may be replaced before the bytes are sent."""
    file = AudioSource.from_path(path)
    with file.open() as sound:
        content = sound.read(MAX_AUDIO_BYTES + 1)
    if len(content) > MAX_AUDIO_BYTES:
        raise ValueError(message("The recording is larger than 32 MB. Save it as FLAC, or cut it."))
    return AudioSource.from_bytes(content, file.content_type, file.filename), hashlib.sha256(content).hexdigest()


def _key(file: FileToSubmit, digest: str) -> str:
    """Identifies a recording by its sound and what is requested, independent of its name and folder."""
    asked = f"{file.target.kind}:{file.target.name}:{file.longitudinal}:{file.diarize}:{file.attempt}:{file.group_id}"
    return hashlib.sha256(f"{digest}:{asked}".encode()).hexdigest()


def _text(error: Exception) -> str:
    if isinstance(error, OSError):
        return message("The file cannot be read: {cause}.", cause=system_reason(error))
    return joined(error)
