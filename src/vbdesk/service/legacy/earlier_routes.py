"""Routes of the earlier v2 form: the use case or condition is in the form, or in a group route's path."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from sqlalchemy import Connection

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.jobs import GroupJob, Job
from vbdesk.contract.limits import Bucket
from vbdesk.service.groups.membership import submit_to_group
from vbdesk.service.http.account_form import account_form
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.multipart import Form
from vbdesk.service.http.openapi_parts import AUDIO_REFUSALS, analyze_form, refusals
from vbdesk.service.jobs.submission import read_submission
from vbdesk.service.jobs.submit import idempotency_key, submit_form
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.legacy.targets import condition_in_form, condition_in_path, use_case_in_form, use_case_in_path
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account


def _name_is_known(request: Request, _connection: Connection, _account: Account) -> None:
    if "use_case_name" in request.path_params:
        use_case_in_path(request.path_params["use_case_name"])
    else:
        condition_in_path(request.path_params["condition_name"])


ANALYZE = guard(Bucket.ANALYZE)
router = APIRouter()
ANALYZE_NAMED = guard(Bucket.ANALYZE, check=_name_is_known)
group_router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))
ROUTERS: tuple[APIRouter, ...] = (router, group_router)


@router.post(
    "/v2/use-case/analyze",
    openapi_extra=analyze_form(target="use_case"),
    responses=refusals(ErrorCode.INVALID_USE_CASE, *AUDIO_REFUSALS),
    dependencies=ANALYZE,
)
async def analyze_use_case(request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for the signs of a use case; an unknown `use_case` is 400 `INVALID_USE_CASE`."""
    return await _submit(request, context, account, use_case_in_form)


@router.post(
    "/v2/condition/analyze",
    openapi_extra=analyze_form(target="condition"),
    responses=refusals(*AUDIO_REFUSALS),
    dependencies=ANALYZE,
)
async def analyze_condition(request: Request, account: CurrentAccount, context: CurrentContext) -> Job:
    """Analyse a recording for one condition; an unknown `condition` is 400 `INVALID_REQUEST`."""
    return await _submit(request, context, account, condition_in_form)


@group_router.post(
    "/v2/use-cases/{use_case_name}/groups/{group_id}/analyze",
    openapi_extra=analyze_form(recorded_at=True),
    responses=refusals(*AUDIO_REFUSALS),
    dependencies=ANALYZE_NAMED,
)
async def analyze_use_case_in_group(
    use_case_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a use case and register it into a group; scored alone."""
    target = use_case_in_path(use_case_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


@group_router.post(
    "/v2/conditions/{condition_name}/groups/{group_id}/analyze",
    openapi_extra=analyze_form(recorded_at=True),
    responses=refusals(*AUDIO_REFUSALS),
    dependencies=ANALYZE_NAMED,
)
async def analyze_condition_in_group(
    condition_name: str, group_id: str, request: Request, account: CurrentAccount, context: CurrentContext
) -> GroupJob:
    """Analyse a recording for a condition and register it into a group; scored alone."""
    target = condition_in_path(condition_name)
    return await submit_to_group(request, context, account, target, group_id, longitudinal=False)


async def _submit(request: Request, context: Context, account: Account, target_in: Callable[[Form], JobTarget]) -> Job:
    async with account_form(request, context, account) as form:
        target = target_in(form)
        submission = read_submission(form, account, target, idempotency_key=idempotency_key(request))
        return (await submit_form(context, submission)).job
