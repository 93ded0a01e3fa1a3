"""Job rules: what may be submitted, its price, and how it is read."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import DBAPIError, IntegrityError

from vbdesk.contract.errors import INVALID_UPLOAD_REF
from vbdesk.contract.idempotency import RETENTION_S
from vbdesk.contract.ids import new_id
from vbdesk.contract.jobs import Job, JobList, JobListItem, JobStatus
from vbdesk.service.accounts.service import require_active
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.encryption.recording_files import StoredRecording
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.admission import next_tag
from vbdesk.service.jobs.submission import Submission
from vbdesk.service.jobs.view import as_submitted, shown_status
from vbdesk.service.kernel.address_guard import AddressNotAllowed
from vbdesk.service.kernel.db.events import JobAccepted, publish
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.errors import Conflict, InsufficientCredits, InvalidRequest, NotFound, ServiceError
from vbdesk.service.kernel.paging import PagePosition
from vbdesk.service.kernel.secret_box import CLIENT_REF_KEY, WEBHOOK_SECRET
from vbdesk.service.observability.tracing import trace_parent
from vbdesk.service.ports.audio_inspector import AudioFacts
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account
from vbdesk.service.storage.store import ObjectMissing, StoreUnavailable
from vbdesk.service.storage.withdrawal import owe_removal
from vbdesk.service.uploads import repository as uploads
from vbdesk.service.uploads.service import UploadService

IDEMPOTENCY_WINDOW = timedelta(seconds=RETENTION_S)
MAX_IDEMPOTENCY_KEY_LENGTH = 255
AUDIO_FOLDER = "audio"
_KEY_USED = "This Idempotency-Key was used for another request within 24 hours. Send a new key for every new request."
_CLIENT_REF_USED = (
    "This client_ref is that of another submission, or its job was erased. Send a new one for a new submission."
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """Response data of a submit: the job as stored then, and the given capture time."""

    job: Job
    recorded_at: datetime | None


class JobService:
    """Jobs of an account."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._clock = context.clock
        self._credits = CreditsService(context.clock)

    def list_jobs(self, connection: Connection, account: Account, page_number: int) -> JobList:
        """List one page, newest first."""
        page = PagePosition(
            page_number, self._context.settings.page_size, repository.count(connection, account.account_id)
        )
        rows = repository.list_page(connection, account.account_id, page)
        jobs = [JobListItem(job_id=row.job_id, status=shown_status(row), created_at=row.created_at) for row in rows]
        return JobList(jobs=jobs, page=page.number, total_pages=page.total_pages)

    def find_repeat(self, submission: Submission) -> Submitted | None:
        """Return the response of the first submit with the same reference, or with the same key within a day, if any.

        Raises:
            InvalidRequest: the key is too long, or the upload reference does not resolve.
            Conflict: the first submit was another request, or its job was erased.
        """
        account_id, key = submission.account.account_id, submission.idempotency_key
        if not submission.is_named:
            return None
        if key is not None and len(key) > MAX_IDEMPOTENCY_KEY_LENGTH:
            raise InvalidRequest(f"The idempotency key has more than {MAX_IDEMPOTENCY_KEY_LENGTH} characters.")
        with self._context.database.reading() as connection:
            named = self._find_by_client_ref(connection, submission)
            keyed = None
            if key is not None:
                since = self._clock.now() - IDEMPOTENCY_WINDOW
                keyed = repository.find_by_idempotency_key(connection, account_id, key, since)
        first = keyed if named is None else named
        if first is None:
            return None
        if named is None and submission.client_ref is not None:  # the key was used without this reference
            raise Conflict(_KEY_USED)
        if (keyed is not None and keyed.job_id != first.job_id) or not self._is_repeat(submission, first):
            raise Conflict(_KEY_USED if named is None else _CLIENT_REF_USED)
        return Submitted(as_submitted(first), first.recorded_as)

    def _find_by_client_ref(self, connection: Connection, submission: Submission) -> Row[Any] | None:
        account_id, ref = submission.account.account_id, submission.client_ref
        sealed = None if ref is None else repository.find_client_ref_key(connection, account_id)
        if ref is None or sealed is None:
            return None
        return repository.find_by_client_ref(connection, account_id, self._ref_digest(ref, sealed))

    def _ref_digest(self, ref: str, sealed: bytes) -> str:
        key = self._context.secrets.unseal(sealed, CLIENT_REF_KEY)
        return hmac.digest(key.encode(), ref.encode(), "sha256").hex()

    def _is_repeat(self, submission: Submission, first: Row[Any]) -> bool:
        """Return whether a submit asks for the same as the first one of its name. False if that job was erased."""
        asked = (submission.request, submission.recorded_at, submission.webhook_url)
        if first.job_id is None or asked != (first.request, first.recorded_as, first.webhook_url):
            return False
        if first.recording_digest is None or (first.upload_ref and first.upload_ref == submission.upload_ref):
            return True
        return hmac.compare_digest(first.recording_digest, self._digest_of(submission))

    def _digest_of(self, submission: Submission) -> str:
        """Return the recording's digest. The upload reference is not part of it: a repeat may upload again."""
        if submission.recording_digest is not None:
            return submission.recording_digest
        if submission.audio is not None:
            return digest_of(submission.audio.recording)
        upload = UploadService.of(self._context).resolve(submission.account, submission.upload_ref or "")
        try:
            with self._context.storage.local_copy(upload.key) as copy:
                return digest_of(copy)
        except ObjectMissing:
            raise InvalidRequest(INVALID_UPLOAD_REF) from None

    async def check_webhook(self, submission: Submission) -> None:
        """Check the address of the job's own webhook, which may ask the network. Raises InvalidRequest."""
        webhook = submission.webhook
        if webhook is None:
            return
        try:
            await self._context.guard.check_url(webhook.url, submission.account.account_id)
        except AddressNotAllowed as refusal:
            raise InvalidRequest(str(refusal)) from None

    def precheck(self, submission: Submission) -> str | None:
        """Run all checks that do not read the audio; return the storage key of an uploaded recording.

        Raises:
            InvalidRequest: the upload reference does not resolve.
            AudioTooLarge: the upload is larger than its address allowed.
            InsufficientCredits: the balance does not cover it.
        """
        context, account, upload_ref = self._context, submission.account, submission.upload_ref
        upload = None if upload_ref is None else UploadService.of(context).resolve(account, upload_ref)
        with context.database.reading() as connection:
            if self._credits.balance(connection, account.account_id) < self._cost(submission):
                raise InsufficientCredits
        return None if upload is None else upload.key

    def accept(self, submission: Submission, audio: AudioFacts, upload_key: str | None) -> Submitted:
        """Store the job, reserve its price and enqueue it in one transaction; the audio is stored first.

        Raises:
            InsufficientCredits: the balance was spent in the meantime.
            InvalidRequest: the upload was removed in the meantime.
            Conflict: another request with the same reference or idempotency key was stored in the meantime.
        """
        job_id = new_id()
        audio_key = self._store_audio(submission, job_id, upload_key)

        def store(connection: Connection) -> Row[Any]:
            self._store(connection, submission, audio, job_id, audio_key)
            return require(connection, submission.account, job_id)

        try:
            row = self._context.database.write(store)
        except IntegrityError:
            self._discard(audio_key)
            repeat = self.find_repeat(submission)  # a concurrent submit with the same name was faster
            if repeat is None:
                raise
            return repeat
        except ServiceError:
            self._discard(audio_key)
            raise
        except DBAPIError as error:
            if is_disk_full(error) and not self._is_stored(job_id):
                self._discard(audio_key)
            raise
        return Submitted(as_submitted(row), submission.recorded_at)

    def _discard(self, audio_key: str) -> None:
        """Delete audio without a job, or schedule that without quarantine: its account may have been erased.

        If it is unclear whether the commit succeeded, the audio stays and a later sweep removes it.
        """
        try:
            self._context.storage.delete(audio_key)
        except (StoreUnavailable, OSError):
            with self._context.database.writing() as connection:
                owe_removal(connection, [audio_key], self._clock.now())

    def _is_stored(self, job_id: str) -> bool:
        with self._context.database.reading() as connection:
            return repository.find(connection, job_id) is not None

    def _store_audio(self, submission: Submission, job_id: str, upload_key: str | None) -> str:
        audio_key = f"{AUDIO_FOLDER}/{job_id}"
        if submission.audio is not None:
            try:
                self._context.storage.adopt(audio_key, submission.audio.recording.path)
            except OSError:  # it may have its name already
                self._discard(audio_key)
                raise
        elif upload_key is not None:
            try:
                self._context.storage.link(upload_key, audio_key)
            except ObjectMissing:
                raise InvalidRequest(INVALID_UPLOAD_REF) from None
        return audio_key

    def _store(
        self, connection: Connection, submission: Submission, audio: AudioFacts, job_id: str, audio_key: str
    ) -> None:
        account, webhook = submission.account, submission.webhook
        now = self._clock.now()
        require_active(connection, account.account_id)
        if submission.upload_ref is not None:
            uploads.settle(connection, {submission.upload_ref: 0})
        self._remember(connection, submission, job_id, now)  # before the credits: a repeat at the same time waits here
        group, group_key = submission.group, None
        if group is not None:  # before the credits: the end of a job takes locks in the same order
            group_key = group.ensure(connection)
        self._credits.hold(connection, account.account_id, self._cost(submission), job_id)
        queue_tag = next_tag(connection, account.account_id, audio.duration_s, diarize=submission.diarize)
        repository.insert(
            connection,
            job_id=job_id,
            account_id=account.account_id,
            status=JobStatus.QUEUED.value,
            created_at=now,
            recorded_at=submission.recorded_at or now,
            api_version=submission.api_version,
            **submission.target.columns,
            diarize=submission.diarize,
            spoken=submission.spoken.json,
            audio_key=audio_key,
            upload_ref=submission.upload_ref,
            audio_content_type=audio.content_type,
            audio_size_bytes=audio.size_bytes,
            audio_duration_seconds=audio.duration_s,
            audio_sample_rate=audio.sample_rate,
            history_key=group_key if group is not None and group.longitudinal else None,
            queue_tag=queue_tag,
            trace_parent=trace_parent(),
            webhook_url=webhook and webhook.url,
            webhook_secret=webhook and self._context.secrets.seal(webhook.secret_key, WEBHOOK_SECRET),
        )
        if group is not None and group_key is not None:
            group.register(connection, group_key, job_id)
        self._context.queue.enqueue(connection, job_id, queue_tag)
        publish(connection, JobAccepted())

    def _remember(self, connection: Connection, submission: Submission, job_id: str, now: datetime) -> None:
        """Store the names of a submit. Raises IntegrityError when another submit has one of them."""
        account_id, ref, key = submission.account.account_id, submission.client_ref, submission.idempotency_key
        first = {
            "account_id": account_id,
            "job_id": job_id,
            "request": submission.request,
            "recorded_at": submission.recorded_at,
            "recording_digest": submission.recording_digest,
        }
        if ref is not None:
            sealed = repository.find_client_ref_key(connection, account_id)
            if sealed is None:
                new = self._context.secrets.seal(secrets.token_hex(32), CLIENT_REF_KEY)
                repository.store_client_ref_key(connection, account_id, new)
                sealed = repository.find_client_ref_key(connection, account_id) or new
            repository.remember_client_ref(connection, ref_digest=self._ref_digest(ref, sealed), **first)
        if key is not None:
            repository.forget_idempotency_keys(connection, now - IDEMPOTENCY_WINDOW)
            repository.remember_idempotency_key(connection, idempotency_key=key, created_at=now, **first)

    def _cost(self, submission: Submission) -> int:
        costs = self._context.settings.token_costs
        return costs.of(submission.target.sign_count, diarize=submission.diarize)


def digest_of(recording: StoredRecording) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises OSError."""
    with recording.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require(connection: Connection, account: Account, job_id: str) -> Row[Any]:
    """Return the stored job. Raises NotFound, also for a job of another account."""
    row = repository.find(connection, job_id, account.account_id)
    if row is None:
        raise NotFound("There is no job with this id.")
    return row
