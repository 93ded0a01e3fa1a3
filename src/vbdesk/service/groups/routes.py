"""Groups over HTTP."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy import Connection, Row

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.groups import (
    AddJobs,
    GroupCreate,
    GroupCreated,
    GroupDeleted,
    GroupJobList,
    GroupList,
    JobRemoved,
    JobsAdded,
)
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.limits import Bucket
from vbdesk.contract.longitudinal import AggregateRead, Trajectory, TrajectoryRead, TrajectoryRunning
from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.language import N_
from vbdesk.longitudinal import select_signs
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.catalog.service import require_sign
from vbdesk.service.groups import repository
from vbdesk.service.groups.computed_states import StateKind, states_of
from vbdesk.service.groups.repository import JobFilter
from vbdesk.service.groups.service import GroupService
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.json_body import json_body
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.http.urlencoded import with_plus
from vbdesk.service.kernel.errors import InvalidRequest, NotFound
from vbdesk.service.kernel.paging import PageNumber
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account

RECOMPUTE_WAIT_S = 0.2
RETRY_AFTER_S = 2
JSON = "application/json"


def _group_exists(request: Request, connection: Connection, account: Account) -> None:
    group = repository.find(connection, account.account_id, request.path_params["group_id"])
    if group is None:
        raise NotFound(N_("There is no group with this id."))
    request.state.group = group


async def _given_group(request: Request) -> Row[Any]:
    group: Row[Any] = request.state.group
    return group


CurrentGroup = Annotated[Any, Depends(_given_group)]
"""Group as read by the guard, for read-only routes, which need no second query."""


GENERAL = guard(Bucket.GENERAL)
router = APIRouter()
OF_GROUP = guard(Bucket.GENERAL, check=_group_exists)
group_router = APIRouter(responses=refusals(ErrorCode.NOT_FOUND))
ROUTERS: tuple[APIRouter, ...] = (router, group_router)

FilterStatus = Annotated[Literal["queued", "running", "done", "failed", "timed-out"] | None, Query(alias="status")]


@router.post(
    "/v2/groups",
    status_code=201,
    responses=refusals(ErrorCode.INVALID_REQUEST, ErrorCode.CONFLICT),
    dependencies=GENERAL,
)
def create_group(
    body: Annotated[GroupCreate, json_body(GroupCreate)], account: CurrentAccount, context: CurrentContext
) -> GroupCreated:
    """Create an empty group; 409 if the id is taken, 400 if it breaks the id rules."""
    with context.database.writing() as connection:
        return GroupService.of(context).create(connection, account, body.group_id)


@router.get("/v2/groups", dependencies=GENERAL)
def list_groups(account: CurrentAccount, context: CurrentContext, page: PageNumber = 0) -> GroupList:
    """One page of groups, newest first."""
    with context.database.reading() as connection:
        return GroupService.of(context).list_groups(connection, account, page)


@group_router.delete("/v2/groups/{group_id}", dependencies=OF_GROUP)
def delete_group(group_id: str, account: CurrentAccount, context: CurrentContext) -> GroupDeleted:
    """Remove the group and what was computed from it; its jobs stay readable."""
    return context.database.write(lambda connection: GroupService.of(context).delete(connection, account, group_id))


@group_router.get("/v2/groups/{group_id}/jobs", responses=refusals(ErrorCode.INVALID_REQUEST), dependencies=OF_GROUP)
def list_group_jobs(
    group_id: str,
    group: CurrentGroup,
    context: CurrentContext,
    page: PageNumber = 0,
    recorded_from: Annotated[str | None, Query(alias="from")] = None,
    recorded_to: Annotated[str | None, Query(alias="to")] = None,
    status: FilterStatus = None,
) -> GroupJobList:
    """One page of the group's jobs in the order of their recordings; bounds on recording time are inclusive."""
    wanted = JobFilter(_moment("from", recorded_from), _moment("to", recorded_to), status and JobStatus(status))
    with context.database.reading() as connection:
        return GroupService.of(context).list_jobs(connection, group, wanted, page)


@group_router.post("/v2/groups/{group_id}/jobs", responses=refusals(ErrorCode.INVALID_REQUEST), dependencies=OF_GROUP)
def add_jobs(
    group_id: str, body: Annotated[AddJobs, json_body(AddJobs)], account: CurrentAccount, context: CurrentContext
) -> JobsAdded:
    """Put existing jobs into the group; each id lands in exactly one of added, skipped, not_found."""
    return context.database.write(
        lambda connection: GroupService.of(context).add_jobs(connection, account, group_id, body.job_ids)
    )


@group_router.delete("/v2/groups/{group_id}/jobs/{job_id}", dependencies=OF_GROUP)
def remove_job(group_id: str, job_id: str, account: CurrentAccount, context: CurrentContext) -> JobRemoved:
    """Take a job out of the group; the job itself is kept."""
    return context.database.write(
        lambda connection: GroupService.of(context).remove_job(connection, account, group_id, job_id)
    )


@group_router.get("/v2/groups/{group_id}/longitudinal", response_model=Trajectory, dependencies=OF_GROUP)
def read_trajectory(
    group_id: str,
    group: CurrentGroup,
    account: CurrentAccount,
    context: CurrentContext,
    sign: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """The subject's trajectory over the history window; `running` while a recompute takes longer."""
    for name in sign or ():
        require_sign(name, context.plugin_signs, ("query", "sign"))
    try:
        body = _state(context, group, StateKind.TRAJECTORY, RECOMPUTE_WAIT_S)
    except TimeoutError:
        return Response(_running(context, account, group_id).model_dump_json(), media_type=JSON)
    return Response(_only(sign, body, context.parameters) if sign else body, media_type=JSON)


@group_router.get("/v2/groups/{group_id}/aggregate", response_model=AggregateRead, dependencies=OF_GROUP)
def read_aggregate(group_id: str, group: CurrentGroup, context: CurrentContext) -> Response:
    """The group's jobs as a cohort."""
    return Response(_state(context, group, StateKind.AGGREGATE, None), media_type=JSON)


def _moment(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_timestamp(with_plus(text))
    except ValueError as error:
        raise InvalidRequest(f"`{name}` is not a time. {error}") from None


def _state(context: Context, group: Row[Any], kind: StateKind, wait_s: float | None) -> str:
    return states_of(context.database).read(group, kind, context.clock, context.parameters, wait_s)


def _running(context: Context, account: Account, group_id: str) -> TrajectoryRunning:
    with context.database.reading() as connection:
        group_key = GroupService.of(context).require(connection, account, group_id)
        done = repository.count_done(connection, group_key)
    return TrajectoryRunning(group_id=group_id, retry_after_seconds=RETRY_AFTER_S, done_job_count=done)


def _only(names: list[str], body: str, parameters: Parameters) -> str:
    return select_signs(TrajectoryRead.model_validate_json(body), names, parameters).model_dump_json()
