"""Submitting many files, each once: what was begun stands in a journal, and a second run goes on from there."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.audio import AudioSource
from vbdesk.client.client import Client
from vbdesk.client.errors import AudioRefused, Cancelled, ClientError, NotFound, UploadFailed, UploadRefInvalid
from vbdesk.client.journal import Entry, Journal
from vbdesk.client.lines import alone
from vbdesk.client.lost_answers import SEARCH_AFTER_S, job_in_group, may_have_been_taken, searched_span
from vbdesk.client.timekeeper import CancelFlag, SystemTimekeeper, Timekeeper
from vbdesk.client.uploads import Progress
from vbdesk.contract.limits import MAX_AUDIO_BYTES, MAX_RETRIES

_MOMENT = re.compile(  # in ranges, so that the number of a subject before it is not taken for a year
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])[T_ .-]*"
    r"([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(Z|[+-](?:0\d|1[0-4]):?(?:00|15|30|45))?(?!\d)"
)
_NO_FIT = frozenset({"EntityTooLarge", "EntityTooSmall"})


@dataclass(frozen=True, slots=True)
class FileToSubmit:
    """One recording in a file, and where it belongs.

    Attributes:
        recorded_at: when it was made; its place in the subject's history.
        target: model or sign to analyse it for.
        longitudinal: score it against the group's history.
        duration_s: its length where known; services that keep fewer digits of a time are searched by it too.
        attempt: 2 and more send a recording anew whose analysis failed or timed out.
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
        job_id: its job; None if it was refused.
        refusal: why, in one sentence for a person; None if it was taken.
        earlier: an earlier run had sent it already, or the same sound stands twice in this one.
    """

    file: FileToSubmit
    job_id: str | None
    refusal: str | None = None
    earlier: bool = False


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
    written before each step, so that a run which was broken off is simply begun again: nothing is sent twice, and where
    an answer was lost the group's jobs are searched before the recording is sent again. `recorded_at` is moved on by
    microseconds where another recording of the journal has it already.

    Args:
        client: speaks for the account.
        files: what to send; a generator will do.
        journal: a file, made if there is none; it holds group ids and digests, and neither names nor sound.
        progress: called with the bytes sent and all bytes of the file under way.
        cancel: set to stop.
        timekeeper: real time by default.

    Raises:
        ClientError: of the line as a whole: no connection, wrong key, no credits, unknown target. Begin again later.
        InUse, LinesDamaged, OSError: the journal cannot be used.
    """
    with alone(journal.with_name(f"{journal.name}.lock")):
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
        if entry is not None and (entry.job_id or entry.refusal):
            return Submitted(file, entry.job_id, entry.refusal, earlier=True)
        if source.size_bytes > MAX_AUDIO_BYTES:
            return Submitted(file, None, "The recording is larger than 32 MB. Save it as FLAC, or cut it.")
        entry = entry or self._journal.begin(key, file.group_id, file.recorded_at)
        try:
            entry = self._sent(file, source, entry)
        except (AudioRefused, UploadFailed) as error:
            if isinstance(error, UploadFailed) and error.code not in _NO_FIT:
                raise  # a fault of the storage, not of this recording
            entry = self._journal.write(replace(entry, asked=False, refusal=error.sentence))
        return Submitted(file, entry.job_id, entry.refusal)

    def _sent(self, file: FileToSubmit, source: AudioSource, entry: Entry) -> Entry:
        """Upload and submit until the service has taken the recording; each step is written down before the next."""
        attempts = 0
        while True:
            if entry.asked:
                entry = self._searched(file, entry)
            if entry.job_id is not None:
                return entry
            if entry.upload_ref is None:
                upload_ref = self._client.uploads.send(source, progress=self._progress, cancel=self._cancel)
                entry = self._journal.write(replace(entry, upload_ref=upload_ref))
            try:
                return self._submitted(file, entry)
            except ClientError as error:
                attempts += 1
                if may_have_been_taken(error):
                    entry = replace(entry, asked=True)
                elif isinstance(error, UploadRefInvalid):
                    entry = self._journal.write(replace(entry, upload_ref=None))
                else:
                    self._journal.write(entry)
                    raise
                if attempts > MAX_RETRIES:
                    raise

    def _submitted(self, file: FileToSubmit, entry: Entry) -> Entry:
        asked = self._journal.write(replace(entry, asked=True))
        job = self._client.analyze(
            file.target,
            entry.upload_ref or "",
            group_id=entry.group_id,
            longitudinal=file.longitudinal,
            recorded_at=entry.recorded_at,
            diarize=file.diarize,
            idempotency_key=entry.key,
            cancel=self._cancel,
        )
        return self._journal.write(replace(asked, asked=False, job_id=job.job_id))

    def _searched(self, file: FileToSubmit, entry: Entry) -> Entry:
        """Look for the job whose answer was lost; a request on its way when the line broke may still arrive."""
        asked = _Asked(file.target, entry.recorded_at, file.duration_s)
        from_, to = searched_span(asked)
        waited_s = 0.0
        for after_s in SEARCH_AFTER_S:
            self._time.sleep(after_s - waited_s, self._cancel)
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            waited_s = after_s
            try:
                jobs = list(self._client.groups.all_jobs(entry.group_id, from_=from_, to=to))
            except NotFound:
                jobs = []
            job_id = job_in_group(asked, jobs, self._journal.is_known_job)
            if job_id is not None:
                return self._journal.write(replace(entry, asked=False, job_id=job_id))
        return self._journal.write(replace(entry, asked=False))


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
