"""SQL of groups and their members."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import JobStatus
from vbdesk.service.jobs.repository import UNFINISHED, AnyRow
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.session import insert_into
from vbdesk.service.kernel.db.tables import group_states, groups, memberships
from vbdesk.service.kernel.paging import PagePosition

_DONE = jobs.c.status == JobStatus.DONE.value
_AT_ONCE = 200
_LISTED = tuple(jobs.c[name] for name in GroupJobItem.model_fields)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Filter for a group's jobs; None does not restrict. Bounds on `recorded_at` are inclusive."""

    recorded_from: datetime | None = None
    recorded_to: datetime | None = None
    status: JobStatus | None = None


def insert(connection: Connection, group_key: str, account_id: str, group_id: str, now: datetime) -> bool:
    """Insert a new group; False if the account has one with this id, even if it is inserted concurrently."""
    statement = insert_into(connection, groups).values(
        group_key=group_key, account_id=account_id, group_id=group_id, created_at=now, updated_at=now, revision=0
    )
    unless_taken = statement.on_conflict_do_nothing().returning(groups.c.group_key)
    return connection.execute(unless_taken).one_or_none() is not None


def find(connection: Connection, account_id: str, group_id: str, *, to_edit: bool = False) -> Row[Any] | None:
    """Find the account's group with this id; `to_edit` locks it as `lock` does."""
    query = sa.select(groups).where(groups.c.account_id == account_id, groups.c.group_id == group_id)
    return connection.execute(query.with_for_update() if to_edit else query).one_or_none()


def lock(connection: Connection, group_keys: Iterable[str]) -> None:
    """Lock these groups until the transaction ends: no other edits, and none of their jobs is finished.

    SQLite has only one writer anyway. On other databases, lock the groups before any jobs, all in the same order; this
    prevents deadlocks.
    """
    for group_key in sorted(group_keys):
        connection.execute(sa.select(groups.c.group_key).where(groups.c.group_key == group_key).with_for_update())


def delete(connection: Connection, group_key: str) -> None:
    """Delete the group, its memberships and its computed states; jobs stay."""
    connection.execute(sa.delete(groups).where(groups.c.group_key == group_key))


def count(connection: Connection, account_id: str) -> int:
    """Count the account's groups."""
    query = sa.select(sa.func.count()).select_from(groups).where(groups.c.account_id == account_id)
    return connection.execute(query).scalar_one()


def list_page(connection: Connection, account_id: str, page: PagePosition) -> Sequence[AnyRow]:
    """List groups with the number and time range of their jobs, newest first."""
    query = (
        sa.select(groups)
        .where(groups.c.account_id == account_id)
        .order_by(groups.c.created_at.desc(), groups.c.group_id)
        .limit(page.size)
        .offset(page.offset)
    )
    return connection.execute(query).all()


def count_done(connection: Connection, group_key: str) -> int:
    """Count the group's finished jobs."""
    query = sa.select(sa.func.count()).select_from(_members()).where(memberships.c.group_key == group_key, _DONE)
    return connection.execute(query).scalar_one()


def count_jobs(connection: Connection, group_key: str, wanted: JobFilter) -> int:
    """Count the group's jobs that match."""
    query = sa.select(sa.func.count()).select_from(_members()).where(*_conditions(group_key, wanted))
    return connection.execute(query).scalar_one()


def list_jobs(connection: Connection, group_key: str, wanted: JobFilter, page: PagePosition) -> Sequence[AnyRow]:
    """List the group's matching jobs in the order of their recordings."""
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
    """List the history data of the group's finished jobs recorded after this moment."""
    query = (
        sa.select(jobs.c.job_id, jobs.c.recorded_at, jobs.c.audio_duration_seconds, jobs.c.reading)
        .select_from(_members())
        .where(memberships.c.group_key == group_key, jobs.c.recorded_at > after, _DONE)
    )
    return connection.execute(query).all()


def list_results(connection: Connection, job_ids: Sequence[str]) -> Iterator[AnyRow]:
    """Yield `job_id` and `result` of those of the jobs that have a result."""
    for start in range(0, len(job_ids), _AT_ONCE):
        some = jobs.c.job_id.in_(job_ids[start : start + _AT_ONCE])
        yield from connection.execute(sa.select(jobs.c.job_id, jobs.c.result).where(some, jobs.c.result.is_not(None)))


def list_finished_members(
    connection: Connection, after: str, account_id: str | None, group_id: str | None
) -> Sequence[AnyRow]:
    """List one page of finished jobs of groups by id, beginning after the job `after`."""
    members = sa.select(memberships.c.job_id).join(groups, groups.c.group_key == memberships.c.group_key)
    if account_id is not None:
        members = members.where(groups.c.account_id == account_id)
    if group_id is not None:
        members = members.where(groups.c.group_id == group_id)
    query = sa.select(jobs).where(_DONE, jobs.c.job_id > after, jobs.c.job_id.in_(members))
    return connection.execute(query.order_by(jobs.c.job_id).limit(_AT_ONCE)).all()


def replace_reading(connection: Connection, job_id: str, reading: str) -> bool:
    """Replace the reading of a finished job; False if there is no such job."""
    change = sa.update(jobs).where(jobs.c.job_id == job_id, _DONE).values(reading=reading)
    return connection.execute(change).rowcount == 1


def count_by_status(connection: Connection, group_key: str) -> dict[str, int]:
    """Count the group's jobs by status; omit statuses without jobs."""
    query = (
        sa.select(jobs.c.status, sa.func.count().label("jobs"))
        .select_from(_members())
        .where(memberships.c.group_key == group_key)
        .group_by(jobs.c.status)
    )
    return {row.status: row.jobs for row in connection.execute(query)}


def list_unfinished(connection: Connection, group_key: str) -> Sequence[AnyRow]:
    """List unfinished jobs in the group or scored against its history, in the order of their recordings."""
    members = sa.select(memberships.c.job_id).where(memberships.c.group_key == group_key)
    query = (
        sa.select(jobs)
        .where(jobs.c.status.in_(UNFINISHED), sa.or_(jobs.c.job_id.in_(members), jobs.c.history_key == group_key))
        .order_by(jobs.c.recorded_at, jobs.c.job_id)
    )
    return connection.execute(query).all()


def keys_of_job(connection: Connection, job_id: str) -> set[str]:
    """List the groups of the job."""
    query = sa.select(memberships.c.group_key).where(memberships.c.job_id == job_id)
    return set(connection.execute(query).scalars())


def members_among(connection: Connection, group_key: str, job_ids: Sequence[str]) -> set[str]:
    """Return which of the jobs are in the group."""
    query = sa.select(memberships.c.job_id).where(
        memberships.c.group_key == group_key, memberships.c.job_id.in_(job_ids)
    )
    return set(connection.execute(query).scalars())


def statuses_among(connection: Connection, account_id: str, job_ids: Sequence[str]) -> dict[str, JobStatus]:
    """Return the status of the account's jobs among these, and lock them: none ends before the transaction does.

    Without the lock, a job that ends now would neither count as done in its new group nor update its history.
    """
    query = sa.select(jobs.c.job_id, jobs.c.status).where(jobs.c.account_id == account_id, jobs.c.job_id.in_(job_ids))
    held = query.order_by(jobs.c.job_id).with_for_update(key_share=True)
    return {row.job_id: JobStatus(row.status) for row in connection.execute(held)}


def add_members(connection: Connection, group_key: str, job_ids: Sequence[str]) -> None:
    """Add jobs to the group."""
    connection.execute(sa.insert(memberships), [{"group_key": group_key, "job_id": job_id} for job_id in job_ids])


def remove_member(connection: Connection, group_key: str, job_id: str) -> bool:
    """Remove a job from the group; False if it was not in the group."""
    delete_one = sa.delete(memberships).where(memberships.c.group_key == group_key, memberships.c.job_id == job_id)
    return connection.execute(delete_one).rowcount == 1


def touch_history(connection: Connection, group_key: str) -> None:
    """Mark the group's computed states as out of date."""
    connection.execute(sa.update(groups).where(groups.c.group_key == group_key).values(revision=groups.c.revision + 1))


def touch(connection: Connection, group_key: str, now: datetime) -> None:
    """Update `updated_at`."""
    connection.execute(sa.update(groups).where(groups.c.group_key == group_key).values(updated_at=now))


def find_state(connection: Connection, group_key: str, kind: str) -> Row[Any] | None:
    """Find the last computed state."""
    query = sa.select(group_states).where(group_states.c.group_key == group_key, group_states.c.kind == kind)
    return connection.execute(query).one_or_none()


def store_state(
    connection: Connection, group_key: str, kind: str, *, revision: int, computed_at: datetime, body: str
) -> None:
    """Store a computed state, replacing the last one."""
    connection.execute(
        sa.delete(group_states).where(group_states.c.group_key == group_key, group_states.c.kind == kind)
    )
    connection.execute(
        sa.insert(group_states).values(
            group_key=group_key, kind=kind, revision=revision, computed_at=computed_at, body=body
        )
    )


def clear_states(connection: Connection, group_key: str) -> None:
    """Delete all computed states of the group."""
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
