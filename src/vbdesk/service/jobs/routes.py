"""Job routes: analyze, list, and the read that clients poll."""

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.jobs import Job, JobList, JobType
from vbdesk.contract.limits import Bucket
from vbdesk.service.catalog.service import known_model, known_sign
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.openapi_parts import AUDIO_REFUSALS, analyze_form, refusals
from vbdesk.service.jobs.service import JobService, require
from vbdesk.service.jobs.submit import submit
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.jobs.view import job_json
from vbdesk.service.kernel.paging import PageNumber
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account


def name_is_known(request: Request, _connection: Connection, _account: Account) -> None:
    """Check that the service offers the model or sign in the path. Raises NotFound."""
    if "model_name" in request.path_params:
        known_model(request.path_params["model_name"])
    else:
        context: Context = request.app.state.context
        known_sign(request.path_params["sign_name"], context.plugin_signs)


def _encode_job(request: Request, connection: Connection, account: Account) -> None:
    """Find and encode the job in the guard's transaction, because callers poll."""
    request.state.job = job_json(require(connection, account, request.path_params["job_id"]))


_ALONE: dict[str, Any] = {"openapi_extra": analyze_form(client_ref=True), "responses": refusals(*AUDIO_REFUSALS)}

ANALYZE = guard(Bucket.ANALYZE, check=name_is_known)
analyze_router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))
GENERAL = guard(Bucket.GENERAL)
list_router = APIRouter()
POLLING = guard(Bucket.POLLING, check=_encode_job)
polling_router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))
ROUTERS: tuple[APIRouter, ...] = (polling_router, analyze_router, list_router)


@analyze_router.post("/v2/models/{model_name}/analyze", **_ALONE, dependencies=ANALYZE)
async def analyze_model(model_name: str, request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for a model's signs."""
    return await submit(request, context, account, JobTarget.of(JobType.MODEL, model_name))


@analyze_router.post("/v2/signs/{sign_name}/analyze", **_ALONE, dependencies=ANALYZE)
async def analyze_sign(sign_name: str, request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for one sign."""
    return await submit(request, context, account, JobTarget.of(JobType.SIGN, sign_name))


@list_router.get("/v2/jobs", dependencies=GENERAL)
def list_jobs(account: CurrentAccount, context: CurrentContext, page: PageNumber = 0) -> JobList:
    """One page of the account's jobs, newest first."""
    with context.database.reading() as connection:
        return JobService(context).list_jobs(connection, account, page)


@polling_router.get("/v2/jobs/{job_id}", response_model=Job, dependencies=POLLING)
async def read_job(job_id: str, request: Request) -> Response:
    """One job, with its result once it is done."""
    return Response(request.state.job, media_type="application/json")
