"""Analyze routes that register the job into a group."""

from typing import Any

from fastapi import APIRouter, Request

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.jobs import GroupJob, JobType
from vbdesk.contract.limits import Bucket
from vbdesk.service.groups.membership import submit_to_group
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.openapi_parts import AUDIO_REFUSALS, analyze_form, refusals
from vbdesk.service.jobs.routes import name_is_known
from vbdesk.service.jobs.target import JobTarget

_IN_GROUP: dict[str, Any] = {
    "openapi_extra": analyze_form(recorded_at=True, client_ref=True),
    "responses": refusals(*AUDIO_REFUSALS),
}

ANALYZE = guard(Bucket.ANALYZE, check=name_is_known)
router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))


@router.post("/v2/models/{model_name}/groups/{group_id}/analyze", **_IN_GROUP, dependencies=ANALYZE)
async def analyze_model_in_group(
    model_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a model and register it into a group; scored alone."""
    target = JobTarget.of(JobType.MODEL, model_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


@router.post("/v2/signs/{sign_name}/groups/{group_id}/analyze", **_IN_GROUP, dependencies=ANALYZE)
async def analyze_sign_in_group(
    sign_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for one sign and register it into a group; scored alone."""
    target = JobTarget.of(JobType.SIGN, sign_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


@router.post("/v2/models/{model_name}/groups/{group_id}/analyze/longitudinal", **_IN_GROUP, dependencies=ANALYZE)
async def analyze_model_longitudinally(
    model_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a model against the group's history."""
    target = JobTarget.of(JobType.MODEL, model_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=True)


@router.post("/v2/signs/{sign_name}/groups/{group_id}/analyze/longitudinal", **_IN_GROUP, dependencies=ANALYZE)
async def analyze_sign_longitudinally(
    sign_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for one sign against the group's history."""
    target = JobTarget.of(JobType.SIGN, sign_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=True)
