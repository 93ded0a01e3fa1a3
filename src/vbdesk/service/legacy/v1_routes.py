"""v1 routes: four ways to submit per condition, jobs, and the account."""

import hashlib
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection, Row
from starlette.concurrency import run_in_threadpool

from vbdesk.contract.catalog import V1_USE_CASES
from vbdesk.contract.errors import ErrorCode, ErrorDetail
from vbdesk.contract.jobs import JobList, JobStatus
from vbdesk.contract.legacy import V1_DIARIZED, V1AudioUrl, V1Job, V1Submitted, v1_status
from vbdesk.contract.limits import Bucket
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.credits.routes import read_credits
from vbdesk.service.http.account_form import account_form, taking_bytes
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.json_body import json_body
from vbdesk.service.http.openapi_parts import AUDIO, AUDIO_REFUSALS, SPOKEN_LANGUAGE, form, refusals
from vbdesk.service.jobs.service import JobService, require
from vbdesk.service.jobs.submission import Submission, spoken_language
from vbdesk.service.jobs.submit import idempotency_key, submit_form
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.jobs.view import result_in_earlier_form, with_result
from vbdesk.service.kernel.errors import ValidationFailed
from vbdesk.service.kernel.paging import PageNumber
from vbdesk.service.legacy.audio_fetch import AudioFetcher
from vbdesk.service.legacy.targets import v1_condition_in_path
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account, Credential
from vbdesk.service.webhooks.routes import configure_webhook


def _condition_is_known(request: Request, _connection: Connection, _account: Account) -> None:
    v1_condition_in_path(request.path_params["condition"])


V1_GENERAL = guard(Bucket.GENERAL, Credential.SECRET_KEY)
router = APIRouter()
ANALYZE = guard(Bucket.ANALYZE, Credential.SECRET_KEY, check=_condition_is_known)
analyze_router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))
ROUTERS: tuple[APIRouter, ...] = (router, analyze_router)

_FORM: dict[str, Any] = {
    "openapi_extra": form({"audio": AUDIO, **SPOKEN_LANGUAGE}, ["audio"]),
    "responses": refusals(*AUDIO_REFUSALS),
}
_URL: dict[str, Any] = {"responses": refusals(*AUDIO_REFUSALS)}

router.get("/api/v1/account/credits", dependencies=V1_GENERAL)(read_credits)
router.post("/api/v1/account/webhook", responses=refusals(ErrorCode.INVALID_REQUEST), dependencies=V1_GENERAL)(
    configure_webhook
)


@router.get("/api/v1/account/jobs", dependencies=V1_GENERAL)
def list_jobs(account: CurrentAccount, context: CurrentContext, page: PageNumber = 0) -> JobList:
    """One page of the account's jobs, newest first, whichever version they came by."""
    with context.database.reading() as connection:
        return v1_job_list(JobService(context).list_jobs(connection, account, page))


@router.get(
    "/api/v1/account/jobs/{job_id}",
    response_model=V1Job,
    responses=refusals(ErrorCode.NOT_FOUND),
    dependencies=V1_GENERAL,
)
def read_job(job_id: UUID, account: CurrentAccount, context: CurrentContext) -> Response:
    """One job; an id that is not a UUID is 422, an unknown one 404."""
    with context.database.reading() as connection:
        row = require(connection, account, str(job_id))
    return Response(v1_job_json(row), media_type="application/json")


@analyze_router.post("/api/v1/{condition}/analyze-audio", **_FORM, dependencies=ANALYZE)
async def analyze_audio(
    condition: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> V1Submitted:
    """Analyse a recording."""
    return await _submit_audio(request, context, account, condition, diarize=False)


@analyze_router.post("/api/v1/{condition}/analyze-audio-url", **_URL, dependencies=ANALYZE)
async def analyze_audio_url(
    condition: str,
    body: Annotated[V1AudioUrl, json_body(V1AudioUrl)],
    request: Request,
    account: CurrentAccount,
    context: CurrentContext,
) -> V1Submitted:
    """Analyse the recording at a public HTTPS address."""
    return await _submit_audio_url(request, context, account, condition, body, diarize=False)


@analyze_router.post("/api/v1/{condition}/analyze-and-diarize-audio", **_FORM, dependencies=ANALYZE)
async def analyze_and_diarize_audio(
    condition: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> V1Submitted:
    """Analyse each speaker of a recording."""
    return await _submit_audio(request, context, account, condition, diarize=True)


@analyze_router.post("/api/v1/{condition}/analyze-and-diarize-audio-url", **_URL, dependencies=ANALYZE)
async def analyze_and_diarize_audio_url(
    condition: str,
    body: Annotated[V1AudioUrl, json_body(V1AudioUrl)],
    request: Request,
    account: CurrentAccount,
    context: CurrentContext,
) -> V1Submitted:
    """Analyse each speaker of the recording at a public HTTPS address."""
    return await _submit_audio_url(request, context, account, condition, body, diarize=True)


async def _submit_audio(
    request: Request, context: Context, account: Account, condition: str, *, diarize: bool
) -> V1Submitted:
    async with account_form(request, context, account) as received:
        if received.audio is None:
            raise ValidationFailed([ErrorDetail(loc=["body", "audio"], msg="Send the recording.", type="missing")])
        submission = _submission(request, account, condition, diarize=diarize)
        spoken = spoken_language(received.fields)
        return await _submit(context, replace(submission, audio=received.audio, spoken=spoken))


async def _submit_audio_url(
    request: Request, context: Context, account: Account, condition: str, body: V1AudioUrl, *, diarize: bool
) -> V1Submitted:
    """Submit by URL. Fetch nothing for a repeated call or an account that cannot pay."""
    url, spoken = str(body.url), SpokenLanguage(body.language, body.second_language)
    plain_http = context.settings.allow_private_addresses
    fetcher = AudioFetcher(context.guard, account.account_id, allow_plain_http=plain_http)
    await fetcher.check(url)
    submission = _submission(request, account, condition, diarize=diarize)
    digest = hashlib.sha256(url.encode()).hexdigest()
    submission = replace(submission, recording_digest=digest, spoken=spoken)
    jobs = JobService(context)
    repeat = await run_in_threadpool(jobs.find_repeat, submission)
    if repeat is not None:
        return V1Submitted(job_id=repeat.job.job_id)
    await run_in_threadpool(jobs.precheck, submission)
    with taking_bytes(context, account) as take:
        async with fetcher.fetch(url, context.storage.files, take) as audio:
            return await _submit(context, replace(submission, audio=audio))


def _submission(request: Request, account: Account, condition: str, *, diarize: bool) -> Submission:
    """Build the submission, without its audio."""
    return Submission(
        account,
        v1_condition_in_path(condition),
        diarize=diarize,
        idempotency_key=idempotency_key(request),
        api_version=V1,
    )


async def _submit(context: Context, submission: Submission) -> V1Submitted:
    return V1Submitted(job_id=(await submit_form(context, submission)).job.job_id)


V1 = "v1"
"""`api_version` of jobs submitted through v1."""

_CONDITIONS = {use_case: condition for condition, use_case in V1_USE_CASES.items()}


def v1_job_json(row: Row[Any]) -> bytes:
    """Encode the v1 job object with its result."""
    job = V1Job(
        job_id=row.job_id,
        status=v1_status(JobStatus(row.status)),
        created_at=row.created_at,
        completed_at=row.completed_at,
        result=None,
        audio_content_type=row.audio_content_type,
        audio_size_bytes=row.audio_size_bytes,
        audio_duration_seconds=row.audio_duration_seconds,
        pipeline_type=_pipeline_type(row),
    )
    return with_result(job, result_in_earlier_form(row))


def v1_job_list(jobs: JobList) -> JobList:
    """Encode the page with v1 state names."""
    items = [item.model_copy(update={"status": v1_status(item.status)}) for item in jobs.jobs]
    return jobs.model_copy(update={"jobs": items})


def _pipeline_type(row: Row[Any]) -> str:
    name = JobTarget.of_row(row).name
    if row.api_version == V1:
        name = _CONDITIONS[name]
    return f"{name}{V1_DIARIZED}" if row.diarize else name
