"""Jobs over HTTP: analyze routes, the list, and the read that clients poll."""

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection

from vbdesk.contract.jobs import GroupJob, Job, JobList, JobType
from vbdesk.contract.limits import Bucket
from vbdesk.service.accounts.service import Account
from vbdesk.service.catalog.service import known_model, known_sign
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guarded_router
from vbdesk.service.http.openapi_parts import AUDIO_REFUSALS, analyze_form, refusals
from vbdesk.service.jobs.service import JobService, require
from vbdesk.service.jobs.submit import submit, submit_to_group
from vbdesk.service.jobs.target import Target
from vbdesk.service.jobs.view import job_json
from vbdesk.service.kernel.paging import PageNumber
from vbdesk.service.ports.context import Context


def _name_is_known(request: Request, _connection: Connection, _account: Account) -> None:
    if "model_name" in request.path_params:
        known_model(request.path_params["model_name"])
    else:
        context: Context = request.app.state.context
        known_sign(request.path_params["sign_name"], context.plugin_signs)


def _answer_job(request: Request, connection: Connection, account: Account) -> Response:
    """The job in whatever state; its stored result goes out as it is."""
    job = require(connection, account, request.path_params["job_id"])
    return Response(job_json(job), media_type="application/json")


_ALONE: dict[str, Any] = {"openapi_extra": analyze_form(), "responses": refusals(*AUDIO_REFUSALS)}
_IN_GROUP = {**_ALONE, "openapi_extra": analyze_form(recorded_at=True)}

analyze_router = guarded_router(Bucket.ANALYZE, check=_name_is_known)
list_router = guarded_router(Bucket.GENERAL)
polling_router = guarded_router(Bucket.POLLING, answer=_answer_job)
ROUTERS: tuple[APIRouter, ...] = (polling_router, analyze_router, list_router)


@analyze_router.post("/v2/models/{model_name}/analyze", **_ALONE)
async def analyze_model(model_name: str, request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for a model's signs."""
    return await submit(request, context, account, Target.of(JobType.MODEL, model_name))


@analyze_router.post("/v2/signs/{sign_name}/analyze", **_ALONE)
async def analyze_sign(sign_name: str, request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for one sign."""
    return await submit(request, context, account, Target.of(JobType.SIGN, sign_name))


@analyze_router.post("/v2/models/{model_name}/groups/{group_id}/analyze", **_IN_GROUP)
async def analyze_model_in_group(
    model_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a model and register it into a group; scored alone."""
    target = Target.of(JobType.MODEL, model_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


@analyze_router.post("/v2/signs/{sign_name}/groups/{group_id}/analyze", **_IN_GROUP)
async def analyze_sign_in_group(
    sign_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for one sign and register it into a group; scored alone."""
    target = Target.of(JobType.SIGN, sign_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


@analyze_router.post("/v2/models/{model_name}/groups/{group_id}/analyze/longitudinal", **_IN_GROUP)
async def analyze_model_longitudinally(
    model_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a model against the group's history."""
    target = Target.of(JobType.MODEL, model_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=True)


@analyze_router.post("/v2/signs/{sign_name}/groups/{group_id}/analyze/longitudinal", **_IN_GROUP)
async def analyze_sign_longitudinally(
    sign_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for one sign against the group's history."""
    target = Target.of(JobType.SIGN, sign_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=True)


@list_router.get("/v2/jobs")
def list_jobs(account: CurrentAccount, context: CurrentContext, page: PageNumber = 0) -> JobList:
    """One page of the account's jobs, newest first."""
    with context.database.reading() as connection:
        return JobService(context).list_jobs(connection, account, page)


@polling_router.get("/v2/jobs/{job_id}", response_model=Job)
def read_job(job_id: str) -> None:
    """One job in whatever state."""  # answered by `_answer_job`
