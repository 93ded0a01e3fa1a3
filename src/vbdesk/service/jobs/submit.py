"""Submission of one analyze request, from its form to its job."""

from contextlib import ExitStack
from dataclasses import replace

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from vbdesk.contract.errors import INVALID_UPLOAD_REF
from vbdesk.contract.idempotency import KEY_HEADER
from vbdesk.contract.jobs import Job
from vbdesk.service.http.account_form import account_form
from vbdesk.service.jobs.service import JobService, Submitted, digest_of
from vbdesk.service.jobs.submission import Submission, read_submission
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.errors import AudioTooLarge, InsufficientCredits, InvalidRequest, ServiceError
from vbdesk.service.observability.metrics import ACCEPTED
from vbdesk.service.observability.tracing import traced
from vbdesk.service.ports.audio_inspector import AudioFacts
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account
from vbdesk.service.storage.store import ObjectMissing


def idempotency_key(request: Request) -> str | None:
    """Return the request's idempotency key; an empty header counts as none."""
    return request.headers.get(KEY_HEADER, "").strip() or None


async def submit(request: Request, context: Context, account: Account, target: JobTarget) -> Job:
    """Receive the form and submit a job; a refused request leaves no data behind.

    Raises:
        ServiceError: the first error, checked in the order shape, size, credits, audio.
    """
    async with account_form(request, context, account) as form:
        submission = read_submission(form, account, target, idempotency_key=idempotency_key(request))
        return (await submit_form(context, submission)).job


async def submit_form(context: Context, submission: Submission) -> Submitted:
    """Submit a job from a form whose file is still on disk.

    Raises:
        ServiceError: the first error, checked in the order size, used name, credits, audio.
    """
    if submission.audio is not None and submission.audio.too_large:
        raise AudioTooLarge
    jobs = JobService(context)
    repeat = await run_in_threadpool(jobs.find_repeat, submission)
    if repeat is not None:
        return repeat
    await jobs.check_webhook(submission)
    try:
        upload_key = await run_in_threadpool(jobs.precheck, submission)
    except InsufficientCredits:
        repeat = await run_in_threadpool(jobs.find_repeat, submission)  # a submit of the same name may have spent them
        if repeat is None:
            raise
        return repeat
    audio, digest = await _inspect(context, submission, upload_key)
    known = replace(submission, recording_digest=digest)
    return await run_in_threadpool(jobs.accept, known, audio, upload_key)


async def _inspect(context: Context, submission: Submission, upload_key: str | None) -> tuple[AudioFacts, str | None]:
    """Inspect the recording and count the outcome; return its facts, and its digest if a repeat can be recognised."""
    metrics = context.metrics
    try:
        with metrics.inspection_seconds.time(), traced(context.tracing.tracer, "inspect"):
            seen = await _inspect_audio(context, submission, upload_key)
    except ServiceError as refusal:
        metrics.inspections.labels(refusal.code.value).inc()
        raise
    metrics.inspections.labels(ACCEPTED).inc()
    return seen


async def _inspect_audio(
    context: Context, submission: Submission, upload_key: str | None
) -> tuple[AudioFacts, str | None]:
    try:
        with ExitStack() as stack:
            if submission.audio is not None:
                recording = submission.audio.recording
            else:
                copy = context.storage.local_copy(str(upload_key))
                recording = await run_in_threadpool(stack.enter_context, copy)
            digest = submission.recording_digest
            if digest is None and submission.is_named:
                digest = await run_in_threadpool(digest_of, recording)
            return await context.inspector.inspect(recording, submission.account.account_id), digest
    except ObjectMissing:  # the upload has just expired
        raise InvalidRequest(INVALID_UPLOAD_REF) from None
