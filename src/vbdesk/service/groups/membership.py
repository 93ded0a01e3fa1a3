"""Submission of a job into a group."""

from fastapi import Request
from sqlalchemy import Connection

from vbdesk.contract.jobs import GroupJob
from vbdesk.service.groups.service import GroupService, require_valid_id
from vbdesk.service.http.account_form import account_form
from vbdesk.service.jobs.submission import read_submission
from vbdesk.service.jobs.submit import idempotency_key, submit_form
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account


class NewMember:
    """Group that a new job joins, see `jobs.submission.JobGroup`."""

    def __init__(self, groups: GroupService, account: Account, group_id: str, *, longitudinal: bool) -> None:
        self.group_id = group_id
        self.longitudinal = longitudinal
        self._groups = groups
        self._account = account

    def ensure(self, connection: Connection) -> str:
        """Create the group if it is new; return its key."""
        return self._groups.ensure(connection, self._account, self.group_id)

    def register(self, connection: Connection, group_key: str, job_id: str) -> None:
        """Add the job to the group."""
        self._groups.register(connection, group_key, job_id)


async def submit_to_group(
    request: Request, context: Context, account: Account, target: JobTarget, group_id: str, *, longitudinal: bool
) -> GroupJob:
    """Receive the form and submit a job into a group, which is created if new. Raises as `jobs.submit.submit` does."""
    require_valid_id(group_id)
    group = NewMember(GroupService.of(context), account, group_id, longitudinal=longitudinal)
    async with account_form(request, context, account) as form:
        submission = read_submission(form, account, target, group=group, idempotency_key=idempotency_key(request))
        submitted = await submit_form(context, submission)
    return GroupJob(**dict(submitted.job), group_id=group_id, recorded_at=submitted.recorded_at)
