"""Group rules: permissions and consequences of changes."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.groups import (
    Group,
    GroupCreated,
    GroupDeleted,
    GroupJobItem,
    GroupJobList,
    GroupList,
    JobRemoved,
    JobsAdded,
    group_id_fault,
)
from vbdesk.contract.ids import new_id
from vbdesk.language import N_
from vbdesk.service.groups import repository
from vbdesk.service.groups.repository import JobFilter
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.kernel.errors import Conflict, InvalidRequest, NotFound
from vbdesk.service.kernel.paging import PagePosition
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account


class GroupService:
    """Groups of an account and their members."""

    def __init__(self, clock: Clock, histories: GroupHistories, page_size: int) -> None:
        self._clock = clock
        self._histories = histories
        self._page_size = page_size

    @classmethod
    def of(cls, context: Context) -> "GroupService":
        """Create the service for a running context."""
        return cls(context.clock, GroupHistories.of(context), context.settings.page_size)

    def create(self, connection: Connection, account: Account, group_id: str) -> GroupCreated:
        """Create an empty group.

        Raises:
            InvalidRequest: the id breaks the rules.
            Conflict: the group exists.
        """
        require_valid_id(group_id)
        now = self._clock.now()
        if not repository.insert(connection, new_id(), account.account_id, group_id, now):
            raise Conflict(N_("A group with this id exists already. Choose another id, or use the group as it is."))
        return GroupCreated(group_id=group_id, job_count=0, created_at=now)

    def ensure(self, connection: Connection, account: Account, group_id: str) -> str:
        """Return the group's key, creating it if new; it is not deleted before the transaction ends."""
        while True:  # it may be deleted between insert and find
            row = repository.find(connection, account.account_id, group_id, to_edit=True)
            if row is not None:
                key: str = row.group_key
                return key
            repository.insert(connection, new_id(), account.account_id, group_id, self._clock.now())

    def require(self, connection: Connection, account: Account, group_id: str, *, to_edit: bool = False) -> str:
        """Return the group's key; `to_edit` locks it for changes. Raises NotFound."""
        row = repository.find(connection, account.account_id, group_id, to_edit=to_edit)
        if row is None:
            raise NotFound(N_("There is no group with this id."))
        key: str = row.group_key
        return key

    def register(self, connection: Connection, group_key: str, job_id: str) -> None:
        """Add a job that is being submitted to its group."""
        repository.add_members(connection, group_key, [job_id])
        self._edited(connection, group_key)

    def list_groups(self, connection: Connection, account: Account, page_number: int) -> GroupList:
        """List one page, newest first."""
        page = PagePosition(page_number, self._page_size, repository.count(connection, account.account_id))
        rows = repository.list_page(connection, account.account_id, page)
        groups = [Group.model_validate(dict(row._mapping)) for row in rows]
        return GroupList(groups=groups, page=page.number, total_pages=page.total_pages)

    def delete(self, connection: Connection, account: Account, group_id: str) -> GroupDeleted:
        """Delete the group; its jobs are kept. Raises NotFound."""
        group_key = self.require(connection, account, group_id, to_edit=True)
        repository.delete(connection, group_key)
        self._histories.settle(connection, [group_key])
        return GroupDeleted(group_id=group_id)

    def list_jobs(self, connection: Connection, group: Row[Any], wanted: JobFilter, page_number: int) -> GroupJobList:
        """List one page of matching jobs, in the order of their recordings."""
        page = PagePosition(page_number, self._page_size, repository.count_jobs(connection, group.group_key, wanted))
        rows = repository.list_jobs(connection, group.group_key, wanted, page)
        return GroupJobList(
            group_id=group.group_id,
            total_jobs=page.total,
            jobs=[GroupJobItem.model_validate(dict(row._mapping)) for row in rows],
            page=page.number,
            total_pages=page.total_pages,
        )

    def add_jobs(self, connection: Connection, account: Account, group_id: str, job_ids: Sequence[str]) -> JobsAdded:
        """Add existing jobs to the group; an unknown id does not affect the rest. Raises NotFound."""
        group_key = self.require(connection, account, group_id, to_edit=True)
        wanted = list(dict.fromkeys(job_ids))
        askable = [job_id for job_id in wanted if "\0" not in job_id]  # PostgreSQL refuses text with a NUL
        statuses = repository.statuses_among(connection, account.account_id, askable)
        members = repository.members_among(connection, group_key, askable)
        added = [job_id for job_id in wanted if job_id in statuses and job_id not in members]
        if added:
            repository.add_members(connection, group_key, added)
            self._edited(connection, group_key)
        return JobsAdded(
            added=added,
            skipped={job_id: "already_in_group" for job_id in wanted if job_id in members},
            not_found=[job_id for job_id in wanted if job_id not in statuses],
            not_yet_done=[job_id for job_id in added if not statuses[job_id].terminal],
        )

    def remove_job(self, connection: Connection, account: Account, group_id: str, job_id: str) -> JobRemoved:
        """Remove a job from the group and clear computed states; the job is kept. Raises NotFound."""
        group_key = self.require(connection, account, group_id, to_edit=True)
        if not repository.remove_member(connection, group_key, job_id):
            raise NotFound(N_("The group has no job with this id."))
        repository.clear_states(connection, group_key)
        self._edited(connection, group_key)
        self._histories.settle(connection, [group_key])
        return JobRemoved(removed=job_id)

    def _edited(self, connection: Connection, group_key: str) -> None:
        repository.touch_history(connection, group_key)
        repository.touch(connection, group_key, self._clock.now())


def require_valid_id(group_id: str) -> None:
    """Check that the text is a valid group id. Raises InvalidRequest."""
    fault = group_id_fault(group_id)
    if fault is not None:
        raise InvalidRequest(fault)
