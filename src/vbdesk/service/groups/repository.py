"""SQL of groups and their members."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import JobStatus
from vbdesk.service.jobs.repository import UNFINISHED, AnyRow
from vbdesk.service.kernel.db.groups import group_states, groups, memberships
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.upsert import insert_into
from vbdesk.service.kernel.paging import Page

_DONE = jobs.c.status == JobStatus.DONE.value
_LISTED = tuple(jobs.c[name] for name in GroupJobItem.model_fields)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which of a group's jobs to list; None does not restrict. Bounds on `recorded_at` are inclusive."""

    recorded_from: datetime | None = None
    recorded_to: datetime | None = None
    status: JobStatus | None = None


def insert(connection: Connection, group_key: str, account_id: str, group_id: str, now: datetime) -> bool:
    """Store a new group; False when the account has one of this id, also one that another stores at this moment."""
    statement = insert_into(connection, groups).values(
        group_key=group_key, account_id=account_id, group_id=group_id, created_at=now, updated_at=now, revision=0
    )
    unless_taken = statement.on_conflict_do_nothing().returning(groups.c.group_key)
    return connection.execute(unless_taken).one_or_none() is not None


def find(connection: Connection, account_id: str, group_id: str, *, to_edit: bool = False) -> Row[Any] | None:
    """The account's group of this id; `to_edit` as `lock` does."""
    query = sa.select(groups).where(groups.c.account_id == account_id, groups.c.group_id == group_id)
    return connection.execute(query.with_for_update() if to_edit else query).one_or_none()


def lock(connection: Connection, group_keys: Iterable[str]) -> None:
    """Let no one else edit these groups or finish jobs of them until the transaction ends.

    SQLite has one writer anyway. Elsewhere whoever changes jobs as well takes the groups first, all of them in one
    order: then nobody waits for each other.
    """
    for group_key in sorted(group_keys):
        connection.execute(sa.select(groups.c.group_key).where(groups.c.group_key == group_key).with_for_update())


def delete(connection: Connection, group_key: str) -> None:
    """Remove the group, its memberships and its computed states; jobs stay."""
    connection.execute(sa.delete(groups).where(groups.c.group_key == group_key))


def count(connection: Connection, account_id: str) -> int:
    """Groups of the account."""
    query = sa.select(sa.func.count()).select_from(groups).where(groups.c.account_id == account_id)
    return connection.execute(query).scalar_one()


def list_page(connection: Connection, account_id: str, page: Page) -> Sequence[AnyRow]:
    """Groups with the counts and bounds of their jobs, newest first."""
    query = (
        sa.select(groups)
        .where(groups.c.account_id == account_id)
        .order_by(groups.c.created_at.desc(), groups.c.group_id)
        .limit(page.size)
        .offset(page.offset)
    )
    return connection.execute(query).all()


def count_done(connection: Connection, group_key: str) -> int:
    """Finished jobs of the group."""
    query = sa.select(sa.func.count()).select_from(_members()).where(memberships.c.group_key == group_key, _DONE)
    return connection.execute(query).scalar_one()


def count_jobs(connection: Connection, group_key: str, wanted: JobFilter) -> int:
    """Jobs of the group that match."""
    query = sa.select(sa.func.count()).select_from(_members()).where(*_conditions(group_key, wanted))
    return connection.execute(query).scalar_one()


def list_jobs(connection: Connection, group_key: str, wanted: JobFilter, page: Page) -> Sequence[AnyRow]:
    """What a list shows of the group's jobs that match, in the order of their recordings."""
    query = (
        sa.select(*_LISTED)
        .select_from(_members())
        .where(*_conditions(group_key, wanted))
        .order_by(jobs.c.recorded_at, jobs.c.job_id)
        .limit(page.size)
        .offset(page.offset)
    )
    return connection.execute(query).all()


def list_history(connection: Connection, group_key: str, *, after: datetime) -> Sequence[AnyRow]:
    """What a history is made of, for every finished job of the group that was recorded after this moment."""
    query = (
        sa.select(jobs.c.job_id, jobs.c.recorded_at, jobs.c.audio_duration_seconds, jobs.c.reading)
        .select_from(_members())
        .where(memberships.c.group_key == group_key, jobs.c.recorded_at > after, _DONE)
    )
    return connection.execute(query).all()


def count_by_status(connection: Connection, group_key: str) -> dict[str, int]:
    """Jobs of the group in each status that any of them has."""
    query = (
        sa.select(jobs.c.status, sa.func.count().label("jobs"))
        .select_from(_members())
        .where(memberships.c.group_key == group_key)
        .group_by(jobs.c.status)
    )
    return {row.status: row.jobs for row in connection.execute(query)}


def list_unfinished(connection: Connection, group_key: str) -> Sequence[AnyRow]:
    """Unfinished jobs that are in the group or are read against its history, in the order of their recordings."""
    members = sa.select(memberships.c.job_id).where(memberships.c.group_key == group_key)
    query = (
        sa.select(jobs)
        .where(jobs.c.status.in_(UNFINISHED), sa.or_(jobs.c.job_id.in_(members), jobs.c.history_key == group_key))
        .order_by(jobs.c.recorded_at, jobs.c.job_id)
    )
    return connection.execute(query).all()


def keys_of_job(connection: Connection, job_id: str) -> set[str]:
    """Groups that the job is in."""
    query = sa.select(memberships.c.group_key).where(memberships.c.job_id == job_id)
    return set(connection.execute(query).scalars())


def members_among(connection: Connection, group_key: str, job_ids: Sequence[str]) -> set[str]:
    """Which of the jobs are in the group."""
    query = sa.select(memberships.c.job_id).where(
        memberships.c.group_key == group_key, memberships.c.job_id.in_(job_ids)
    )
    return set(connection.execute(query).scalars())


def statuses_among(connection: Connection, account_id: str, job_ids: Sequence[str]) -> dict[str, JobStatus]:
    """Status of those of the jobs that belong to the account; none of them ends before the transaction does.

    Else one that ends just now would neither count as done in a group that it is put into, nor make its history anew.
    """
    query = sa.select(jobs.c.job_id, jobs.c.status).where(jobs.c.account_id == account_id, jobs.c.job_id.in_(job_ids))
    held = query.order_by(jobs.c.job_id).with_for_update(key_share=True)
    return {row.job_id: JobStatus(row.status) for row in connection.execute(held)}


def add_members(connection: Connection, group_key: str, job_ids: Sequence[str]) -> None:
    """Put jobs into the group."""
    connection.execute(sa.insert(memberships), [{"group_key": group_key, "job_id": job_id} for job_id in job_ids])


def remove_member(connection: Connection, group_key: str, job_id: str) -> bool:
    """Take a job out; False when it was not in."""
    delete_one = sa.delete(memberships).where(memberships.c.group_key == group_key, memberships.c.job_id == job_id)
    return connection.execute(delete_one).rowcount == 1


def touch_history(connection: Connection, group_key: str) -> None:
    """Note that what was computed from the group is out of date."""
    connection.execute(sa.update(groups).where(groups.c.group_key == group_key).values(revision=groups.c.revision + 1))


def touch(connection: Connection, group_key: str, now: datetime) -> None:
    """Move `updated_at`."""
    connection.execute(sa.update(groups).where(groups.c.group_key == group_key).values(updated_at=now))


def find_state(connection: Connection, group_key: str, kind: str) -> Row[Any] | None:
    """What was computed last."""
    query = sa.select(group_states).where(group_states.c.group_key == group_key, group_states.c.kind == kind)
    return connection.execute(query).one_or_none()


def store_state(
    connection: Connection, group_key: str, kind: str, *, revision: int, computed_at: datetime, body: str
) -> None:
    """Keep a computed state in place of the last one."""
    connection.execute(
        sa.delete(group_states).where(group_states.c.group_key == group_key, group_states.c.kind == kind)
    )
    connection.execute(
        sa.insert(group_states).values(
            group_key=group_key, kind=kind, revision=revision, computed_at=computed_at, body=body
        )
    )


def clear_states(connection: Connection, group_key: str) -> None:
    """Drop everything that was computed from the group."""
    connection.execute(sa.delete(group_states).where(group_states.c.group_key == group_key))


def _members() -> sa.Join:
    return memberships.join(jobs, jobs.c.job_id == memberships.c.job_id)


def _conditions(group_key: str, wanted: JobFilter) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = [memberships.c.group_key == group_key]
    if wanted.recorded_from is not None:
        conditions.append(jobs.c.recorded_at >= wanted.recorded_from)
    if wanted.recorded_to is not None:
        conditions.append(jobs.c.recorded_at <= wanted.recorded_to)
    if wanted.status is not None:
        conditions.append(jobs.c.status == wanted.status.value)
    return conditions
